import { expect, test } from 'vitest';
import { nextTurn } from '../../src/runtime/yield-to-event-loop.ts';

test('nextTurn comes after microtasks, ticks and immediates that were waiting before it', async () => {
  const order: string[] = [];
  setImmediate(() => order.push('immediate'));
  process.nextTick(() => order.push('tick'));
  queueMicrotask(() => order.push('microtask'));
  await nextTurn();
  expect(order.toSorted()).toEqual(['immediate', 'microtask', 'tick']);
});
