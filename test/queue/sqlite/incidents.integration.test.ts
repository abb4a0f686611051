import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSqliteIncidents } from '../../../src/queue/sqlite.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { describeIncidentStore, reportOf } from '../../incident/describe-incident-store.ts';
import { newFile, openQueue } from './open-queue.ts';

describeIncidentStore(
  'an SQLite file',
  {
    create: (limits) => {
      const clock = createFakeClock();
      const folder = mkdtempSync(join(tmpdir(), 'sqlite-incidents-'));
      const store = createSqliteIncidents({ file: join(folder, 'queue.db'), ...limits }, clock);
      return Promise.resolve({
        store,
        pass: (ms: number) => clock.advance(ms),
        dispose: async () => {
          await store.close();
          rmSync(folder, { recursive: true });
        },
      });
    },
    isBounded: true,
  },
  quickOrNightly(5, 100),
);

describe('incidents in an SQLite file', () => {
  test('survive a close of the file, and can share it with a queue', async () => {
    const file = newFile();
    const queue = await openQueue({ file });
    const first = createSqliteIncidents({ file });
    await first.record(reportOf({ addresses: ['a'] }));
    await first.close();
    await expect(first.record(reportOf())).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    await queue.close();
    const second = createSqliteIncidents({ file });
    const news = await second.record(reportOf({ addresses: ['a', 'b'] }));
    expect(news).toMatchObject({ isFirst: false, newAddresses: ['b'] });
    await second.close();
  });
});
