/**
 * Properties try the same inputs in every run, so that a change fails only by what it changes. `npm run test:nightly`
 * tries other ones each night, and a failure prints its seed.
 */
import fc from 'fast-check';
import { quickOrNightly } from './quick-or-nightly.ts';

const seed = quickOrNightly(20_261_126, Date.now() % 2 ** 31);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
