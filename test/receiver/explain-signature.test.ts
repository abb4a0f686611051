import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { explainSignature } from '../../src/receiver/index.ts';
import { SIGNATURE_FAULTS, type SignatureFault } from '../../src/receiver/signature-faults.ts';
import { sampleMessage } from '../../src/testing/index.ts';
import { generateSecret, sign, verify } from '../../src/webhook/signature.ts';
import { withReplaced } from '../helpers/replaced-globals.ts';

const SECRET = generateSecret();
const MESSAGES = [
  {
    ...sampleMessage('security_event'),
    message: { ...sampleMessage('security_event').message, humanized_description: 'é / "ü" 日本' },
  },
];
const SENT = JSON.stringify(MESSAGES);
const SIGNATURE = sign(SENT, SECRET);
const hash = (name: string): string => createHmac(name, SECRET).update(SENT).digest('hex');

interface Case {
  readonly body?: unknown;
  readonly header?: unknown;
  readonly secret?: string | Uint8Array;
}

const explain = ({ body = SENT, header = SIGNATURE, secret = SECRET }: Case) =>
  explainSignature(body, header, secret);

/** As encoders of other languages write it: with spaces, and escapes outside ASCII. */
const python = JSON.stringify(MESSAGES)
  .replaceAll('":', '": ')
  .replaceAll(',"', ', "')
  .replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** As `request.arrayBuffer()` returns it. */
const bufferOf = (text: string): ArrayBuffer => new TextEncoder().encode(text).buffer;

const PROVEN: readonly (readonly [string, Case, readonly SignatureFault[]])[] = [
  ['upper case', { header: SIGNATURE.toUpperCase() }, ['header-upper-case']],
  ['a prefix', { header: `sha256=${SIGNATURE}` }, ['header-prefix']],
  ['base64', { header: Buffer.from(SIGNATURE, 'hex').toString('base64') }, ['header-base64']],
  [
    'URL-safe base64',
    { header: Buffer.from(SIGNATURE, 'hex').toString('base64url') },
    ['header-base64'],
  ],
  [
    'a prefix and base64',
    { header: `sha256=${Buffer.from(SIGNATURE, 'hex').toString('base64')}` },
    ['header-prefix', 'header-base64'],
  ],
  ['a blank around the header', { header: ` ${SIGNATURE}\n` }, ['header-whitespace']],
  ['a parsed body', { body: MESSAGES }, ['body-parsed']],
  ['an indented body', { body: JSON.stringify(MESSAGES, null, 2) }, ['body-reserialised']],
  ['a body as other languages write it', { body: python }, ['body-reserialised']],
  ['escaped slashes', { body: SENT.replaceAll('/', '\\/') }, ['body-reserialised']],
  ['a line end more', { body: `${SENT}\n` }, ['body-line-end']],
  ['a line end more in an ArrayBuffer', { body: bufferOf(`${SENT}\n`) }, ['body-line-end']],
  ['a byte order mark', { body: `\ufeff${SENT}` }, ['body-byte-order-mark']],
  [
    'bytes that were taken for Latin-1',
    { body: Buffer.from(SENT).toString('latin1') },
    ['body-charset'],
  ],
  ['base64 of the body', { body: Buffer.from(SENT).toString('base64') }, ['body-base64']],
  ['a body in a JSON string', { body: JSON.stringify(SENT) }, ['body-json-text']],
  ['a compressed body', { body: gzipSync(SENT) }, ['body-compressed']],
  ['a line end behind the secret', { secret: `${SECRET}\n` }, ['secret-whitespace']],
  ['quotation marks around the secret', { secret: `"${SECRET}"` }, ['secret-quotes']],
  ['a secret decoded from hex', { secret: Buffer.from(SECRET, 'hex') }, ['secret-hex-decoded']],
  [
    'a sender that decodes the secret from hex',
    { header: createHmac('sha256', Buffer.from(SECRET, 'hex')).update(SENT).digest('hex') },
    ['secret-hex-decoded'],
  ],
  [
    'a sender that has quotation marks around the secret',
    { header: sign(SENT, `"${SECRET}"`) },
    ['secret-quotes'],
  ],
  [
    'a sender that has a line end behind the secret',
    { header: sign(SENT, `${SECRET}\n`) },
    ['secret-whitespace'],
  ],
  ['a secret in upper case', { secret: SECRET.toUpperCase() }, ['secret-case']],
  [
    'a secret that was decoded from base64',
    { secret: Buffer.from(SECRET, 'base64') },
    ['secret-base64-decoded'],
  ],
  [
    'a parsed body, a line end behind the secret and a prefix',
    { body: MESSAGES, secret: `${SECRET}\n`, header: `sha256=${SIGNATURE}` },
    ['header-prefix', 'body-parsed', 'secret-whitespace'],
  ],
];

const GUESSED: readonly (readonly [string, Case, SignatureFault])[] = [
  ['another secret', { secret: generateSecret() }, 'other-secret'],
  [
    'keys in another order',
    {
      body: JSON.stringify(
        MESSAGES.map((message) => ({ a: 0, ...message })),
        null,
        1,
      ),
    },
    'body-changed',
  ],
  ['a body that was cut', { body: SENT.slice(0, -1) }, 'body-changed'],
  ['SHA-1', { header: hash('sha1') }, 'header-other-hash'],
  ['SHA-512', { header: hash('sha512') }, 'header-other-hash'],
  ['SHA-512 with a prefix', { header: `sha512=${hash('sha512')}` }, 'header-other-hash'],
  ['no header', { header: undefined }, 'header-missing'],
  ['an empty header', { header: ' ' }, 'header-missing'],
  ['another header', { header: 'application/json' }, 'header-malformed'],
  ['no body', { body: undefined }, 'body-missing'],
  ['an empty body', { body: '' }, 'body-missing'],
  ['no secret', { secret: '' }, 'secret-missing'],
];

/** How many bytes are signed while a function runs. */
function signedBytes(act: () => unknown): number {
  let bytes = 0;
  const counting = (original: typeof createHmac) =>
    ((...given: Parameters<typeof createHmac>) => {
      const hmac = original(...given);
      const update = hmac.update.bind(hmac);
      return Object.assign(hmac, {
        update: (data: string | Buffer) => {
          bytes += Buffer.byteLength(data);
          return update(data);
        },
      });
    }) as typeof createHmac;
  withReplaced('createHmac', counting, act);
  return bytes;
}

describe('why a signature does not match', () => {
  test('is empty if it matches', () => {
    expect(explain({})).toEqual({
      isValid: true,
      faults: [],
      isProven: true,
      text: 'The signature matches the body.',
    });
  });

  test('skips secret variants when an empty body was signed', () => {
    expect(verify('', sign('', SECRET), SECRET)).toBe(true);
    expect(explain({ body: '', header: sign('', SECRET) })).toMatchObject({ isValid: true });
  });

  // Anyone may have sent the body to a program that explains wrong signatures.
  test.each([
    ['line ends', `${'\n'.repeat(100_000)}x`],
    ['blanks', `A${' '.repeat(100_000)}!`],
    ['blanks behind padding', `A=${' '.repeat(100_000)}!`],
    ['quotation marks', '"'.repeat(100_000)],
    ['arrays in arrays', '['.repeat(100_000)],
  ])('is reported within seconds for a body of %s alone', (_what, body) => {
    const startedAtMs = performance.now();
    expect(explain({ body }).faults).toEqual(['body-changed']);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });

  test('signs a large body two hundred times at most, and finds its mistakes', () => {
    const bytes = 2 ** 19;
    const body = `[${'"ü",'.repeat(bytes / 5)}1]`;
    const given = [body, sign(body, 'another'), SECRET] as const;
    expect(signedBytes(() => explainSignature(...given))).toBeLessThan(200 * bytes);
    for (const [changed, fault] of [
      [`${body}\n`, 'body-line-end'],
      [`\ufeff${body}`, 'body-byte-order-mark'],
      [body.replaceAll(',', ', '), 'body-reserialised'],
    ] as const) {
      expect(explainSignature(changed, sign(body, SECRET), SECRET).faults).toEqual([fault]);
      const both = explainSignature(changed, sign(body, SECRET), `"${SECRET}"`);
      expect(both.faults).toEqual([fault, 'secret-quotes']);
    }
  });

  test.each(PROVEN)('is proven for %s', (_what, given, faults) => {
    const { body = SENT, header = SIGNATURE, secret = SECRET } = given;
    expect(typeof secret === 'string' && verify(body as string, header, secret)).toBe(false);
    const text = faults.map((fault) => SIGNATURE_FAULTS[fault]).join(' ');
    expect(explain(given)).toEqual({ isValid: false, faults, isProven: true, text });
  });

  test.each(GUESSED)('is guessed for %s', (_what, given, fault) => {
    const header = 'header' in given ? given.header : SIGNATURE;
    const body = 'body' in given ? given.body : SENT;
    const found = explainSignature(body, header, given.secret ?? SECRET);
    const text = SIGNATURE_FAULTS[fault];
    expect(found).toEqual({ isValid: false, faults: [fault], isProven: false, text });
  });

  test('is reported for each fault of the table by at least one case', () => {
    const reported = new Set([
      ...PROVEN.flatMap(([, , faults]) => faults),
      ...GUESSED.map((row) => row[2]),
    ]);
    expect([...reported].toSorted()).toEqual(Object.keys(SIGNATURE_FAULTS).toSorted());
  });

  test.each([
    ['a list, as verify takes', [SECRET, 'old']],
    ['an empty list', []],
    ['a number', 1234],
  ])('is not explained for %s', (_what, secret) => {
    expect(() => explainSignature(SENT, SIGNATURE, secret as never)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_SECRET',
        path: ['secret'],
        message: expect.stringContaining('one secret, text or bytes') as string,
      }),
    );
  });

  test('is the missing secret if the secret is unset', () => {
    const found = explainSignature(SENT, SIGNATURE, undefined as never);
    expect(found.faults).toEqual(['secret-missing']);
  });

  test('is reported for a value that cannot be serialised, and a bomb', () => {
    const circular: unknown[] = [];
    circular.push(circular);
    expect(explain({ body: circular }).faults).toEqual(['body-missing']);
    expect(explain({ body: gzipSync(Buffer.alloc(5_000_000)) }).faults).toEqual(['body-changed']);
  });
});
