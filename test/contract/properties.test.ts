import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deepFreeze } from '../../src/contract/frozen.ts';
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
  it('D0 has one output in every reading that accepts it, which parses to the same text', () => {
    let parsed = 0;
    fc.assert(
      fc.property(inputs, (given) => {
        // A copy: parts of it are the samples of other tests.
        const input = deepFreeze(structuredClone(given.input));
        const texts = new Set<string>();
        for (const mode of MODES) {
          for (const output of accepted({ ...given, input }, mode)) {
            const text = JSON.stringify(output);
            const again = accepted({ on: given.on, input: JSON.parse(text) }, mode);
            expect(again.map((value) => JSON.stringify(value))).toEqual([text]);
            texts.add(text);
            parsed += 1;
          }
        }
        expect(texts.size).toBeLessThanOrEqual(1);
        expect(input).toEqual(given.input);
      }),
      RUNS,
    );
    // Otherwise the property would hold without any input.
    expect(parsed).toBeGreaterThan(RUNS.numRuns);
  });

  it('has the same result when it is parsed asynchronously', async () => {
    await fc.assert(
      fc.asyncProperty(inputs, async ({ on, input }) => {
        for (const schema of MODES.flatMap((mode) => schemasFor(on, mode))) {
          const { data, error } = schema.safeParse(input);
          const later = await schema.safeParseAsync(input);
          expect([later.data, later.error?.issues]).toEqual([data, error?.issues]);
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
});
