/** Reverts known mistakes: computes what the body, the header and the key may have been without them. */
import { gunzipSync } from 'node:zlib';
import { isObjectLike } from '../own-properties.ts';
import { tryCall } from '../runtime/host-calls.ts';
import type { SignatureFault } from './signature-faults.ts';

/** Candidate bytes, and the faults that were reverted in them. */
export interface Variant {
  readonly value: Buffer;
  readonly faults: readonly SignatureFault[];
}

/** A fault, and a function that reverts it. The function returns undefined if the fault cannot have happened. */
export type Mistake = readonly [
  SignatureFault,
  (bytes: Buffer) => Buffer | readonly Buffer[] | undefined,
];

/** Twice a receiver's default limit. */
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

const startsWith = (bytes: Buffer, start: Buffer): boolean =>
  bytes.subarray(0, start.length).equals(start);

/** Does not backtrack: the body may come from an attacker. */
const BASE64 = /^[A-Za-z0-9+/\s]+(?:=\s*){0,2}$/;
const LINE_ENDS: readonly (number | undefined)[] = [0x0a, 0x0d];

export const BODY_MISTAKES: readonly Mistake[] = [
  [
    'body-byte-order-mark',
    (bytes) =>
      startsWith(bytes, BYTE_ORDER_MARK) ? bytes.subarray(BYTE_ORDER_MARK.length) : undefined,
  ],
  [
    'body-line-end',
    (bytes) => {
      // A regular expression would take quadratic time.
      let length = bytes.length;
      while (LINE_ENDS.includes(bytes[length - 1])) length -= 1;
      const bare = bytes.subarray(0, length);
      const ends = ['', '\n', '\r\n'].map((end) => Buffer.concat([bare, Buffer.from(end)]));
      return ends.filter((variant) => !variant.equals(bytes));
    },
  ],
  // Decoded as Latin-1 and encoded as UTF-8, and the other way round.
  ['body-charset', (bytes) => [Buffer.from(bytes.toString(), 'latin1'), recoded(bytes)]],
  [
    'body-base64',
    (bytes) => (isBase64(bytes) ? Buffer.from(bytes.toString(), 'base64') : undefined),
  ],
  // At most one of these two applies, so a large body is parsed once.
  [
    'body-json-text',
    (bytes) =>
      JSON_STRING.test(startOf(bytes))
        ? withText(bytes, (value) => (typeof value === 'string' ? value : undefined))
        : undefined,
  ],
  [
    'body-reserialised',
    (bytes) => (JSON_STRUCTURE.test(startOf(bytes)) ? withText(bytes, JSON.stringify) : undefined),
  ],
  [
    'body-compressed',
    (bytes) => tryCall(() => gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES })),
  ],
];

const recoded = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('latin1'));

/** `[` (0x5b) starts a JSON body: most bodies need no decoding here. */
const isBase64 = (bytes: Buffer): boolean =>
  bytes.length > 0 && bytes[0] !== 0x5b && BASE64.test(bytes.toString('latin1'));

const JSON_STRING = /^\s*"/;
const JSON_STRUCTURE = /^\s*[[{]/;

const startOf = (bytes: Buffer): string => bytes.toString('latin1', 0, 100);

function withText(
  bytes: Buffer,
  textOf: (value: unknown) => string | undefined,
): Buffer | undefined {
  const text = tryCall(() => textOf(JSON.parse(bytes.toString()) as unknown));
  return text === undefined ? undefined : Buffer.from(text);
}

/** Returns a body or a secret without faults; `undefined` if it is empty, or neither text nor bytes. */
export function givenVariant(given: unknown): Variant | undefined {
  if (typeof given === 'string') return given === '' ? undefined : unchanged(Buffer.from(given));
  if (!ArrayBuffer.isView(given) || given.byteLength === 0) return undefined;
  return unchanged(Buffer.from(given.buffer, given.byteOffset, given.byteLength));
}

const unchanged = (value: Buffer): Variant => ({ value, faults: [] });

/** Returns a body that was parsed as text again; `undefined` for other values. */
export function parsedVariant(body: unknown): Variant | undefined {
  if (!isObjectLike(body) || ArrayBuffer.isView(body)) return undefined;
  const text = tryCall(() => JSON.stringify(body));
  return text === undefined ? undefined : { value: Buffer.from(text), faults: ['body-parsed'] };
}

const QUOTED = /^(["'`])(.*)\1$/s;

export const KEY_MISTAKES: readonly Mistake[] = [
  [
    'secret-whitespace',
    (key) => {
      const bare = key.toString().trim();
      // The sender's secret may have the whitespace instead.
      return ['', '\n', '\r\n', ' '].map((end) => Buffer.from(bare + end));
    },
  ],
  [
    'secret-quotes',
    (key) => {
      const text = key.toString();
      const inner = QUOTED.exec(text)?.[2];
      // The sender's secret may have them instead.
      const variants = inner === undefined ? [`"${text}"`, `'${text}'`] : [inner];
      return variants.map((variant) => Buffer.from(variant));
    },
  ],
  [
    'secret-hex-decoded',
    (key) => [
      Buffer.from(key.toString('hex')),
      Buffer.from(key.toString('hex').toUpperCase()),
      // The sender may decode it instead.
      Buffer.from(key.toString(), 'hex'),
    ],
  ],
  [
    'secret-base64-decoded',
    (key) => [Buffer.from(key.toString('base64')), Buffer.from(key.toString(), 'base64')],
  ],
  [
    'secret-case',
    (key) => [Buffer.from(key.toString().toLowerCase()), Buffer.from(key.toString().toUpperCase())],
  ],
];

const HEX = /^[0-9a-f]{64}$/;
const BASE64_OF_32_BYTES = /^[A-Za-z0-9+/_-]{43}=?$/;
/** A prefix such as `sha256=`. */
export const PREFIX = /^[\w-]+[=:]\s*/;

/** Returns the signature in the header, or `undefined` if none can be read. */
export function headerVariant(header: unknown): Variant | undefined {
  if (typeof header !== 'string') return undefined;
  const faults: SignatureFault[] = [];
  const revert = (text: string, reverted: string, fault: SignatureFault): string => {
    if (reverted !== text) faults.push(fault);
    return reverted;
  };
  const bare = revert(header, header.trim(), 'header-whitespace');
  // Base64 padding looks like the end of a prefix.
  const value = BASE64_OF_32_BYTES.test(bare)
    ? bare
    : revert(bare, bare.replace(PREFIX, ''), 'header-prefix');
  if (BASE64_OF_32_BYTES.test(value)) {
    return { value: Buffer.from(value, 'base64'), faults: [...faults, 'header-base64'] };
  }
  const lower = revert(value, value.toLowerCase(), 'header-upper-case');
  return HEX.test(lower) ? { value: Buffer.from(lower, 'hex'), faults } : undefined;
}
