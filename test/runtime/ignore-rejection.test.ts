import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ignoreRejection } from '../../src/runtime/ignore-rejection.ts';

test('a rejection that is calmed is not unhandled; one that is not is', async () => {
  const rejected = new Error('calmed');
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  try {
    const told = once(process, 'unhandledRejection');
    ignoreRejection(Promise.reject(rejected));
    await nextTurn();
    const other = new Error('not calmed');
    void Promise.reject(other);
    expect((await told)[0]).toBe(other);
  } finally {
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
});

test.each([undefined, null, 7, {}])('any other answer is left alone (%j)', (answer) => {
  expect(() => ignoreRejection(answer)).not.toThrow();
});
