import { describe, expect, test } from 'vitest';
import { EarlySettlements } from '../../src/delivery/settled-messages.ts';

const DELIVERED = { outcome: 'delivered' } as const;

describe('early settlements', () => {
  test('keep a message during a call, until it is taken', () => {
    const early = new EarlySettlements();
    early.keep(1, DELIVERED);
    expect(early.size).toBe(0);
    early.begin();
    early.keep(1, DELIVERED);
    expect([2, 1, 1].map((sequence) => early.take(sequence))).toEqual([
      undefined,
      DELIVERED,
      undefined,
    ]);
  });

  test('keep a message as long as a call goes on that had begun before it', () => {
    const early = new EarlySettlements();
    const [first, second] = [early.begin(), early.begin()];
    early.keep(1, DELIVERED);
    second();
    early.begin()();
    expect(early.take(1)).toEqual(DELIVERED);
    early.keep(2, DELIVERED);
    first();
    expect(early.size).toBe(0);
  });

  test('do not pile up when there always is a call under way', () => {
    const early = new EarlySettlements();
    let end = early.begin();
    let most = 0;
    for (let sequence = 1; sequence <= 1000; sequence += 1) {
      const next = early.begin();
      early.keep(sequence, DELIVERED);
      end();
      end = next;
      most = Math.max(most, early.size);
    }
    expect(most).toBeLessThan(5);
    end();
    expect(early.size).toBe(0);
  });

  test('drop the oldest past 100,000 while a call never ends', () => {
    const early = new EarlySettlements();
    early.begin();
    for (let sequence = 1; sequence <= 100_001; sequence += 1) early.keep(sequence, DELIVERED);
    expect(early.size).toBe(100_000);
    expect(early.take(1)).toBeUndefined();
    expect(early.take(2)).toEqual(DELIVERED);
    // An earlier generation goes first.
    early.begin()();
    early.keep(100_002, DELIVERED);
    early.keep(100_003, DELIVERED);
    expect(early.size).toBe(100_000);
  });
});
