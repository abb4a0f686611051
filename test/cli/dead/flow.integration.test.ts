import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { DELIVERED_ONCE, wholeFlow } from './whole-flow.ts';

test('what a service with a file could not deliver is replayed and delivered once', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  const open = () => createSqliteQueue({ file, sync: false });
  expect(await wholeFlow({ open, words: ['--sqlite', file], environment: {} })).toEqual(
    DELIVERED_ONCE,
  );
});
