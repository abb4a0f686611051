/** The options of a receiver, and their validation. */
import { SecurityEventError } from '../errors.ts';
import {
  A_FUNCTION,
  check,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  object,
  oneOf,
  usable,
} from '../option-rules.ts';
import { ownProperties } from '../own-properties.ts';
import { checkSecret } from '../webhook/signature.ts';
import { createMemoryDuplicates, type DuplicateStore } from './duplicates.ts';
import type { ReceivedMessage, RefusedElement } from './parse-body.ts';
import type { RefusalReason } from './refusals.ts';

/** One secret, or the old and the new one during a rotation. */
export type ReceiverSecret = string | readonly string[];

/** A refused request, for logs and for `explainSignature`. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly status: number;
  /** The body, if it was read. Do not trust it: anyone may have sent it. */
  readonly body?: Uint8Array;
  /** The value of `X-Svc-Integrity`. */
  readonly signature?: string | undefined;
}

export interface ReceiverOptions {
  /**
   * The senders' secret, not empty or white space; or a function that returns it, called for each request
   * with a signature before its body is read. Give the function a deadline: the request waits for it.
   */
  readonly secret: ReceiverSecret | (() => ReceiverSecret | Promise<ReceiverSecret>);
  /** Handles new messages, at most 1000 at a time. */
  readonly onMessages: (messages: readonly ReceivedMessage[]) => unknown;
  /**
   * When a request is answered. `'received'` (default): as soon as it is verified and parsed; messages that
   * are not handled yet are lost if the process dies. `'handled'`: when `onMessages` has resolved, or with
   * 500 if it failed, so that the sender retries. Use it for handlers that store messages within the
   * sender's timeout (15 s for this library).
   */
  readonly answer?: 'received' | 'handled';
  /** Maximum size of a body; larger ones are refused with 413. 1 to 1,000,000,000 bytes; default 2,097,152. */
  readonly maxBodyBytes?: number;
  /**
   * Maximum bytes of all bodies that are being read and not verified yet. Above it the oldest body is
   * refused with 503. `maxBodyBytes` to 100,000,000,000; default 67,108,864, or `maxBodyBytes` if that is
   * more.
   */
  readonly maxUnverifiedBytes?: number;
  /**
   * Maximum time from a request's head to the end of its body, in milliseconds; then it is refused with
   * 408. 1 to 2,147,483,647; default 30,000.
   */
  readonly bodyTimeoutMs?: number;
  /**
   * Maximum bytes of bodies whose messages are being handled. Above it requests are refused with 503. 1 to
   * 100,000,000,000; default 67,108,864.
   */
  readonly maxInHandBytes?: number;
  /**
   * Refuses requests of format v2 whose time of sending differs more from now: see `isFresh`. 0 to
   * 2,147,483,647 milliseconds; default: no limit.
   */
  readonly toleranceMs?: number;
  /** Remembers handled messages. Default: 100,000 ids in memory; `false`: duplicates are passed on. */
  readonly duplicates?: DuplicateStore | false;
  /**
   * Handles invalid elements, so that the others of their request are handled. Without it such a request is
   * refused with 400, and a sender of this library bisects it until the invalid message is alone.
   */
  readonly onInvalid?: (elements: readonly RefusedElement[]) => unknown;
  /** Called for each refused request. Its errors are ignored. */
  readonly onRefused?: (refusal: Refusal) => void;
  /**
   * Called with errors of `onMessages`, `onInvalid`, `secret` and `duplicates`, and the messages that were
   * being handled; and with `ERR_RAW_BODY_GONE`. Its errors are ignored.
   */
  readonly onError?: (error: unknown, messages: readonly ReceivedMessage[]) => void;
}

type Defaulted =
  | 'answer'
  | 'maxBodyBytes'
  | 'maxUnverifiedBytes'
  | 'bodyTimeoutMs'
  | 'maxInHandBytes'
  | 'duplicates';

export type Settings = Omit<ReceiverOptions, 'secret' | Defaulted> &
  Required<Pick<ReceiverOptions, Defaulted>> & {
    /** A promise only if needed: the body's listeners must be added in the turn in which it arrives. */
    readonly secret: () => readonly string[] | Promise<readonly string[]>;
  };

const isSecret = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'function' || Array.isArray(value);

const RULES = {
  secret: usable('a string, a list of strings or a function', isSecret),
  onMessages: A_FUNCTION,
  answer: oneOf('received', 'handled'),
  maxBodyBytes: integer(1, 1_000_000_000),
  maxUnverifiedBytes: integer(1, 100_000_000_000),
  bodyTimeoutMs: integer(1, MAX_TIMER_MS),
  maxInHandBytes: integer(1, 100_000_000_000),
  toleranceMs: integer(0, MAX_TIMER_MS),
  duplicates: usable(
    'a store of duplicates or false',
    (value) =>
      value === false || object('', (store) => 'has' in store && 'add' in store).isUsable(value),
  ),
  onInvalid: A_FUNCTION,
  onRefused: A_FUNCTION,
  onError: A_FUNCTION,
};

export function readReceiverOptions(given: ReceiverOptions): Settings {
  const {
    secret,
    onMessages,
    answer = 'received',
    maxBodyBytes = 2 ** 21,
    maxUnverifiedBytes = Math.max(2 ** 26, maxBodyBytes),
    bodyTimeoutMs = 30_000,
    maxInHandBytes = 2 ** 26,
    duplicates = createMemoryDuplicates(),
    ...rest
  } = check<ReceiverOptions>(given, RULES);
  if (onMessages === undefined) {
    throw invalidOption('expected onMessages to be a function', ['onMessages']);
  }
  if (maxUnverifiedBytes < maxBodyBytes) {
    const detail = 'expected maxUnverifiedBytes to be at least maxBodyBytes';
    throw invalidOption(detail, ['maxUnverifiedBytes']);
  }
  const secretsOf =
    typeof secret === 'function' ? async () => listOf(await secret()) : constant(listOf(secret));
  return ownProperties({
    ...rest,
    secret: secretsOf,
    onMessages,
    answer,
    maxBodyBytes,
    maxUnverifiedBytes,
    bodyTimeoutMs,
    maxInHandBytes,
    duplicates,
  });
}

const constant =
  <T>(value: T) =>
  (): T =>
    value;

function listOf(secret: ReceiverSecret | undefined): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  // With an empty list no signature would ever be valid.
  if (secrets.length === 0) checkSecret(undefined);
  return secrets.map((given) => {
    const one = checkSecret(given);
    if (one.trim() !== '') return one;
    // From an empty environment variable or file: anyone could guess it.
    throw new SecurityEventError('ERR_INVALID_SECRET', {
      detail: 'it must have more than white space',
      path: ['secret'],
    });
  });
}
