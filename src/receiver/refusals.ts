/** Why a request is answered with something else than success, and with what. */
import { headerVariant } from './signature-variants.ts';

const refusal = (status: number, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers,
});

/**
 * Statuses are chosen by what this library's sender does with them: it tries again after all of them,
 * pauses after 503, sends less at a time after 413, and finds the one message that is at fault
 * after 400.
 */
export const REFUSALS = {
  /** Another method than POST. */
  method: refusal(405, { allow: 'POST' }),
  /** Not `application/json` in UTF-8, or a content coding. */
  'content-type': refusal(415),
  'body-too-large': refusal(413),
  'signature-missing': refusal(401),
  'signature-wrong': refusal(401),
  /** It did not come to its end within `bodyTimeoutMs`. */
  'body-late': refusal(408),
  /** The sender went away before its body was read: nobody hears this answer. */
  incomplete: refusal(400),
  /** No array of 1 to 1000 messages. */
  'body-invalid': refusal(400),
  /** At least one message breaks the contract, and there is no `onInvalid`. */
  'message-invalid': refusal(400),
  /** Sent too long ago, or in the future: `toleranceMs`. */
  stale: refusal(401),
  /** More is being handled than `maxInHandBytes`, or read than `maxUnverifiedBytes`. */
  busy: refusal(503, { 'retry-after': '5' }),
  /** `onMessages`, `secret` or the store of duplicates failed; `onError` has the error. */
  failed: refusal(500),
} as const;

export type RefusalReason = keyof typeof REFUSALS;

/** What of a request is known before its body is read. */
export interface RequestHead {
  readonly method: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly contentLength: string | undefined;
  /** The value of `X-Svc-Integrity`. */
  readonly signature: string | undefined;
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;

/**
 * What is refused unread. A signature that only has one of the usual mistakes, such as a prefix, is
 * not: to prove which one takes the body.
 */
export function refusalOfHead(
  { method, contentType, contentEncoding, contentLength, signature }: RequestHead,
  maxBodyBytes: number,
): RefusalReason | undefined {
  if (method !== 'POST') return 'method';
  if (!JSON_TYPE.test(contentType?.trim() ?? '')) return 'content-type';
  // The signature is of the bytes as they are, so no sender of ours compresses them.
  if (contentEncoding !== undefined && !/^\s*identity\s*$/i.test(contentEncoding)) {
    return 'content-type';
  }
  // One that is no number is Node's to refuse.
  if (Number(contentLength) > maxBodyBytes) return 'body-too-large';
  if (signature === undefined || signature === '') return 'signature-missing';
  return headerVariant(signature) === undefined ? 'signature-wrong' : undefined;
}
