import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallsInProgress } from '../../src/runtime/calls-in-progress.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

test('resolves at once without calls in progress', async () => {
  const calls = new CallsInProgress();
  await calls.waitForAll();
  calls.end(calls.begin());
  await calls.waitForAll();
  expect(calls.begin()).toBe(2);
});

/** A waiter and the calls that it waits for, as a plain set. */
interface Waiting {
  readonly on: ReadonlySet<number>;
  isOver: boolean;
}

test('resolves for each waiter when all calls begun before have ended', async () => {
  const steps = fc.array(fc.constantFrom('begin', 'end first', 'end last', 'wait'), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const calls = new CallsInProgress();
      const open = new Set<number>();
      const waiting: Waiting[] = [];
      const end = (number: number | undefined) => {
        if (number === undefined) return;
        open.delete(number);
        calls.end(number);
      };
      for (const step of given) {
        if (step === 'begin') open.add(calls.begin());
        else if (step === 'end first') end([...open][0]);
        else if (step === 'end last') end([...open].at(-1));
        else {
          const one: Waiting = { on: new Set(open), isOver: false };
          waiting.push(one);
          void calls.waitForAll().then(() => {
            one.isOver = true;
          });
        }
        await new Promise(setImmediate);
        const expected = waiting.map(({ on }) => [...on].every((number) => !open.has(number)));
        expect(waiting.map(({ isOver }) => isOver)).toEqual(expected);
      }
    }),
    { numRuns: quickOrNightly(100, 1000), seed: 7 },
  );
});
