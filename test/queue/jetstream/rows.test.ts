/** The laws of queues, kept by rows alone. */
import { createFakeClock } from '../../../src/testing/index.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { describeQueueConformance } from '../conformance/describe-queue-conformance.ts';
import { RowsQueue } from './rows-queue.ts';

describeQueueConformance('a queue made of rows', {
  create: (bounds) => {
    const clock = createFakeClock();
    return Promise.resolve({
      queue: new RowsQueue(() => Math.floor(clock.monotonicMs()) + 1_800_000_000_000, bounds),
      advance: (ms) => clock.advance(ms),
      dispose: () => Promise.resolve(),
    });
  },
  capabilities: { durable: false, distributed: false },
  unitMs: 1000,
  toleranceMs: 0,
  blackHoleMessages: 1000,
  crowd: 100,
  randomRuns: quickOrNightly(30, 100),
});
