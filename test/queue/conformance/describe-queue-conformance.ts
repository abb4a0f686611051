/** The suite that every queue passes: the laws of src/queue/queue.ts as cases. */
import { describe } from 'vitest';
import { describeAccounting } from './accounting.ts';
import { describeApplications } from './applications.ts';
import { describeClaiming } from './claiming.ts';
import { describeDeadLetters } from './dead-letters.ts';
import { describeDelays } from './delays.ts';
import type { QueueHarness } from './harness.ts';
import { describeMoving } from './moving.ts';
import { describeRandomRun } from './random-run.ts';
import { describeSequences } from './sequences.ts';
import { describeStorage } from './storage.ts';

export function describeQueueConformance(name: string, harness: QueueHarness): void {
  describe(`${name} keeps the laws of queues:`, () => {
    describeClaiming(harness);
    describeDelays(harness);
    describeSequences(harness);
    describeDeadLetters(harness);
    describeApplications(harness);
    describeAccounting(harness);
    if (harness.isDurable) {
      describeStorage(harness);
      describeMoving(harness);
    }
    describeRandomRun(harness);
  });
}
