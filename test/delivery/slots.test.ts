import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Slot, Slots, withinOpenFiles } from '../../src/delivery/slots.ts';
import type { Health } from '../../src/queue/queue.ts';

const ALL = ['healthy', 'untried', 'failing'];

const open = (maxActiveRequests = 2, maxWaitingRequests = 1): Slots =>
  new Slots({ maxActiveRequests, maxWaitingRequests });

/** Returns how many requests may begin, and to destinations of which health. */
function roomOf(slots: Slots) {
  const reserved = slots.reserve(1000);
  reserved.end();
  const { ofHealth, count } = reserved;
  return { ofHealth, count };
}

/** Returns the health of destinations that destinations may have a request. */
const healthOf = (slots: Slots): readonly string[] => {
  const { ofHealth, count } = roomOf(slots);
  return count === 0 ? [] : ofHealth;
};

function take(slots: Slots, health: Health): Slot {
  const reserved = slots.reserve(1);
  expect(reserved.count).toBe(1);
  const slot = reserved.take(health);
  reserved.end();
  return slot;
}

describe('slots', () => {
  test('are limited by the places to wait, if destinations of any health may have them', () => {
    const slots = open(9, 3);
    expect(roomOf(slots)).toEqual({ ofHealth: ALL, count: 3 });
    take(slots, 'failing');
    expect(roomOf(slots)).toEqual({ ofHealth: ALL, count: 2 });
    take(slots, 'untried');
    take(slots, 'untried');
    expect(roomOf(slots)).toEqual({ ofHealth: ['healthy'], count: 6 });
  });

  test('are kept for claims in progress, with their places to wait', () => {
    const slots = open(4, 3);
    const late = take(slots, 'healthy');
    const reserved = slots.reserve(3);
    expect(reserved.count).toBe(3);
    expect(roomOf(slots)).toEqual({ ofHealth: ['healthy'], count: 0 });
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
    expect(late.tryToWait()).toBe(false);
    reserved.take('failing');
    expect(slots.inFlight()).toEqual({ active: 2, waiting: 0 });
    // The late one takes a place that was not needed.
    reserved.end();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 1 });
    expect(roomOf(slots)).toEqual({ ofHealth: ALL, count: 1 });
  });

  test('are not taken again by a released request that was to resume', () => {
    const slots = open(3, 3);
    const [late, ...others] = ['a', 'b', 'c', 'd'].map((_, index) => {
      const slot = take(slots, 'healthy');
      if (index === 0) slot.tryToWait();
      return slot;
    });
    void late?.resume();
    late?.release();
    for (const slot of others) slot.release();
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test('make a waiting request wait until one is free, before new requests begin', async () => {
    const slots = open(1, 2);
    const slot = take(slots, 'untried');
    expect(slot.resume()).toBeUndefined();
    expect(slot.tryToWait()).toBe(true);
    const other = take(slots, 'healthy');
    const resumed = slot.resume();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 1 });
    expect(roomOf(slots).count).toBe(0);
    other.release();
    await resumed;
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
    expect(roomOf(slots).count).toBe(0);
    slot.release();
    expect(slot.resume()).toBeUndefined();
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test('are given to a waiting request that resumes when an active one begins to wait', async () => {
    const slots = open(1, 2);
    const first = take(slots, 'healthy');
    first.tryToWait();
    const second = take(slots, 'healthy');
    const resumed = first.resume();
    expect(second.tryToWait()).toBe(true);
    await resumed;
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 1 });
  });

  test('let a late request wait as soon as another one leaves its place', () => {
    const slots = open(3, 1);
    const [first, second, third] = [
      take(slots, 'untried'),
      take(slots, 'healthy'),
      take(slots, 'healthy'),
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
    void second.resume();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
    second.release();
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test('stay active if there is no place, and do not wait twice or after their release', () => {
    const slots = open(3, 1);
    const waiting = take(slots, 'healthy');
    expect([waiting.tryToWait(), waiting.tryToWait()]).toEqual([true, false]);
    const other = take(slots, 'healthy');
    expect(other.tryToWait()).toBe(false);
    // Its response has come: it is not late any more.
    expect(other.resume()).toBeUndefined();
    waiting.release();
    expect(slots.inFlight()).toEqual({ active: 1, waiting: 0 });
    other.release();
    expect([waiting.tryToWait(), other.tryToWait()]).toEqual([false, false]);
    expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
  });

  test.each<Health>(['untried', 'failing'])(
    'are given to %s destinations while each has a place to wait',
    (health) => {
      const slots = open(9, 2);
      const first = take(slots, health);
      const healthy = take(slots, 'healthy');
      expect(healthOf(slots)).toEqual(ALL);
      const second = take(slots, health);
      expect(healthOf(slots)).toEqual(['healthy']);
      // Their places are theirs.
      expect([healthy.tryToWait(), first.tryToWait(), second.tryToWait()]).toEqual([
        false,
        true,
        true,
      ]);
      expect(slots.inFlight()).toEqual({ active: 1, waiting: 2 });
      expect(healthOf(slots)).toEqual(['healthy']);
      // The late one takes the place that is left.
      first.release();
      expect(slots.inFlight()).toEqual({ active: 0, waiting: 2 });
      expect(healthOf(slots)).toEqual(['healthy']);
      healthy.release();
      expect(healthOf(slots)).toEqual(ALL);
    },
  );

  test('are never more than the limits, and all become free again', () => {
    const step = fc.record({
      act: fc.constantFrom('healthy', 'untried', 'failing', 'wait', 'resume', 'release'),
      which: fc.nat({ max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const slots = open(3, 2);
        const held: Slot[] = [];
        for (const { act, which } of steps) {
          const one = held[which % Math.max(1, held.length)];
          if (act === 'release') one?.release();
          else if (act === 'wait') one?.tryToWait();
          else if (act === 'resume') void one?.resume();
          else if (healthOf(slots).includes(act)) held.push(take(slots, act));
          const { active, waiting } = slots.inFlight();
          expect([active >= 0 && active <= 3, waiting >= 0 && waiting <= 2]).toEqual([true, true]);
        }
        for (const slot of held) slot.release();
        expect(slots.inFlight()).toEqual({ active: 0, waiting: 0 });
        expect(roomOf(slots)).toEqual({ ofHealth: ALL, count: 2 });
      }),
    );
  });
});

test.each([
  [Number.POSITIVE_INFINITY, 64, 1024, 256],
  [1024, 64, 256, 128],
  [256, 32, 64, 32],
  [1, 1, 1, 1],
])(
  'of %d open files, requests and connections may have their parts',
  (files, active, waiting, idle) => {
    const limits = { maxActiveRequests: 64, maxWaitingRequests: 1024 };
    expect(withinOpenFiles(limits, files)).toEqual({
      maxActiveRequests: active,
      maxWaitingRequests: waiting,
      maxIdleConnections: idle,
    });
  },
);
