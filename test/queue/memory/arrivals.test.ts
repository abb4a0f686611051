import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Arrivals } from '../../../src/queue/memory/arrivals.ts';
import { Run, runLength } from '../../../src/queue/memory/run.ts';
import {
  keepAlone,
  type WaitingMessage,
  waitingMessage,
} from '../../../src/queue/memory/waiting-message.ts';
import type { QueueEntry } from '../../../src/queue/queue.ts';

const entryOf = (number: number, text: string): QueueEntry => {
  const bytes = Buffer.from(text);
  return {
    applicationId: 'shop-1',
    stored: { messageId: `m-${number}`, format: 2, bytes, dateAt: number % 3, countAt: 5 },
    sizeBytes: bytes.length + 31,
  };
};

/** By itself, as it is once it was put back. */
const alone = (message: WaitingMessage | undefined): WaitingMessage | undefined => {
  if (message !== undefined) keepAlone(message);
  return message;
};

const anyText = fc.string({ unit: 'binary', maxLength: 20 });

describe('what has arrived', () => {
  test('comes out as it came in, in runs or one by one, and however often it is looked at', () => {
    const anySteps = fc.array(
      fc.record({
        texts: fc.array(anyText, { maxLength: 30 }),
        taken: fc.nat({ max: 40 }),
        looks: fc.nat({ max: 2 }),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(anySteps, (steps) => {
        const arrivals = new Arrivals();
        const list: WaitingMessage[] = [];
        let sequence = 1;
        for (const { texts, taken, looks } of steps) {
          const entries = texts.map((text, index) => entryOf(sequence + index, text));
          const nowMs = sequence * 10;
          const plain = entries.map((entry, index) =>
            waitingMessage(entry, { sequence: sequence + index, nowMs, dueMs: nowMs }),
          );
          list.push(...plain);
          if (entries.length > 1)
            arrivals.push(new Run(entries, { sequence, nowMs, dueMs: nowMs }));
          else for (const one of plain) arrivals.push({ ...one });
          sequence += entries.length;
          for (let look = 0; look < looks; look += 1) {
            expect(arrivals.first()).toBe(arrivals.first());
          }
          for (let count = 0; count < taken; count += 1) {
            expect(alone(arrivals.shift())).toEqual(list.shift());
          }
          expect(arrivals.size).toBe(list.length);
          expect(alone(arrivals.first())).toEqual(list[0]);
        }
      }),
    );
  });

  test('does not follow what becomes of the bytes that it was given', () => {
    const entries = Array.from({ length: 20 }, (_, index) => entryOf(index, 'as it was'));
    const run = new Run(entries, { sequence: 1, nowMs: 0, dueMs: 0 });
    for (const { stored } of entries) stored.bytes.fill('x');
    expect(run.messageAt(19).content.toString()).toBe('as it was');
  });
});

describe('the length of a run', () => {
  const entries = Array.from({ length: 30 }, (_, index) => entryOf(index, 'a message'));
  const withAt = (at: number, change: Partial<QueueEntry>): QueueEntry[] =>
    entries.map((entry, index) => (index === at ? { ...entry, ...change } : entry));
  const [{ stored }] = entries as [QueueEntry, ...QueueEntry[]];

  test('is that of what is alike from there on', () => {
    expect(runLength(entries, 0)).toBe(30);
    expect(runLength(entries, 12)).toBe(18);
  });

  test.each<[string, Partial<QueueEntry>]>([
    ['another application', { applicationId: 'shop-2' }],
    ['another format', { stored: { ...stored, format: 1 } }],
    ['much', { stored: { ...stored, bytes: Buffer.alloc(100_000) } }],
  ])('ends before what has %s', (_, change) => {
    expect(runLength(withAt(20, change), 0)).toBe(20);
    expect(runLength(withAt(20, change), 20)).toBe(1);
    expect(runLength(withAt(0, change), 0)).toBe(1);
  });

  test('is 1 where too few are alike', () => {
    expect(runLength(withAt(4, { applicationId: 'shop-2' }), 0)).toBe(4);
    expect(runLength(withAt(3, { applicationId: 'shop-2' }), 0)).toBe(1);
    expect(runLength(entries, 27)).toBe(1);
  });
});
