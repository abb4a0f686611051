/** The steps of one attempt before and after its POST: encode, sign, read Retry-After. */
import type { TimeLimit } from '../runtime/timers.ts';
import { encodeBody, formatTimestamp, type Outgoing } from '../webhook/encoder.ts';
import type { Poster } from '../webhook/http/client.ts';
import type { AttemptResult } from '../webhook/outcome.ts';
import { SIGNATURE_HEADER } from '../webhook/request-headers.ts';
import { parseRetryAfter } from '../webhook/retry.ts';
import { sign } from '../webhook/signature.ts';

/** What all attempts of a sender, or of a call of `sendWebhook`, share. */
export interface AttemptParts extends Omit<TimeLimit, 'ms'> {
  readonly poster: Poster;
  /** All headers but the signature. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes the request of one attempt: `date_created` and `retry_count` differ between attempts (D23, D24). */
export function encodeAndSign(
  messages: readonly Outgoing[],
  secret: string,
  { clock, headers }: Pick<AttemptParts, 'clock' | 'headers'>,
) {
  let maxRetryCount = 0;
  for (const { retryCount } of messages) if (retryCount > maxRetryCount) maxRetryCount = retryCount;
  const body = encodeBody(messages, formatTimestamp(clock.now()));
  return { body, headers: { ...headers, [SIGNATURE_HEADER]: sign(body, secret) }, maxRetryCount };
}

/** Returns the wait that the receiver asked for, in ms; `undefined` without one. */
export function retryAfterOf(result: AttemptResult, nowMs: number): number | undefined {
  return result.kind === 'response' ? parseRetryAfter(result.retryAfter, nowMs) : undefined;
}
