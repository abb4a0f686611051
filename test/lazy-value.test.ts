import { describe, expect, it } from 'vitest';
import { lazyValue } from '../src/lazy-value.ts';

/** How often `make` was called, after as many calls as there are answers. */
function callsOf(answers: readonly unknown[]): { given: unknown[]; calls: number } {
  let calls = 0;
  const made = lazyValue(() => answers[calls++]);
  return { given: answers.map(() => made()), calls };
}

describe('lazyValue', () => {
  it('makes no value before the first call', () => {
    let calls = 0;
    lazyValue(() => calls++);
    expect(calls).toBe(0);
  });

  it.each([[['a', 'b', 'c']], [[undefined, 'b']], [[0, 1]]])(
    'keeps the first value of %j',
    (answers) => {
      const [first] = answers;
      expect(callsOf(answers)).toEqual({ given: answers.map(() => first), calls: 1 });
    },
  );

  it('tries again when making the value failed', () => {
    let isFirst = true;
    const made = lazyValue(() => {
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
