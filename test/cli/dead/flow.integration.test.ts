import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { DELIVERED_ONCE, wholeFlow } from './shared-flow.ts';

test('replays what a service could not deliver, and it is delivered once', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  const open = () => createSqliteQueue({ file, sync: false });
  expect(await wholeFlow({ open, words: ['--sqlite', file], environment: {} })).toEqual(
    DELIVERED_ONCE,
  );
});
