import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Slot, Slots, withinOpenFiles } from '../../src/delivery/slots.ts';
import type { Tier } from '../../src/queue/queue.ts';

const ALL = ['healthy', 'untried', 'failing'];

/** The tiers whose destinations may have a request. */
const tiersOf = (slots: Slots): readonly string[] => {
  const { tiers, count } = slots.room();
  return count === 0 ? [] : tiers;
};

const open = (maxActiveRequests = 2, maxWaitingRequests = 1): Slots =>
  new Slots({ maxActiveRequests, maxWaitingRequests });

describe('slots', () => {
  test('are free, in use, and free again', () => {
    const slots = open(2, 9);
    expect(tiersOf(slots)).toEqual(ALL);
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
    const first = slots.take('healthy');
    slots.take('failing');
    expect(tiersOf(slots)).toEqual([]);
    expect(slots.inFlight()).toEqual({ active: 2, waiting: 0 });
    first.release();
    expect(tiersOf(slots)).toEqual(ALL);
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
  });

  test('tell how many requests may begin: no more than have a place to wait, if all tiers may', () => {
    const slots = open(9, 3);
    expect(slots.room()).toEqual({ tiers: ALL, count: 3 });
    slots.take('failing');
    expect(slots.room()).toEqual({ tiers: ALL, count: 2 });
    slots.take('untried');
    slots.take('untried');
    expect(slots.room()).toEqual({ tiers: ['healthy'], count: 6 });
  });

  test('are released once, however often they are told', () => {
    const slots = open();
    const slot = slots.take('healthy');
    slots.take('healthy');
    slot.release();
    slot.release();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
  });

  test('count a request that is made again, also past the limit: then no other may begin', () => {
    const slots = open(1, 2);
    const slot = slots.take('untried');
    slot.resume();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
    expect(slot.tryToWait()).toBe(true);
    const other = slots.take('healthy');
    slot.resume();
    expect(slots.inFlight()).toEqual({ active: 2, waiting: 0 });
    expect(slots.room()).toEqual({ tiers: ALL, count: 0 });
    other.release();
    expect(slots.room()).toEqual({ tiers: ALL, count: 0 });
    slot.release();
    slot.resume();
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test('let a late request wait as soon as another one leaves its place', () => {
    const slots = open(3, 1);
    const [first, second, third] = [
      slots.take('untried'),
      slots.take('healthy'),
      slots.take('healthy'),
    ];
    expect([first.tryToWait(), second.tryToWait(), third.tryToWait()]).toEqual([
      true,
      false,
      false,
    ]);
    expect(slots.inFlight()).toEqual({ active: 2, waiting: 1 });
    first.release();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 1 });
    third.release();
    second.resume();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
    second.release();
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test('let another request begin while one waits', () => {
    const slots = open(1, 1);
    const slot = slots.take('healthy');
    expect(tiersOf(slots)).toEqual([]);
    expect(slot.tryToWait()).toBe(true);
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 1 });
    expect(tiersOf(slots)).toEqual(['healthy']);
    slot.release();
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
    expect(tiersOf(slots)).toEqual(ALL);
  });

  test('stay active without room to wait, where they wait already, and once they are over', () => {
    const slots = open(3, 1);
    const waiting = slots.take('healthy');
    expect([waiting.tryToWait(), waiting.tryToWait()]).toEqual([true, false]);
    const other = slots.take('healthy');
    expect(other.tryToWait()).toBe(false);
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 1 });
    waiting.release();
    other.release();
    expect([waiting.tryToWait(), other.tryToWait()]).toEqual([false, false]);
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test.each<Tier>(['untried', 'failing'])(
    'are given to %s destinations while each has a place to wait',
    (tier) => {
      const slots = open(9, 2);
      const first = slots.take(tier);
      const healthy = slots.take('healthy');
      expect(tiersOf(slots)).toEqual(ALL);
      const second = slots.take(tier);
      expect(tiersOf(slots)).toEqual(['healthy']);
      // Their places are theirs.
      expect([healthy.tryToWait(), first.tryToWait(), second.tryToWait()]).toEqual([
        false,
        true,
        true,
      ]);
      expect(slots.inFlight()).toEqual({ active: 1, waiting: 2 });
      expect(tiersOf(slots)).toEqual(['healthy']);
      // The late one takes the place that is left.
      first.release();
      expect(slots.inFlight()).toEqual({ active: 0, waiting: 2 });
      expect(tiersOf(slots)).toEqual(['healthy']);
      healthy.release();
      expect(tiersOf(slots)).toEqual(ALL);
    },
  );

  test('are never overdrawn, whatever is taken, waits and is released, and all come back', () => {
    const step = fc.record({
      act: fc.constantFrom('healthy', 'untried', 'failing', 'wait', 'release'),
      which: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const slots = open(3, 2);
        const held: { readonly tier: string; readonly slot: Slot }[] = [];
        for (const { act, which } of steps) {
          const one = held[which % Math.max(1, held.length)];
          if (act === 'release') one?.slot.release();
          else if (act === 'wait') one?.slot.tryToWait();
          else if (tiersOf(slots).some((tier) => tier === act)) {
            held.push({ tier: act, slot: slots.take(act) });
          }
          const { active, waiting } = slots.inFlight();
          expect([active >= 0 && active <= 3, waiting >= 0 && waiting <= 2]).toEqual([true, true]);
        }
        for (const { slot } of held) slot.release();
        expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
        expect(tiersOf(slots)).toEqual(ALL);
      }),
    );
  });
});

test.each([
  [Number.POSITIVE_INFINITY, 64, 1024, 256],
  [1_048_576, 64, 1024, 256],
  [1024, 64, 256, 128],
  [256, 32, 64, 32],
  [20, 2, 5, 2],
  [1, 1, 1, 1],
])('of %s open files so many are for requests and connections', (files, active, waiting, idle) => {
  const limits = { maxActiveRequests: 64, maxWaitingRequests: 1024 };
  expect(withinOpenFiles(limits, files)).toEqual({
    maxActiveRequests: active,
    maxWaitingRequests: waiting,
    maxIdleConnections: idle,
  });
});
