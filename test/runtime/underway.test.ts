import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Underway } from '../../src/runtime/underway.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

test('is over at once where nothing has begun, or all has ended', async () => {
  const underway = new Underway();
  await underway.over();
  underway.end(underway.begin());
  await underway.over();
  expect(underway.begin()).toBe(2);
});

/** Those that wait, and what each waits for: held against a plain set. */
interface Waiting {
  readonly on: ReadonlySet<number>;
  isOver: boolean;
}

test('is over for whoever waits when all has ended that had begun by then, and no sooner', async () => {
  const steps = fc.array(fc.constantFrom('begin', 'end first', 'end last', 'wait'), {
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const underway = new Underway();
      const open = new Set<number>();
      const waiting: Waiting[] = [];
      const end = (number: number | undefined) => {
        if (number === undefined) return;
        open.delete(number);
        underway.end(number);
      };
      for (const step of given) {
        if (step === 'begin') open.add(underway.begin());
        else if (step === 'end first') end([...open][0]);
        else if (step === 'end last') end([...open].at(-1));
        else {
          const one: Waiting = { on: new Set(open), isOver: false };
          waiting.push(one);
          void underway.over().then(() => {
            one.isOver = true;
          });
        }
        await new Promise(setImmediate);
        const due = waiting.map(({ on }) => [...on].every((number) => !open.has(number)));
        expect(waiting.map(({ isOver }) => isOver)).toEqual(due);
      }
    }),
    { numRuns: quickOrNightly(100, 1000), seed: 7 },
  );
});
