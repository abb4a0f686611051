/**
 * Why a signature does not fit: every mistake that is known from the field is undone, alone and
 * together with others, until the signature fits. What fits is proved, and the rest is guessed.
 */
import { verify } from '../webhook/signature.ts';
import { SIGNATURE_FAULTS, type SignatureFault } from './signature-faults.ts';
import { searchFaults } from './signature-search.ts';
import { bodyVariant, headerVariant, keyVariant } from './signature-variants.ts';

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
 * said no: it makes up to some hundred signatures, within some tenths of a second for a body of 1 MiB,
 * so ask it once and by hand, not for every bad request, and do not answer a request with what it says.
 * Every mistake alone is looked for; two of body and secret at the same time in bodies of up to some 50 KB, and
 * the likeliest ones in larger ones.
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
