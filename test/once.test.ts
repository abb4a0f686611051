import { describe, expect, it } from 'vitest';
import { once } from '../src/once.ts';

/** How often `make` was called, after as many calls as there are answers. */
function callsOf(answers: readonly unknown[]): { given: unknown[]; calls: number } {
  let calls = 0;
  const made = once(() => answers[calls++]);
  return { given: answers.map(() => made()), calls };
}

describe('once', () => {
  it('makes nothing before it is asked', () => {
    let calls = 0;
    once(() => calls++);
    expect(calls).toBe(0);
  });

  it.each([[['a', 'b', 'c']], [[undefined, 'b']], [[0, 1]]])(
    'keeps the first of %j, whatever it is',
    (answers) => {
      const [first] = answers;
      expect(callsOf(answers)).toEqual({ given: answers.map(() => first), calls: 1 });
    },
  );

  it('tries again where making it failed', () => {
    let isFirst = true;
    const made = once(() => {
      if (isFirst) {
        isFirst = false;
        throw new RangeError('not yet');
      }
      return 'made';
    });
    expect(made).toThrow(RangeError);
    expect(made()).toBe('made');
  });
});
