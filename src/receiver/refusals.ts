/** Reasons for which a request is refused, and the responses. */
import { isObjectLike, readProperty } from '../own-properties.ts';
import { headerVariant } from './signature-variants.ts';

type Headers = Readonly<Record<string, string>>;

const refusal = (status: number, headers: Headers = {}) => ({ status, headers });

/**
 * Statuses are chosen for this library's sender: it retries after all of them, pauses after 503, sends
 * smaller requests after 413, and bisects after 400 to find the invalid message.
 */
export const REFUSALS = {
  /** The method is not POST. */
  method: refusal(405, { allow: 'POST' }),
  /** The type is not `application/json` in UTF-8, or the body is compressed. */
  'content-type': refusal(415),
  'body-too-large': refusal(413),
  'signature-missing': refusal(401),
  'signature-wrong': refusal(401),
  /** The body did not end within `bodyTimeoutMs`. */
  'body-late': refusal(408),
  /** The sender disconnected before its body was read, so the response does not reach it. */
  incomplete: refusal(400),
  /** Not an array of 1 to 1000 messages. */
  'body-invalid': refusal(400),
  /** At least one message breaks the contract, and there is no `onInvalid`. */
  'message-invalid': refusal(400),
  /** Sent too long ago, or in the future: `toleranceMs`. */
  stale: refusal(401),
  /** `maxHandlingBytes` or `maxUnverifiedBytes` is exceeded. */
  busy: refusal(503, { 'retry-after': '5' }),
  /** `onMessages`, `onInvalid`, `secret`, the store of duplicates or `readBody` failed; `onError` gets the error. */
  failed: refusal(500),
} as const;

export type RefusalReason = keyof typeof REFUSALS;

/** For unread bodies: the host would read the rest of the body to keep the connection. */
export const CLOSE = { connection: 'close' };

export function refusedAnswer(reason: RefusalReason, connection: Headers = {}) {
  const { status, headers } = REFUSALS[reason];
  const type = { 'content-type': 'text/plain; charset=utf-8' };
  // An own `handle`: adapters would call that of a polluted prototype.
  const handle = undefined;
  return { status, headers: { ...type, ...headers, ...connection }, text: `${reason}\n`, handle };
}

const DISCONNECTED: readonly unknown[] = [
  'ECONNRESET',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
];

/** Returns whether `readBody` failed because the sender disconnected, which is not an error of the host. */
export const isDisconnection = (error: unknown): boolean =>
  isObjectLike(error) &&
  (DISCONNECTED.includes(readProperty(error, 'code')) ||
    readProperty(error, 'name') === 'AbortError');

export const senderWentAway = (): Error =>
  Object.assign(new Error('the sender went away'), { code: 'ECONNRESET' });

/** The part of a request that is known before its body is read. */
interface RequestHead {
  readonly method: string | undefined;
  header(name: string): string | undefined;
}

export const SIGNATURE_HEADER = 'x-svc-integrity';

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?$/i;

/**
 * Returns why a request is refused without reading its body. A signature with a usual mistake, such as a
 * prefix, is refused later: `explainSignature` needs the body.
 */
export function refusalOfHead(
  request: RequestHead,
  maxBodyBytes: number,
): RefusalReason | undefined {
  // First, since it closes the connection. After other refusals, Node would read the whole body to keep it.
  // Node refuses a Content-Length that is not a number.
  if (Number(request.header('content-length')) > maxBodyBytes) return 'body-too-large';
  if (request.method !== 'POST') return 'method';
  if (!JSON_TYPE.test(request.header('content-type')?.trim() ?? '')) return 'content-type';
  // Senders of this library do not compress.
  const coding = request.header('content-encoding') ?? 'identity';
  if (!/^\s*identity\s*$/i.test(coding)) return 'content-type';
  const signature = request.header(SIGNATURE_HEADER);
  if (signature === undefined || signature === '') return 'signature-missing';
  return headerVariant(signature) === undefined ? 'signature-wrong' : undefined;
}
