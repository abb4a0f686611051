import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fifo } from '../../../src/queue/memory/fifo.ts';

describe('a Fifo', () => {
  test('gives back first what came first, whatever is put in and taken out between', () => {
    const anySteps = fc.array(fc.integer({ min: -70, max: 60 }), { maxLength: 30 });
    fc.assert(
      fc.property(anySteps, (steps) => {
        const fifo = new Fifo<number>();
        const list: number[] = [];
        let next = 0;
        for (const step of steps) {
          for (let count = step; count > 0; count -= 1) {
            next += 1;
            list.push(next);
            fifo.push(next);
          }
          for (let count = step; count < 0; count += 1) expect(fifo.shift()).toBe(list.shift());
          expect(fifo.size).toBe(list.length);
          expect([fifo.at(0), fifo.at(list.length - 1)]).toEqual([list[0], list.at(-1)]);
          expect(fifo.at(list.length)).toBeUndefined();
        }
      }),
    );
  });

  test('lets what is wanted out in order, from behind what was taken out', () => {
    const fifo = new Fifo<number>();
    for (let item = 0; item < 10; item += 1) fifo.push(item);
    fifo.shift();
    expect(fifo.extract((item) => item % 3 === 0)).toEqual([3, 6, 9]);
    expect(Array.from({ length: 7 }, () => fifo.shift())).toEqual([1, 2, 4, 5, 7, 8, undefined]);
  });
});
