import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Input, inputs } from './cases/arbitrary-inputs.ts';
import { MODES, type Mode } from './cases/case.ts';
import { schemasFor } from './cases/judge.ts';

const RUNS = { numRuns: 120 };

const accepted = ({ on, input }: Input, mode: Mode): unknown[] =>
  schemasFor(on, mode).flatMap((schema) => {
    const result = schema.safeParse(input);
    return result.success ? [result.data] : [];
  });

const isAccepted = (given: Input, mode: Mode): boolean => accepted(given, mode).length > 0;

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFrozen(child);
  }
  return value;
}

/** A reading, and one that takes at least as much. */
const WIDENINGS: readonly (readonly [Mode, Mode])[] = MODES.flatMap((narrow) =>
  MODES.filter(
    (wide) =>
      (narrow.dialect === wide.dialect || wide.dialect === 'open') &&
      (narrow.reading === wide.reading || wide.reading === 'received') &&
      narrow !== wide,
  ).map((wide) => [narrow, wide] as const),
);

describe('an input near the contract', () => {
  it('D0 is canonical: the output parses to the same text', () => {
    let parsed = 0;
    fc.assert(
      fc.property(inputs, (given) => {
        for (const mode of MODES) {
          for (const output of accepted(given, mode)) {
            const text = JSON.stringify(output);
            const again = accepted({ on: given.on, input: JSON.parse(text) }, mode);
            expect(again.map((value) => JSON.stringify(value))).toEqual([text]);
            parsed += 1;
          }
        }
      }),
      RUNS,
    );
    // Otherwise the property would hold without any input.
    expect(parsed).toBeGreaterThan(RUNS.numRuns);
  });

  it('D0 is stable: a second parse changes nothing', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        for (const mode of MODES) {
          for (const output of accepted(given, mode)) {
            expect(accepted({ on: given.on, input: output }, mode)).toEqual([output]);
          }
        }
      }),
      RUNS,
    );
  });

  it('D0 is accepted when received if it is when emitted, and in open if it is in strict', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const lost = WIDENINGS.filter(
          ([narrow, wide]) =>
            schemasFor(given.on, wide).length > 0 &&
            isAccepted(given, narrow) &&
            !isAccepted(given, wide),
        );
        expect(lost).toEqual([]);
      }),
      RUNS,
    );
  });

  it('D0 has the same output in every reading that accepts it', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const texts = MODES.flatMap((mode) => accepted(given, mode)).map((output) =>
          JSON.stringify(output),
        );
        expect(new Set(texts).size).toBeLessThanOrEqual(1);
      }),
      RUNS,
    );
  });

  it('is never changed by parsing', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        // A copy: parts of it are the samples of other tests.
        const input = deepFrozen(structuredClone(given.input));
        for (const mode of MODES) accepted({ ...given, input }, mode);
        expect(input).toEqual(given.input);
      }),
      RUNS,
    );
  });
});
