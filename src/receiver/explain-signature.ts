/**
 * Why a signature does not fit: every mistake that is known from the field is undone, alone and
 * together with others, until the signature fits. What fits is proved, and the rest is guessed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { verify } from '../webhook/signature.ts';
import { isSent, SIGNATURE_FAULTS, type SignatureFault } from './signature-faults.ts';
import { bodyVariants, headerVariant, keyVariants, type Variant } from './signature-variants.ts';

export interface SignatureExplanation {
  /** Whether the signature fits as it is: `verify` says yes, too, where the secret is given as text. */
  readonly isValid: boolean;
  /**
   * What is wrong, the likeliest first; empty where nothing is. Several are wrong at the same time
   * where `isProven`.
   */
  readonly faults: readonly SignatureFault[];
  /** Whether the signature fits once the faults are undone; otherwise they are guessed. */
  readonly isProven: boolean;
  /** What to do about it, in whole sentences. No secret, no payload, no signature that would fit. */
  readonly text: string;
}

const valid: SignatureExplanation = {
  isValid: true,
  faults: [],
  isProven: true,
  text: 'The signature fits the body.',
};

/**
 * Names why the signature of a request does not fit. For development and support, where `verify` has
 * said no: it makes some hundred signatures, so ask it once and by hand, not for every bad request,
 * and do not answer a request with what it says.
 *
 * @param body the raw body as the receiver has it, or what it has in its place (text, a parsed value)
 * @param header the value of `X-Svc-Integrity`
 * @param secret what `verify` was given: text, or bytes where the receiver decodes it
 */
export function explainSignature(
  body: unknown,
  header: unknown,
  secret: string | Uint8Array,
): SignatureExplanation {
  if (isVerified(body, header, secret)) return valid;
  const bodies = bodyVariants(body);
  const signature = headerVariant(header);
  if (signature === undefined) return guess(headerFault(header));
  if (bodies.length === 0) return guess('body-missing');
  const keys = keyVariants(secret);
  if (keys.length === 0) return guess('secret-missing');
  const found = simplestFit(bodies, keys, signature.value);
  if (found === undefined) return guess(isSent(bodies[0]?.value) ? 'other-secret' : 'body-changed');
  const faults = [...signature.faults, ...found];
  return faults.length === 0 ? valid : explained(faults, true);
}

const isVerified = (body: unknown, header: unknown, secret: string | Uint8Array): boolean =>
  typeof secret === 'string' && verify(body as string, header, secret);

/** Of body and secret together. More of them at the same time would take seconds for a large body. */
const MAX_FAULTS = 2;

/** Those with the fewest mistakes first: one mistake is likelier than two that happen to fit. */
function simplestFit(
  bodies: readonly Variant[],
  keys: readonly Variant[],
  claimed: Buffer,
): readonly SignatureFault[] | undefined {
  return keys
    .flatMap((key) =>
      bodies.map((body) => ({ key, body, faults: [...body.faults, ...key.faults] })),
    )
    .filter(({ faults }) => faults.length <= MAX_FAULTS)
    .toSorted((one, other) => one.faults.length - other.faults.length)
    .find(({ key, body }) => {
      const signature = createHmac('sha256', key.value).update(body.value).digest();
      return timingSafeEqual(claimed, signature);
    })?.faults;
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
