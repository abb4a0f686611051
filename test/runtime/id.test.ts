import { expect, test } from 'vitest';
import { createIdSource, newId } from '../../src/runtime/id.ts';

/** RFC 9562: version 7, and the variant whose first two bits are 10. */
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const timeOf = (id: string): number => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

/** More ids than one batch of random bytes yields. */
const MANY = 2000;

test('an id is a UUID v7 with the millisecond of its creation', () => {
  const before = Date.now();
  const id = newId();
  expect(id).toMatch(UUID_V7);
  expect(timeOf(id)).toBeGreaterThanOrEqual(before);
  expect(timeOf(id)).toBeLessThanOrEqual(Date.now());
});

test.each([
  [0, '00000000-0000-7'],
  [65_535, '00000000-ffff-7'],
  // The example of RFC 9562, appendix A.6.
  [0x01_7f_22_e2_79_b0, '017f22e2-79b0-7'],
  [2 ** 48 - 1, 'ffffffff-ffff-7'],
])('an id of the time %i begins with %s', (ms, start) => {
  const id = createIdSource(() => ms)();
  expect(id).toMatch(UUID_V7);
  expect(id.slice(0, start.length)).toBe(start);
});

/** A clock that returns `timeOfCall(1)`, `timeOfCall(2)` … */
function clockOf(timeOfCall: (call: number) => number): () => number {
  let calls = 0;
  return () => {
    calls += 1;
    return timeOfCall(calls);
  };
}

test.each([
  ['stands still', () => 1000],
  ['goes back', (call: number) => 100_000 - call],
  ['returns fractions', (call: number) => 1000 + call / 100],
  ['advances now and then', (call: number) => Math.floor(call / 300)],
])('ids sort by creation when the clock %s', (_, timeOfCall) => {
  const next = createIdSource(clockOf(timeOfCall));
  const ids = Array.from({ length: MANY }, next);
  expect(new Set(ids).size).toBe(MANY);
  expect(ids.toSorted()).toEqual(ids);
});

test('within a millisecond exactly the last 50 bits are random', () => {
  const next = createIdSource(() => 1);
  const ids = Array.from({ length: MANY }, next);
  // Of the twelve digits after the last hyphen the first is only partly random.
  for (const at of Array.from({ length: 11 }, (_, index) => 25 + index)) {
    expect(new Set(ids.map((id) => id[at])).size).toBe(16);
  }
});

test('the sequence starts at a random number in each millisecond', () => {
  const next = createIdSource(clockOf((call) => call));
  const places = Array.from({ length: MANY }, () => next().slice(14, 23));
  expect(new Set(places).size).toBeGreaterThan(MANY - 10);
  // The first bit is 0, to leave room for the ids that follow.
  expect(places.every((place) => /^7[0-7]/.test(place))).toBe(true);
});
