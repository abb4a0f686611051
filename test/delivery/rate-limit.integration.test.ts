import { join } from 'node:path';
import { describe } from 'vitest';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';
import { testRateLimits } from './measured-rate.ts';

describe('two senders on one SQLite file', () => {
  testRateLimits(() => {
    const file = join(temporaryFolder(), 'queue.db');
    return () => createSqliteQueue({ file });
  });
});
