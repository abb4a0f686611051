/** The cases of durable and of distributed queues can be kept: this one does nothing but keep them. */
import { createFakeClock } from '../../src/testing/index.ts';
import { describeQueueConformance } from './conformance/describe-queue-conformance.ts';
import { Storage, StoredQueue } from './stored-queue.ts';

describeQueueConformance('a queue with handles on one storage', {
  create: (bounds) => {
    const clock = createFakeClock();
    const storage = new Storage(clock, bounds);
    return Promise.resolve({
      queue: new StoredQueue(storage),
      advance: (ms) => clock.advance(ms),
      reopen: async (how) => {
        if (how === 'crashed') await storage.recover();
        return new StoredQueue(storage);
      },
      join: () => Promise.resolve(new StoredQueue(storage)),
      dispose: () => Promise.resolve(),
    });
  },
  capabilities: { durable: true, distributed: true },
  unitMs: 1000,
  toleranceMs: 0,
  blackHoleMessages: 2000,
  crowd: 200,
  randomRuns: 10,
});
