import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SecurityEventError } from '../../src/errors.ts';
import { explainSignature } from '../../src/receiver/index.ts';
import { generateSecret, sign, verify } from '../../src/webhook/signature.ts';
import { anyText } from '../contract/cases/texts.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { withReplaced } from '../helpers/replaced-globals.ts';

const SECRET = '1234';
const BODY = '4567';
const SIGNATURE = '9d101d2bf630748679226b767d2031634c520390ff0e926afc09bc65a05bfdb2';
const UNUSABLE: unknown = expect.objectContaining({ code: 'ERR_INVALID_SECRET', path: ['secret'] });

/** Returns the result of `verify`, or the code of its error. */
function outcomeOf(body: unknown, signature: unknown, secret: unknown): unknown {
  try {
    return verify(body as string, signature, secret as string);
  } catch (error) {
    return (error as SecurityEventError).code;
  }
}

describe('sign', () => {
  test('returns the known signature of a known body', () => {
    expect(sign(BODY, SECRET)).toBe(SIGNATURE);
    expect(sign(Buffer.from(BODY), SECRET)).toBe(SIGNATURE);
    expect(sign(new TextEncoder().encode(BODY).buffer, SECRET)).toBe(SIGNATURE);
  });

  test('accepts a body of another realm, such as a test sandbox', () => {
    const view = new DataView(new TextEncoder().encode(BODY).buffer);
    expect(sign(view as unknown as Uint8Array, SECRET)).toBe(SIGNATURE);
  });

  test.each([[''], [undefined], [Buffer.from('1234')]])('rejects the secret %j', (secret) => {
    expect(() => sign(BODY, secret as string)).toThrow(UNUSABLE);
  });

  test.each([[undefined], [{ parsed: true }]])('rejects the body %j', (body) => {
    expect(() => sign(body as unknown as string, SECRET)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['body'] }),
    );
  });
});

describe('verify', () => {
  test.each([
    ['the secret', SECRET],
    ['the first secret of a list', [SECRET, 'next']],
    ['the last secret of a list', ['previous', 'other', SECRET]],
    ['a secret beside unusable ones', ['', SECRET, undefined]],
  ])('accepts a signature made with %s', (_which, secret) => {
    expect(verify(BODY, SIGNATURE, secret as string)).toBe(true);
    expect(verify(Buffer.from(BODY), SIGNATURE, secret as string)).toBe(true);
    const { buffer } = new TextEncoder().encode(BODY);
    expect(verify(buffer, SIGNATURE, secret as string)).toBe(true);
  });

  test.each<[string, unknown, unknown, unknown]>([
    ['a list without the secret', BODY, SIGNATURE, ['1235', '12345']],
    ['a signature with a prefix', BODY, `sha256=${SIGNATURE}`, SECRET],
    ['a missing header', BODY, undefined, SECRET],
    ['a header given twice', BODY, [SIGNATURE, SIGNATURE], SECRET],
    ['a body that was parsed', { body: BODY }, SIGNATURE, SECRET],
  ])('rejects %s without throwing', (_what, body, signature, secret) => {
    expect(verify(body as string, signature, secret as string)).toBe(false);
  });

  test('rejects a signature made with an empty secret, which anyone could make', () => {
    // Python: hmac.new(b'', b'4567', 'sha256').hexdigest()
    const made = '431a9f1c4044d9b15095c31b879f268d136b94e115ee3c678a83113450f226ff';
    for (const secret of ['', ['', '']]) expect(() => verify(BODY, made, secret)).toThrow(UNUSABLE);
  });

  test.each<[string, unknown]>([
    ['an empty secret', ''],
    ['an empty list', []],
    ['a list of empty secrets', ['', undefined]],
    ['no secret', undefined],
    ['bytes', Buffer.from(SECRET)],
  ])('refuses %s, also for a request that it would reject', (_what, secret) => {
    for (const [body, signature] of [
      [BODY, SIGNATURE],
      [BODY, undefined],
      [{}, SIGNATURE],
    ] as const) {
      expect(() => verify(body as string, signature, secret as string)).toThrow(UNUSABLE);
    }
  });

  test('rejects arbitrary requests without throwing, and never accepts an arbitrary secret', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (body, signature, secret) => {
        expect(outcomeOf(body, signature, SECRET)).toBe(false);
        const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
        const isUsable = secrets.some((one) => typeof one === 'string' && one !== '');
        expect(outcomeOf(body, signature, secret)).toBe(isUsable ? false : 'ERR_INVALID_SECRET');
      }),
    );
  });

  test('accepts exactly the signature of the same body and secret', () => {
    const text = fc.string({ unit: anyCharacter, minLength: 1 });
    fc.assert(
      fc.property(text, text, text, (body, secret, other) => {
        const signature = sign(body, secret);
        expect(verify(body, signature, secret)).toBe(true);
        expect(verify(body, signature, other)).toBe(other === secret);
        expect(verify(body + other, signature, secret)).toBe(false);
      }),
    );
  });
});

describe('generateSecret', () => {
  test('returns 64 random hex digits', () => {
    const secrets = Array.from({ length: 100 }, generateSecret);
    expect(new Set(secrets).size).toBe(100);
    for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{64}$/);
  });
});

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

describe('the comparison of signatures', () => {
  test('of verify compares 32 bytes with 32 bytes once for each secret, for any header', () => {
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

  test('alone decides', () => {
    const genuine = sign('body', '1234');
    watching(() => expect(verify('body', genuine, SECRETS)).toBe(false), false);
    watching(() => expect(verify('body', '0'.repeat(64), SECRETS)).toBe(true), true);
    watching(() => expect(verify('body', genuine.toUpperCase(), SECRETS)).toBe(false), true);
  });

  test('of explainSignature compares 32 bytes with 32 bytes, for any header', () => {
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
});
