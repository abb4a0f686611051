import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Timer, TimerHeap } from '../../src/testing/timer-heap.ts';

const timer = (dueMs: number, order: number): Timer => ({
  dueMs,
  order,
  fire: () => {},
  isLive: true,
});

const takeAll = (heap: TimerHeap): Timer[] => {
  const taken: Timer[] = [];
  for (let next = heap.take(); next !== undefined; next = heap.take()) taken.push(next);
  return taken;
};

test('gives the live timers by time, and those of one time by order, however they came in', () => {
  const timers = fc.array(
    fc.record({ dueMs: fc.integer({ min: 0, max: 9 }), isLive: fc.boolean() }),
  );
  fc.assert(
    fc.property(timers, (list) => {
      const heap = new TimerHeap();
      const added = list.map(({ dueMs }, order) => timer(dueMs, order));
      for (const one of added) heap.add(one);
      for (const [index, { isLive }] of list.entries()) (added[index] as Timer).isLive = isLive;
      const live = added.filter(({ isLive }) => isLive);
      expect(heap.first()).toBe(live.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0]);
      expect(takeAll(heap)).toEqual(
        live.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order),
      );
    }),
  );
});

test('stays in order where timers are added between those that are taken', () => {
  const heap = new TimerHeap();
  for (const dueMs of [5, 3, 9]) heap.add(timer(dueMs, dueMs));
  expect(heap.take()?.dueMs).toBe(3);
  for (const dueMs of [4, 7, 1]) heap.add(timer(dueMs, dueMs));
  expect(takeAll(heap).map(({ dueMs }) => dueMs)).toEqual([1, 4, 5, 7, 9]);
  expect(heap.first()).toBeUndefined();
});
