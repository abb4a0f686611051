import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLevelQueue } from '../../src/queue/level.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { describeQueueConformance } from './conformance/describe-queue-conformance.ts';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'level-queue-'));

describeQueueConformance('a queue in a folder', {
  create: (bounds) => {
    const clock = createFakeClock();
    const folders = [newFolder()];
    const queues: MessageQueue[] = [];
    const open = (): MessageQueue => {
      const queue = createLevelQueue({ folder: folders.at(-1) ?? '', ...bounds }, clock);
      queues.push(queue);
      return queue;
    };
    return Promise.resolve({
      queue: open(),
      advance: (ms) => clock.advance(ms),
      reopen: (how) => {
        if (how === 'crashed') {
          // As kill -9 leaves it: what was written, and nothing more.
          const before = folders.at(-1) ?? '';
          folders.push(newFolder());
          cpSync(before, folders.at(-1) ?? '', { recursive: true });
        }
        return Promise.resolve(open());
      },
      dispose: async () => {
        for (const queue of queues) await queue.close();
        for (const folder of folders) rmSync(folder, { recursive: true });
      },
    });
  },
  capabilities: { durable: true, distributed: false },
  unitMs: 1000,
  toleranceMs: 0,
  blackHoleMessages: 2000,
  crowd: 200,
  randomRuns: 20,
});
