/** What a process keeps in mind of what an application has waiting. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/queue/jetstream/envelope.ts';
import { FreshMessages } from '../../../src/queue/jetstream/fresh-messages.ts';
import { FreshRoom, MAX_FRESH } from '../../../src/queue/jetstream/fresh-room.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { BOUNDS, keeperOf, Listed } from './listed.ts';
import { messageAt } from './message-at.ts';

const sequencesOf = (fresh: FreshMessages): number[] =>
  fresh.messages.map(({ sequence }) => sequence);

const freshOf = (): FreshMessages => new FreshMessages(new FreshRoom(() => [], 1e6), true);

const brought = (sequence: number, ageMs: number): Message => ({
  ...messageAt(sequence),
  past: { sends: 1, ageMs, dueInMs: 0, progress: null },
});

describe('what an application has in mind', () => {
  test('ends where it is full, and is not whole from then on', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= MAX_FRESH; sequence += 1) fresh.came(messageAt(sequence));
    expect([fresh.messages.length, fresh.isWhole]).toEqual([MAX_FRESH, true]);
    expect(fresh.came(messageAt(MAX_FRESH + 1))).toBe(false);
    expect([fresh.messages.length, fresh.isWhole]).toEqual([MAX_FRESH, false]);
  });

  test('shows a call of which it keeps a part once the last message of it has come', () => {
    const fresh = freshOf();
    fresh.came(messageAt(1));
    for (const index of [0, 1, 2]) fresh.came(messageAt(2 + index, ['call', index, 4]));
    fresh.keepOnly(3);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[1, 2, 3], 1]);
    expect(fresh.came(messageAt(5, ['other', 0, 2]))).toBe(false);
    expect(fresh.came(messageAt(6, ['call', 3, 4]))).toBe(true);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[1, 2, 3], 3]);
    // What is read of it from now on is known to be whole.
    expect(fresh.isEnded('call')).toBe(true);
  });

  test('goes on showing a call that was whole when a part of it was given up', () => {
    const fresh = freshOf();
    for (const index of [0, 1, 2]) fresh.came(messageAt(1 + index, ['call', index, 3]));
    fresh.keepOnly(2);
    expect(fresh.visible(0)).toBe(2);
  });

  test('tells of those that it gave up by their sequences, and takes them back in order', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= 5; sequence += 1) fresh.came(messageAt(sequence));
    fresh.keepOnly(2);
    fresh.came(messageAt(7));
    expect([sequencesOf(fresh), fresh.behind(9), fresh.isWhole]).toEqual([
      [1, 2],
      [3, 4, 5, 7],
      false,
    ]);
    fresh.keep((sequence) => sequence !== 4);
    expect(fresh.behind(2)).toEqual([3, 5]);
    // The other is gone.
    fresh.recall([3, 5], [messageAt(3)]);
    expect([sequencesOf(fresh), fresh.behind(9)]).toEqual([[1, 2, 3], [7]]);
    // As it was before: others are first by now.
    fresh.recall([3, 5], [messageAt(3)]);
    fresh.recall([7], [messageAt(7)]);
    expect([sequencesOf(fresh), fresh.isWhole]).toEqual([[1, 2, 3, 7], true]);
  });

  test('takes an open call back as open, and shows it once it has ended', () => {
    const fresh = freshOf();
    fresh.came(messageAt(1));
    for (const index of [0, 1]) fresh.came(messageAt(2 + index, ['call', index, 4]));
    fresh.keepOnly(1);
    fresh.came(messageAt(4, ['call', 2, 4]));
    fresh.recall([2, 3], [messageAt(2, ['call', 0, 4]), messageAt(3, ['call', 1, 4])]);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[1, 2, 3], 1]);
    expect(fresh.came(messageAt(5, ['call', 3, 4]))).toBe(true);
    expect(fresh.visible(0)).toBe(3);
    fresh.recall([4, 5], [messageAt(4, ['call', 2, 4]), messageAt(5, ['call', 3, 4])]);
    expect([fresh.visible(0), fresh.isWhole]).toEqual([5, true]);
  });

  test('takes a call back as whole that ended while it was not kept', () => {
    const fresh = freshOf();
    for (const index of [0, 1]) fresh.came(messageAt(1 + index, ['call', index, 3]));
    fresh.keepOnly(0);
    fresh.came(messageAt(3, ['call', 2, 3]));
    fresh.recall([1, 2], [messageAt(1, ['call', 0, 3]), messageAt(2, ['call', 1, 3])]);
    expect(fresh.visible(0)).toBe(2);
  });

  test('tells of none where those that are known are too few and others may follow', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= 3; sequence += 1) fresh.came(messageAt(sequence));
    fresh.replace({ messages: [messageAt(1), messageAt(2)], isWhole: false, ended: new Set() });
    fresh.keepOnly(1);
    fresh.came(messageAt(9));
    expect([fresh.behind(1), fresh.behind(2)]).toEqual([[2], []]);
  });

  test('hides what remains of an open call when its first messages are gone', () => {
    const fresh = freshOf();
    for (const index of [0, 1]) fresh.came(messageAt(1 + index, ['call', index, 3]));
    fresh.keep((sequence) => sequence > 1);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[2], 0]);
  });

  test('forgets of calls that ended behind what it keeps those of which nothing is kept', () => {
    const fresh = freshOf();
    fresh.came(messageAt(1));
    fresh.came(messageAt(2, ['call', 0, 2]));
    fresh.came(messageAt(3));
    fresh.keepOnly(2);
    fresh.came(messageAt(4, ['call', 1, 2]));
    expect(fresh.isEnded('call')).toBe(true);
    fresh.keep((sequence) => sequence !== 2);
    expect(fresh.isEnded('call')).toBe(false);
  });

  test('counts what waits behind what it keeps, and only where something is unknown any number', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= 5; sequence += 1) fresh.came(messageAt(sequence));
    fresh.keepOnly(2);
    expect([fresh.waiting(1), fresh.waiting(2)]).toEqual([1, 5]);
    fresh.replace({ messages: [messageAt(1)], isWhole: false, ended: new Set() });
    expect(fresh.waiting(1)).toBe(Number.POSITIVE_INFINITY);
  });

  test('tells how old what was brought with a past and is not kept may be', () => {
    const fresh = freshOf();
    fresh.came(messageAt(1));
    fresh.came(brought(2, 300));
    expect(fresh.oldestBehindMs).toBe(Number.POSITIVE_INFINITY);
    fresh.keepOnly(1);
    expect(fresh.oldestBehindMs).toBe(700);
    fresh.came(brought(3, 500));
    fresh.came(messageAt(4));
    expect(fresh.oldestBehindMs).toBe(500);
    fresh.recall([2, 3, 4], [brought(2, 300), brought(3, 500), messageAt(4)]);
    expect(fresh.oldestBehindMs).toBe(Number.POSITIVE_INFINITY);
    fresh.replace({ messages: [messageAt(1)], isWhole: false, ended: new Set() });
    expect(fresh.oldestBehindMs).toBe(Number.NEGATIVE_INFINITY);
    fresh.lookedFar();
    expect(fresh.oldestBehindMs).toBe(Number.POSITIVE_INFINITY);
  });
});

const commands = fc.array(
  fc.record({
    application: fc.nat(2),
    kind: fc.constantFrom(
      'alone',
      'alone',
      'begin',
      'goOn',
      'goOn',
      'goOn',
      'deliver',
      'recall',
      'read',
      'keep',
    ),
    count: fc.integer({ min: 1, max: 6 }),
  }),
  { minLength: 40, maxLength: 120 },
);

describe('what several applications have in mind', () => {
  test('is what a list of all has, without a gap, and within bounds', () => {
    const property = fc.property(commands, (run) => {
      const all: Listed[] = [];
      const room = new FreshRoom(
        () => all.map(({ fresh }) => keeperOf(fresh)),
        BOUNDS.kept,
        BOUNDS,
      );
      for (let index = 0; index < 3; index += 1) all.push(new Listed(room));
      for (const [index, { application, kind, count }] of run.entries()) {
        const one = all[application] as Listed;
        if (kind === 'alone') one.alone(index + 1);
        if (kind === 'begin') one.begin(index + 1, count + 1);
        if (kind === 'goOn') one.goOn(index + 1, count);
        if (kind === 'deliver') one.deliver(count);
        if (kind === 'recall') one.recall(count);
        if (kind === 'read') one.read(count);
        if (kind === 'keep') one.fresh.keepOnly(count);
        for (const { fresh, sequences, waiting, visible } of all) {
          expect(sequences).toEqual(waiting.slice(0, sequences.length));
          expect(fresh.isWhole && sequences.length < waiting.length).toBe(false);
          expect(fresh.visible(0)).toBe(Math.min(visible, fresh.messages.length));
        }
        const kept = all.reduce((sum, { fresh }) => sum + fresh.messages.length, 0);
        expect(room.left).toBe(Math.max(0, BOUNDS.kept - kept));
        const behind = all.map((each) => each.behind.length);
        expect(Math.max(...behind)).toBeLessThanOrEqual(BOUNDS.each);
        expect(behind.reduce((sum, length) => sum + length)).toBeLessThanOrEqual(BOUNDS.all);
      }
    });
    fc.assert(property, { seed: 9, numRuns: quickOrNightly(100, 2000) });
  });
});
