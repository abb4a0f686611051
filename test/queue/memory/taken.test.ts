import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueOrder } from '../../../src/queue/memory/due-order.ts';
import { Run, runLength } from '../../../src/queue/memory/run.ts';
import {
  keepAlone,
  postpone,
  type WaitingMessage,
  waitingMessage,
} from '../../../src/queue/memory/waiting-message.ts';
import type { Format, QueueEntry } from '../../../src/queue/queue.ts';
import { sharedBytes } from '../../../src/webhook/shared-bytes.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';

/** In one Buffer, as a call of `send` has them, but for what lies between some. */
function entriesOf(texts: readonly string[], first: number, format: Format): QueueEntry[] {
  const toBytes = sharedBytes(100);
  return texts.map((text, index) => {
    const number = first + index;
    if (number % 7 === 0) toBytes('another message');
    return {
      applicationId: 'shop-1',
      stored: { messageId: `m-${number}`, format, bytes: toBytes(text), dateAt: 3, countAt: 5 },
      sizeBytes: text.length + 31,
    };
  });
}

const step = fc.record({
  texts: fc.array(fc.string({ maxLength: 20 }), { maxLength: 30 }),
  format: fc.constantFrom<Format>(1, 2, 2, 2),
  maxMessages: fc.integer({ min: 1, max: 20 }),
  maxBytes: fc.integer({ min: 1, max: 900 }),
  /** For each of what was taken, in turn: delivered, due again as it was, or later and in small company. */
  ends: fc.array(fc.constantFrom('delivered', 'again', 'later'), { minLength: 1, maxLength: 5 }),
});

/** In runs where these are runs, as the queue has them, or one by one. */
function append(
  order: DueOrder,
  entries: readonly QueueEntry[],
  at: { sequence: number; nowMs: number },
  inRuns: boolean,
) {
  for (let start = 0; start < entries.length; ) {
    const length = inRuns ? runLength(entries, start) : 1;
    const acceptance = { sequence: at.sequence + start, nowMs: at.nowMs, dueMs: at.nowMs };
    const part = entries.slice(start, start + length);
    order.append(
      length === 1 ? waitingMessage(part[0] as QueueEntry, acceptance) : new Run(part, acceptance),
    );
    start += length;
  }
}

function endAll(
  order: DueOrder,
  messages: readonly WaitingMessage[],
  ends: readonly string[],
): void {
  for (const [index, message] of messages.entries()) {
    const end = ends[index % ends.length];
    if (end === 'delivered') continue;
    const again = { kind: 'retry', afterMs: 0, progress: { index }, maxMessages: 3 } as const;
    if (end === 'later') postpone(message, again, message.dueMs + 1);
    order.putBack(message);
  }
}

test('is the same of runs as of messages one by one, whatever comes back', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const [runs, single] = [new DueOrder(), new DueOrder()];
      let sequence = 1;
      for (const [nowMs, { texts, format, ends, ...limits }] of steps.entries()) {
        const entries = entriesOf(texts, sequence, format);
        append(runs, entries, { sequence, nowMs }, true);
        append(single, entries, { sequence, nowMs }, false);
        sequence += entries.length;
        const [taken, expected] = [runs.take(limits, nowMs), single.take(limits, nowMs)];
        const claimed = taken.claimed(nowMs + 5);
        expect(JSON.stringify(claimed)).toBe(JSON.stringify(expected.claimed(nowMs + 5)));
        expect(claimed).toHaveLength(taken.size);
        expect([taken.size, taken.sizeBytes]).toEqual([expected.size, expected.sizeBytes]);
        const [messages, plain] = [taken.messages(), expected.messages()];
        for (const message of messages) keepAlone(message);
        expect(messages).toEqual(plain);
        const formats = messages.map((message) => message.format);
        expect(formats).toEqual(formats.map(() => taken.format));
        endAll(runs, messages, ends);
        endAll(single, plain, ends);
        expect(runs.size).toBe(single.size);
      }
    }),
    { numRuns: quickOrNightly(200, 5000) },
  );
});
