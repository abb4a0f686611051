import { join } from 'node:path';
import { inject } from 'vitest';
import { QUICK_END } from './run-program.ts';

/** The command that runs a program of test/fixtures: its name without `.ts`. */
export const fixtureCommand = (name: string, args: readonly string[] = []): string[] => [
  process.execPath,
  QUICK_END,
  join(inject('compiledFolder'), `test/fixtures/${name}.js`),
  ...args,
];
