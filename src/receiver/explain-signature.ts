/**
 * Explains why a signature is wrong: undoes known mistakes, alone and in pairs, until the signature is
 * valid. That proves the mistake; otherwise it guesses.
 */
import { verify } from '../webhook/signature.ts';
import { SIGNATURE_FAULTS, type SignatureFault } from './signature-faults.ts';
import { searchFaults } from './signature-search.ts';
import { bodyVariant, headerVariant, keyVariant } from './signature-variants.ts';

export interface SignatureExplanation {
  /** Whether the signature is valid. `verify` then returns true, too, if the secret is text. */
  readonly isValid: boolean;
  /** The faults, the most likely first. If `isProven`, the request has all of them. */
  readonly faults: readonly SignatureFault[];
  /** Whether the signature is valid once the faults are undone; otherwise they are guesses. */
  readonly isProven: boolean;
  /** What to do, in sentences. Contains no secret, no payload and no valid signature. */
  readonly text: string;
}

const valid: SignatureExplanation = {
  isValid: true,
  faults: [],
  isProven: true,
  text: 'The signature fits the body.',
};

/**
 * Explains why `verify` has returned false, for development and support. It computes up to some hundred
 * signatures, which takes some tenths of a second for a body of 1 MiB: do not call it for every bad
 * request, and do not send its result to the client. Finds every single mistake; two mistakes together
 * in bodies of up to about 50 KB, and the most likely pairs in larger ones.
 *
 * @param body the raw body, or what the receiver has instead (text, a parsed value)
 * @param header the value of `X-Svc-Integrity`
 * @param secret the argument of `verify`: text, or bytes if the receiver decodes it
 */
export function explainSignature(
  body: unknown,
  header: unknown,
  secret: string | Uint8Array,
): SignatureExplanation {
  if (isVerified(body, header, secret)) return valid;
  const bodyAsIs = bodyVariant(body);
  const signature = headerVariant(header);
  if (signature === undefined) return guess(headerFault(header));
  if (bodyAsIs === undefined) return guess('body-missing');
  const key = keyVariant(secret);
  if (key === undefined) return guess('secret-missing');
  const found = searchFaults({ body: bodyAsIs, key }, signature.value);
  if (found.faults === undefined) {
    return guess(!found.isRespelled && isJson(bodyAsIs.value) ? 'other-secret' : 'body-changed');
  }
  const faults = [...signature.faults, ...found.faults];
  return faults.length === 0 ? valid : explained(faults, true);
}

const isVerified = (body: unknown, header: unknown, secret: string | Uint8Array): boolean =>
  typeof secret === 'string' && verify(body as string, header, secret);

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

const HASHES = new Map([
  [40, 'SHA-1'],
  [96, 'SHA-384'],
  [128, 'SHA-512'],
]);

function headerFault(header: unknown): SignatureFault {
  if (typeof header !== 'string' || header.trim() === '') return 'header-missing';
  return HASHES.has(header.trim().length) ? 'header-other-hash' : 'header-malformed';
}

const guess = (fault: SignatureFault): SignatureExplanation => explained([fault], false);

function explained(faults: readonly SignatureFault[], isProven: boolean): SignatureExplanation {
  const text = faults.map((fault) => SIGNATURE_FAULTS[fault]).join(' ');
  return { isValid: false, faults, isProven, text };
}
