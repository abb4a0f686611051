/**
 * The signature of a request: HMAC-SHA256 of the exact bytes on the wire, keyed with the UTF-8 bytes
 * of the secret, as 64 lower-case hex digits in `X-Svc-Integrity`.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { types } from 'node:util';
import { SecurityEventError } from '../errors.ts';
import { invalidOption } from '../option-rules.ts';

const SIGNATURE_SHAPE = /^[0-9a-f]{64}$/;
const SECRET_BYTES = 32;

/**
 * Signs a body and returns 64 lower-case hex digits. A string body stands for its UTF-8 bytes; a
 * secret that looks like hex is not decoded.
 *
 * @throws SecurityEventError `ERR_INVALID_SECRET` for an empty secret or one that is no string,
 * `ERR_INVALID_OPTION` for a body that is neither text nor bytes.
 */
export function sign(body: string | Uint8Array | ArrayBuffer, secret: string): string {
  const key = checkSecret(secret);
  const sent = asBytes(body);
  if (!isBody(sent)) {
    throw invalidOption('body must be a string or bytes, as they are on the wire', ['body']);
  }
  return hmac(sent, key).toString('hex');
}

/**
 * Returns whether `signature`, the value of the header `X-Svc-Integrity`, is valid for the received
 * body (its raw bytes, not a parsed copy). Pass the old and the new secret while one is replaced.
 *
 * Compares in constant time and tries every secret; empty ones in a list are left out. Returns false, without
 * an error, for a missing or upper-case signature and a parsed body.
 *
 * @throws SecurityEventError `ERR_INVALID_SECRET` without a non-empty secret, for any request: with an empty
 * one anyone could sign.
 */
export function verify(
  body: string | Uint8Array | ArrayBuffer,
  signature: unknown,
  secret: string | readonly string[],
): boolean {
  const secrets = usableSecrets(secret);
  const sent = asBytes(body);
  if (!isBody(sent)) return false;
  if (typeof signature !== 'string' || !SIGNATURE_SHAPE.test(signature)) return false;
  const claimed = Buffer.from(signature, 'hex');
  let isGenuine = false;
  for (const key of secrets) {
    // No early exit: the time must not reveal which secret is in use.
    const isMatch = timingSafeEqual(claimed, hmac(sent, key));
    isGenuine = isMatch || isGenuine;
  }
  return isGenuine;
}

/** Generates a secret: 32 random bytes as 64 hex digits. */
export function generateSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex');
}

/** @throws SecurityEventError `ERR_INVALID_SECRET`; its `path` is `['secret']`. */
export function checkSecret(secret: unknown): string {
  if (isSecret(secret)) return secret;
  throw new SecurityEventError('ERR_INVALID_SECRET', {
    detail: 'it must be a non-empty string',
    path: ['secret'],
  });
}

function hmac(body: string | Uint8Array, secret: string): Buffer {
  return createHmac('sha256', secret).update(body).digest();
}

function usableSecrets(secret: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const secrets = given.filter(isSecret);
  // Throws: an unset secret must not look like a wrong signature.
  if (secrets.length === 0) checkSecret(undefined);
  return secrets;
}

function isSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret !== '';
}

/** Returns an ArrayBuffer, as from `request.arrayBuffer()`, as bytes, and other values unchanged. */
export const asBytes = <T>(value: T): Exclude<T, ArrayBuffer> | Uint8Array =>
  types.isArrayBuffer(value) ? new Uint8Array(value) : (value as Exclude<T, ArrayBuffer>);

/** `isView` rather than `instanceof`: a sandbox such as Jest's has its own Uint8Array. */
function isBody(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || ArrayBuffer.isView(body);
}
