import { join } from 'node:path';
import { describe } from 'vitest';
import { temporaryFolder } from '../helpers/temporary-files.ts';
import { testRateLimits } from './measured-rate.ts';

describe('two processes on one SQLite file', () => {
  testRateLimits(() => Promise.resolve({ sqlite: join(temporaryFolder(), 'queue.db') }));
});
