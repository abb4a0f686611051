/** Signatures are compared only in constant time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { explainSignature } from '../../src/receiver/index.ts';
import { sign, verify } from '../../src/webhook/signature.ts';
import { anyText } from '../contract/cases/texts.ts';
import { withReplaced } from '../helpers/replaced-globals.ts';

const SECRETS = ['1234', 'secret-of-the-test'];
const HEX = /^[0-9a-f]{64}$/;

/** Records the arguments of `timingSafeEqual`, and returns its result or the given one. */
function watching(act: (lengths: number[]) => void, answer?: boolean): void {
  const lengths: number[] = [];
  withReplaced(
    'timingSafeEqual',
    (original) => (one, other) => {
      lengths.push(one.byteLength, other.byteLength);
      return answer ?? original(one, other);
    },
    () => act(lengths),
  );
}

const anyHeader = fc.oneof(
  anyText,
  fc.stringMatching(/^[0-9a-f]{62,66}$/),
  fc.stringMatching(/^[0-9A-Fa-f]{64}$/),
  fc.string().map((body) => sign(body, SECRETS[0] as string)),
  fc.anything(),
);

describe('verify', () => {
  test('compares 32 bytes with 32 bytes once for each secret, for any header', () => {
    watching((lengths) => {
      const property = fc.property(anyHeader, fc.string(), (header, body) => {
        lengths.length = 0;
        verify(body, header, SECRETS);
        const isComparable = typeof header === 'string' && HEX.test(header);
        expect(lengths).toEqual(isComparable ? [32, 32, 32, 32] : []);
      });
      fc.assert(property, { numRuns: 500, seed: 7 });
    });
  });

  test('depends only on that comparison', () => {
    const genuine = sign('body', '1234');
    watching(() => expect(verify('body', genuine, SECRETS)).toBe(false), false);
    watching(() => expect(verify('body', '0'.repeat(64), SECRETS)).toBe(true), true);
    watching(() => expect(verify('body', genuine.toUpperCase(), SECRETS)).toBe(false), true);
  });
});

test('explainSignature compares 32 bytes with 32 bytes, for any header', () => {
  const hasCompared = new Set<boolean>();
  watching((lengths) => {
    const property = fc.property(anyHeader, (header) => {
      lengths.length = 0;
      explainSignature('body', header, '1234');
      expect(lengths.filter((length) => length !== 32)).toEqual([]);
      hasCompared.add(lengths.length > 0);
    });
    fc.assert(property, { numRuns: 100, seed: 7 });
  });
  expect(hasCompared.size).toBe(2);
});
