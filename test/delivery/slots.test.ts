import fc from 'fast-check';
import { expect, test } from 'vitest';
import { POOLS, type Slot, Slots } from '../../src/delivery/scheduler.ts';

const open = (healthySlots = 2, failingSlots = 1): Slots =>
  new Slots({ healthySlots, failingSlots });

test('slots are free, in use, and free again', () => {
  const slots = open();
  expect(slots.free()).toEqual(['healthy', 'failing']);
  expect(slots.inUse()).toEqual({ healthy: 0, failing: 0 });
  const first = slots.take('healthy');
  const second = slots.take('healthy');
  expect(slots.free()).toEqual(['failing']);
  expect(slots.inUse()).toEqual({ healthy: 2, failing: 0 });
  const third = slots.take('failing');
  expect(slots.free()).toEqual([]);
  expect([first.pool, second.pool, third.pool]).toEqual(['healthy', 'healthy', 'failing']);
  first.release();
  expect(slots.free()).toEqual(['healthy']);
  third.release();
  expect(slots.free()).toEqual(['healthy', 'failing']);
  expect(slots.inUse()).toEqual({ healthy: 1, failing: 0 });
});

test('a slot is released once, however often it is told', () => {
  const slots = open();
  const slot = slots.take('healthy');
  slots.take('healthy');
  slot.release();
  slot.release();
  expect(slots.inUse()).toEqual({ healthy: 1, failing: 0 });
});

test('a late attempt moves to the failing slots and frees its own', () => {
  const slots = open();
  const slot = slots.take('healthy');
  expect(slot.moveToFailing()).toBe(true);
  expect(slot.pool).toBe('failing');
  expect(slots.inUse()).toEqual({ healthy: 0, failing: 1 });
  slot.release();
  expect(slots.inUse()).toEqual({ healthy: 0, failing: 0 });
});

test('it stays where it is without room, where it already is there, and once it is over', () => {
  const roomy = open(2, 2);
  expect(roomy.take('failing').moveToFailing()).toBe(false);
  expect(roomy.inUse()).toEqual({ healthy: 0, failing: 1 });
  const slots = open(2, 1);
  const failing = slots.take('failing');
  const healthy = slots.take('healthy');
  expect(failing.moveToFailing()).toBe(false);
  expect(healthy.moveToFailing()).toBe(false);
  expect(healthy.pool).toBe('healthy');
  expect(slots.inUse()).toEqual({ healthy: 1, failing: 1 });
  failing.release();
  healthy.release();
  const isRoom = slots.free().includes('failing');
  expect([isRoom, healthy.moveToFailing()]).toEqual([true, false]);
  expect(slots.inUse()).toEqual({ healthy: 0, failing: 0 });
});

test('whatever is taken, moved and released, no pool is overdrawn and every slot comes back', () => {
  const step = fc.record({
    act: fc.constantFrom('take-healthy', 'take-failing', 'move', 'release'),
    which: fc.nat({ max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const slots = open(3, 2);
      const held: Slot[] = [];
      for (const { act, which } of steps) {
        const slot = held[which % Math.max(1, held.length)];
        if (act === 'move') slot?.moveToFailing();
        else if (act === 'release') slot?.release();
        else {
          const pool = act === 'take-healthy' ? 'healthy' : 'failing';
          if (slots.free().includes(pool)) held.push(slots.take(pool));
        }
        const { healthy, failing } = slots.inUse();
        expect([healthy >= 0 && healthy <= 3, failing >= 0 && failing <= 2]).toEqual([true, true]);
      }
      for (const slot of held) slot.release();
      expect(slots.inUse()).toEqual({ healthy: 0, failing: 0 });
      expect(slots.free()).toEqual(POOLS);
    }),
  );
});
