/**
 * Explains why a signature is wrong: reverts known mistakes, one of the body and one of the secret, until the
 * signature is valid. That proves them; otherwise it guesses.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { SecurityEventError } from '../errors.ts';
import { tryCall } from '../runtime/host-calls.ts';
import { asBytes, verify } from '../webhook/signature.ts';
import { SIGNATURE_FAULTS, type SignatureFault } from './signature-faults.ts';
import {
  BODY_MISTAKES,
  givenVariant,
  headerVariant,
  KEY_MISTAKES,
  type Mistake,
  PREFIX,
  parsedVariant,
  type Variant,
} from './signature-variants.ts';

export interface SignatureExplanation {
  /** Whether the signature is valid. `verify` then returns true, too, if the secret is text. */
  readonly isValid: boolean;
  /** The faults, the most likely first. If `isProven`, the request has all of them. */
  readonly faults: readonly SignatureFault[];
  /** Whether the signature is valid once the faults are reverted; otherwise they are guesses. */
  readonly isProven: boolean;
  /** What to do, in sentences. Contains no secret, no payload and no valid signature. */
  readonly text: string;
}

const valid: SignatureExplanation = {
  isValid: true,
  faults: [],
  isProven: true,
  text: 'The signature matches the body.',
};

/**
 * Explains why `verify` has returned false, for development and support. It computes up to two hundred
 * signatures, which takes some tenths of a second for a body of 1 MiB: do not call it for every bad
 * request, and do not send its result to the client. Finds any mistakes of the header, and one each of the
 * body and the secret.
 *
 * @param body the raw body, or what the receiver has instead (text, a parsed value)
 * @param header the value of `X-Svc-Integrity`
 * @param secret one secret, no list as in `verify`: text, or bytes if the receiver decodes it. An unset or
 * empty one is the fault `secret-missing`
 * @throws SecurityEventError `ERR_INVALID_SECRET` for a list or another value that is neither text nor bytes.
 */
export function explainSignature(
  body: unknown,
  header: unknown,
  secret: string | Uint8Array,
): SignatureExplanation {
  checkKind(secret);
  if (isVerified(body, header, secret)) return valid;
  const bodyAsIs = givenVariant(asBytes(body)) ?? parsedVariant(asBytes(body));
  const signature = headerVariant(header);
  if (signature === undefined) return guess(headerFault(header));
  if (bodyAsIs === undefined) return guess('body-missing');
  const key = givenVariant(secret);
  if (key === undefined) return guess('secret-missing');
  const bodies = variantsOf(bodyAsIs, BODY_MISTAKES);
  const found = search(bodies, variantsOf(key, KEY_MISTAKES), signature.value);
  if (found === undefined) {
    // Senders of this library sign what `JSON.stringify` writes: a body in another form was changed.
    const isOtherForm = bodies.some(({ faults }) => faults.includes('body-reserialised'));
    return guess(!isOtherForm && isJson(bodyAsIs.value) ? 'other-secret' : 'body-changed');
  }
  const faults = [...signature.faults, ...found];
  return faults.length === 0 ? valid : explained(faults, true);
}

/** Returns the value as it is, and what it may have been before one mistake. */
function variantsOf({ value, faults }: Variant, mistakes: readonly Mistake[]): Variant[] {
  const variants: Variant[] = [{ value, faults }];
  for (const [fault, revert] of mistakes) {
    for (const before of [revert(value) ?? []].flat()) {
      // An empty key or body is never right.
      if (before.length === 0 || variants.some((known) => known.value.equals(before))) continue;
      variants.push({ value: before, faults: [...faults, fault] });
    }
  }
  return variants;
}

/** Returns the faults of the body and the key with which the signature is valid. */
function search(
  bodies: readonly Variant[],
  keys: readonly Variant[],
  claimed: Buffer,
): readonly SignatureFault[] | undefined {
  for (const body of bodies) {
    for (const key of keys) {
      const signature = createHmac('sha256', key.value).update(body.value).digest();
      if (timingSafeEqual(claimed, signature)) return [...body.faults, ...key.faults];
    }
  }
  return undefined;
}

const isVerified = (body: unknown, header: unknown, secret: string | Uint8Array): boolean =>
  typeof secret === 'string' && secret !== '' && verify(body as string, header, secret);

function checkKind(secret: unknown): void {
  const isUnset = secret === undefined || secret === null;
  if (isUnset || typeof secret === 'string' || ArrayBuffer.isView(secret)) return;
  const detail = 'it must be one secret, text or bytes; explain each secret of a list on its own';
  throw new SecurityEventError('ERR_INVALID_SECRET', { detail, path: ['secret'] });
}

const isJson = (body: Buffer): boolean =>
  tryCall(() => JSON.parse(body.toString()) as unknown) !== undefined;

/** Hex digits of SHA-1, SHA-384 and SHA-512. */
const OTHER_HASH_LENGTHS: readonly number[] = [40, 96, 128];

function headerFault(header: unknown): SignatureFault {
  if (typeof header !== 'string' || header.trim() === '') return 'header-missing';
  const { length } = header.trim().replace(PREFIX, '');
  return OTHER_HASH_LENGTHS.includes(length) ? 'header-other-hash' : 'header-malformed';
}

const guess = (fault: SignatureFault): SignatureExplanation => explained([fault], false);

function explained(faults: readonly SignatureFault[], isProven: boolean): SignatureExplanation {
  const text = faults.map((fault) => SIGNATURE_FAULTS[fault]).join(' ');
  return { isValid: false, faults, isProven, text };
}
