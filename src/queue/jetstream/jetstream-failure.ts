/** What NATS and its clients throw, in our words: without payload and credentials. */
import { SecurityEventError } from '../../errors.ts';

/** As the server numbers them. */
/** 10164: another write that expects the same is under way. */
const WRONG_LAST_SEQUENCE: ReadonlySet<number> = new Set([10071, 10164]);
const STREAM_MISSING = 10059;
/** Who leads has not heard of as many servers yet, some are away, or they have no room. */
const NO_PEERS = 10005;
const NO_STORAGE = 10047;
const STORE_FAILED = 10077;
const NOT_FOUND: ReadonlySet<number> = new Set([10037, 10043, 10057]);
/** No server is there for it yet, or no leader; 10158: one of the same id is under way. */
const PASSING: ReadonlySet<number> = new Set([
  503,
  10004,
  NO_PEERS,
  10008,
  10009,
  10023,
  10118,
  10158,
  10163,
]);
const PASSING_NAMES: ReadonlySet<string> = new Set(['TimeoutError', 'NoRespondersError']);

/** Nobody answered in time, or the connection ended first: it may have been done all the same. */
export class Unanswered extends Error {}

/** A server, or a leader that was one a moment ago, has not come as far as another one is known to be. */
export class Lagging extends Unanswered {}

/** There is no connection, and there will be none. */
export class Closed extends Error {}

/** Others wrote the same value again and again, each a little sooner. */
export class Busy extends Error {}

/** What the server answered with. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}

export const isFull = (error: unknown): error is Refusal =>
  error instanceof Refusal &&
  error.code === STORE_FAILED &&
  /maximum (?:messages|bytes)/.test(error.message);

/** Another write was quicker. */
export const isOutrun = (error: unknown): boolean =>
  error instanceof Refusal && WRONG_LAST_SEQUENCE.has(error.code);

export const isMissing = (error: unknown): boolean => NOT_FOUND.has(codeOf(error) ?? 0);

/** What may be otherwise in a moment, where a server or a leader is about to come. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Unanswered ||
  PASSING.has(codeOf(error) ?? 0) ||
  (error instanceof Error && PASSING_NAMES.has(error.name));

export const isMissingStream = (error: unknown): boolean => codeOf(error) === STREAM_MISSING;

function codeOf(error: unknown): number | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'number' ? code : undefined;
}

export function failure(error: unknown): SecurityEventError {
  if (error instanceof SecurityEventError) return error;
  return new SecurityEventError('ERR_QUEUE_FAILED', {
    detail: detailOf(error),
    cause: bare(error),
  });
}

/** Where a number alone would not help. */
const DETAILS: ReadonlyMap<number, string> = new Map([
  [STREAM_MISSING, 'the streams are missing, run createJetStreamStreams once'],
  [
    NO_PEERS,
    'NATS has no servers for so many `replicas` (10005): fewer are there, they have not found each other yet, have less room than `maxPendingBytes`, or left one out when they began (then `cluster_size` in `/jsz` is too small: start that one anew)',
  ],
  [NO_STORAGE, 'the NATS server has less room than `maxPendingBytes` (10047)'],
]);

function detailOf(error: unknown): string {
  const code = codeOf(error);
  if (code !== undefined) return DETAILS.get(code) ?? `NATS answered ${code}`;
  if (error instanceof Busy) return error.message;
  if (error instanceof Lagging) return 'a NATS server has not caught up with the others';
  return isPassing(error) ? 'NATS did not answer' : 'no connection to NATS';
}

/** The clients' errors hold servers, which may be written with a password. */
function bare(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  return Object.assign(new Error(message.replace(/\S*@/g, '')), code === undefined ? {} : { code });
}
