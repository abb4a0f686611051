/** One attempt of a claim: find its destination, encode, sign, POST. */
import type { Clock } from '../runtime/clock.ts';
import { type TimeLimit, withTimeout } from '../runtime/timers.ts';
import type { ResolvedApplication } from '../settings/source.ts';
import { encodeBody, formatTimestamp, type Outgoing } from '../webhook/encoder.ts';
import type { Poster, PostRequest } from '../webhook/http/client.ts';
import { type NetworkPolicy, refuseLiteralAddress } from '../webhook/http/ssrf-guard.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import type { AttemptResult } from '../webhook/outcome.ts';
import { SIGNATURE_HEADER } from '../webhook/request-headers.ts';
import { parseRetryAfter } from '../webhook/retry.ts';
import { checkSecret, sign } from '../webhook/signature.ts';

/** Where requests go. */
export interface Target {
  readonly url: URL;
  readonly secret: string;
  /** Given always: an attack on Object.prototype must not become credentials. */
  readonly tls: PostRequest['tls'];
}

/** Where one application's requests go. */
export interface Destination extends Target {
  /** Whose it is. */
  readonly application: ResolvedApplication;
}

/** Why there is none: nothing was found, it cannot be used, its address is refused, or asking for it failed. */
export type MissingDestination = 'unknown' | 'unusable' | 'refused' | 'failed';

export type FindApplication = (applicationId: string) => Promise<ResolvedApplication | undefined>;

/** Total: what the settings are is not the sender's fault, and may be mended (D72). */
export async function resolveDestination(
  applicationId: string,
  find: FindApplication,
  limit: TimeLimit,
): Promise<Destination | MissingDestination> {
  const found = await withTimeout(lookUp(applicationId, find), limit);
  return found?.value ?? 'failed';
}

/** A URL in settings may have an address that is refused: nothing is sent there (D82). */
export function isRefused({ url }: Target, network: NetworkPolicy): boolean {
  try {
    refuseLiteralAddress(url, network);
    return false;
  } catch {
    return true;
  }
}

async function lookUp(
  applicationId: string,
  find: FindApplication,
): Promise<Destination | MissingDestination> {
  let application: ResolvedApplication | undefined;
  let secret: string | undefined;
  try {
    application = await find(applicationId);
    secret =
      typeof application?.secret === 'function' ? await application.secret() : application?.secret;
  } catch {
    return 'failed';
  }
  if (application?.url === undefined || secret === undefined) return 'unknown';
  try {
    const { url, tls } = application;
    return { url: parseWebhookUrl(url), secret: checkSecret(secret), tls, application };
  } catch {
    return 'unusable';
  }
}

export interface Sending {
  readonly poster: Poster;
  readonly clock: Clock;
  /** All but the signature. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A request of its own for every attempt: `date_created` and `retry_count` are this one's (D23, D24). */
export interface SignedRequest {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxRetryCount: number;
}

export function encodeAndSign(
  messages: readonly Outgoing[],
  secret: string,
  { clock, headers }: Pick<Sending, 'clock' | 'headers'>,
): SignedRequest {
  let maxRetryCount = 0;
  for (const { sends } of messages) if (sends > maxRetryCount) maxRetryCount = sends;
  const body = encodeBody(messages, formatTimestamp(clock.now()));
  return { body, headers: { ...headers, [SIGNATURE_HEADER]: sign(body, secret) }, maxRetryCount };
}

export interface AttemptEndOfWire {
  readonly result: AttemptResult;
  /** What the receiver asked for. */
  readonly retryAfterMs: number | undefined;
}

export async function post(
  { body, headers }: SignedRequest,
  { url, tls }: Target,
  { poster, clock, signal, onHeaders }: Sending & Pick<PostRequest, 'onHeaders'>,
): Promise<AttemptEndOfWire> {
  const result = await poster.post({ url, body, headers, signal, tls, onHeaders });
  const retryAfterMs =
    result.kind === 'response' ? parseRetryAfter(result.retryAfter, clock.now()) : undefined;
  return { result, retryAfterMs };
}
