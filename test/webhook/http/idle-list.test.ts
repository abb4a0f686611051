import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createIdleList, type IdleList } from '../../../src/webhook/http/pool.ts';

interface Item {
  readonly key: string;
  readonly id: number;
}

const item = (key: string, id = 0): Item => ({ key, id });

function plainList(maxItems: number): IdleList<Item> {
  let items: Item[] = [];
  const remove = (target: Item): boolean => {
    const wasIdle = items.includes(target);
    items = items.filter((other) => other !== target);
    return wasIdle;
  };
  return {
    take: (key) => {
      const taken = items.findLast((other) => other.key === key);
      if (taken !== undefined) remove(taken);
      return taken;
    },
    add: (added) => {
      items.push(added);
      return items.length > maxItems ? items.shift() : undefined;
    },
    remove,
  };
}

describe('an idle list', () => {
  test('returns the most recent idle item of a key, each once', () => {
    const list = createIdleList<Item>(9);
    const [first, other, second] = [item('a', 1), item('b', 2), item('a', 3)];
    for (const idle of [first, other, second]) expect(list.add(idle)).toBeUndefined();
    expect(list.take('a')).toBe(second);
    expect(list.take('a')).toBe(first);
    expect(list.take('a')).toBeUndefined();
    expect(list.take('b')).toBe(other);
  });

  test('drops the longest idle item of all keys if there are too many', () => {
    const list = createIdleList<Item>(2);
    const [first, second, third] = [item('a', 1), item('b', 2), item('b', 3)];
    expect(list.add(first)).toBeUndefined();
    expect(list.add(second)).toBeUndefined();
    expect(list.add(third)).toBe(first);
    expect(list.take('a')).toBeUndefined();
    expect(list.take('b')).toBe(third);
  });

  test('of size 0 returns each added item', () => {
    const list = createIdleList<Item>(0);
    const only = item('a');
    expect(list.add(only)).toBe(only);
    expect(list.take('a')).toBeUndefined();
  });

  test('behaves like a plain array for any order of calls', () => {
    const made = Array.from({ length: 12 }, (_, id) => item('abc'.charAt(id % 3), id));
    const call = fc.record({
      name: fc.constantFrom('add', 'add', 'take', 'remove'),
      nth: fc.nat(made.length - 1),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60 }), fc.nat(5), (calls, maxItems) => {
        const play = (list: IdleList<Item>): unknown[] => {
          const idle = new Set<Item>();
          return calls.map(({ name, nth }) => {
            const target = made[nth] ?? item('a');
            if (name === 'remove') return list.remove(target);
            if (name === 'take') return list.take(target.key);
            // An idle item is not added twice.
            if (idle.has(target)) list.remove(target);
            idle.add(target);
            return list.add(target);
          });
        };
        expect(play(createIdleList(maxItems))).toEqual(play(plainList(maxItems)));
      }),
    );
  });
});
