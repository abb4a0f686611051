import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { describeQueueConformance } from '../conformance/describe-queue-conformance.ts';
import { copyAsKilled } from './copy-as-killed.ts';
import { wrongCountersOf } from './raw-database.ts';

/** The conformance suite on files of its own, whose clock the suite moves. */
export const describeSqliteConformance = (name: string): void =>
  describeQueueConformance(name, {
    create: (bounds) => {
      const clock = createFakeClock();
      const folder = mkdtempSync(join(tmpdir(), 'sqlite-queue-'));
      const queues: MessageQueue[] = [];
      let copies = 0;
      let file = join(folder, 'queue.db');
      const handle = (): MessageQueue => {
        const sync = quickOrNightly(false, true);
        const queue = createSqliteQueue({ file, sync, ...bounds }, clock);
        queues.push(queue);
        return queue;
      };
      return Promise.resolve({
        queue: handle(),
        advance: (ms) => clock.advance(ms),
        reopen: (how) => {
          if (how === 'crashed') {
            copies += 1;
            const copy = join(folder, `copy-${copies}.db`);
            copyAsKilled(file, copy);
            file = copy;
          }
          return Promise.resolve(handle());
        },
        join: () => Promise.resolve(handle()),
        dispose: async () => {
          for (const queue of queues) await queue.close();
          if (existsSync(file)) assert.deepEqual(wrongCountersOf(file), []);
          rmSync(folder, { recursive: true });
        },
      });
    },
    isDurable: true,
    randomRuns: quickOrNightly(30, 100),
  });
