/**
 * The signature of a request (D32): HMAC-SHA256 of the exact bytes on the wire, keyed with the
 * UTF-8 bytes of the secret, as 64 lower-case hex digits in `X-Svc-Integrity`.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SecurityEventError } from '../errors.ts';

const SIGNATURE_SHAPE = /^[0-9a-f]{64}$/;
const SECRET_BYTES = 32;

/**
 * The signature of a body: 64 lower-case hex digits. A string body stands for its UTF-8 bytes; a
 * secret that looks like hex is not decoded.
 *
 * @throws SecurityEventError `ERR_INVALID_SECRET` for an empty secret or one that is no string,
 * `ERR_INVALID_OPTION` for a body that is neither text nor bytes.
 */
export function sign(body: string | Uint8Array, secret: string): string {
  const key = checkSecret(secret);
  if (!isBody(body)) {
    throw new SecurityEventError('ERR_INVALID_OPTION', {
      detail: 'body must be a string or bytes, as they are on the wire',
      path: ['body'],
    });
  }
  return hmac(body, key).toString('hex');
}

/**
 * Whether `signature`, the value of the header `X-Svc-Integrity`, belongs to the body as it was
 * received (its raw bytes, not a parsed and serialised copy) under the secret or under one of them:
 * give the old and the new one while a secret is being changed.
 *
 * Takes the same time wherever the difference lies, and tries every secret. Says no to anything
 * malformed and never throws: a missing header, upper case, a body that was parsed, an empty secret
 * (which would let anybody sign).
 */
export function verify(
  body: string | Uint8Array,
  signature: unknown,
  secret: string | readonly string[],
): boolean {
  if (!isBody(body)) return false;
  if (typeof signature !== 'string' || !SIGNATURE_SHAPE.test(signature)) return false;
  const claimed = Buffer.from(signature, 'hex');
  let isGenuine = false;
  for (const key of secretsOf(secret)) {
    // No early exit: the time must not tell which of the secrets is in use.
    const isThisOne = timingSafeEqual(claimed, hmac(body, key));
    isGenuine = isThisOne || isGenuine;
  }
  return isGenuine;
}

/** A new secret: 32 random bytes as 64 hex digits. */
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

function secretsOf(secret: unknown): readonly string[] {
  const given: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  return given.filter(isSecret);
}

function isSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret !== '';
}

/** `isView` and not `instanceof`: a sandbox such as Jest's has a Uint8Array of its own. */
function isBody(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || ArrayBuffer.isView(body);
}
