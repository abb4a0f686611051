import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';
import { measureRate } from './measured-rate.ts';

test('a rate limit holds for two senders on one SQLite file', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  const { perSecond, mostBeyond } = await measureRate(() => createSqliteQueue({ file }), 20, 3000);
  // A tenth of a request is 5 ms between the event and the time that was measured.
  expect(mostBeyond).toBeLessThanOrEqual(1.1);
  // On an idle machine it is more than nine tenths of the limit.
  expect(perSecond).toBeGreaterThan(10);
});
