/** What a receiver is made with, checked. */

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

/** One secret, or the old and the new one while it is being changed. */
export type ReceiverSecret = string | readonly string[];

/** Why a request was refused, and what was seen of it: for logs, and for `explainSignature`. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly status: number;
  /** As it came in, where it was read; it may be anybody's. */
  readonly body?: Uint8Array;
  /** The value of `X-Svc-Integrity`. */
  readonly signature?: string | undefined;
}

export interface ReceiverOptions {
  /**
   * What senders sign with, not empty and not white space alone; or a function that gives it, asked for each request that has a signature,
   * before its body is read. Give it a deadline: until it has resolved or failed the request waits.
   */
  readonly secret: ReceiverSecret | (() => ReceiverSecret | Promise<ReceiverSecret>);
  /** Handles messages that came in and were not there before, at most 1000 at a time. */
  readonly onMessages: (messages: readonly ReceivedMessage[]) => unknown;
  /**
   * `'received'` (default): a request is answered as soon as it is verified and read, and its messages
   * are handled after that. What was answered and is not yet handled when the process dies is lost.
   * `'handled'`: it is answered once `onMessages` has resolved, and with 500 where it failed, so that
   * the sender tries again: for handlers that store messages and take no longer than a sender waits
   * (this library's: 15 s).
   */
  readonly answer?: 'received' | 'handled';
  /** Bodies with more bytes are refused with 413. 1 to 1,000,000,000; default 2,097,152. */
  readonly maxBodyBytes?: number;
  /**
   * Maximum bytes of bodies that are being read, over all connections: nobody knows yet whether they are
   * genuine. If more come in, the body that began first is refused with 503. `maxBodyBytes` to
   * 100,000,000,000; default 67,108,864, or `maxBodyBytes` if that is more.
   */
  readonly maxUnverifiedBytes?: number;
  /**
   * Maximum time from a request's head to the end of its body, in milliseconds; then it is refused with
   * 408. 1 to 2,147,483,647; default 30,000.
   */
  readonly bodyTimeoutMs?: number;
  /**
   * Requests are refused with 503 while bodies with so many bytes are being handled. 1 to
   * 100,000,000,000; default 67,108,864.
   */
  readonly maxInHandBytes?: number;
  /**
   * Refuses requests of format v2 that were sent longer ago, or further ahead: see `isFresh`. 0 to
   * 2,147,483,647 milliseconds; default: none is refused.
   */
  readonly toleranceMs?: number;
  /** Which messages came before. Default: 100,000 ids in memory; `false`: all are handed on. */
  readonly duplicates?: DuplicateStore | false;
  /**
   * Takes elements that break the contract, so that the others of their request are handled. Without
   * it such a request is refused with 400, whereupon a sender of this library sends its messages in
   * smaller requests, until the one at fault is alone.
   */
  readonly onInvalid?: (elements: readonly RefusedElement[]) => unknown;
  /** Hears of each request that is refused. What it throws is ignored. */
  readonly onRefused?: (refusal: Refusal) => void;
  /**
   * Hears of what `onMessages`, `onInvalid`, `secret` and `duplicates` throw, with the messages that
   * were being handled; and of `ERR_RAW_BODY_GONE`. What it throws is ignored.
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
    /** A promise only where it was asked for: a body is to be listened to in the turn it comes in. */
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
    typeof secret === 'function' ? async () => listOf(await secret()) : constantly(listOf(secret));
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

function constantly<T>(value: T): () => T {
  return () => value;
}

function listOf(secret: ReceiverSecret | undefined): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  // Without any, nothing would ever be genuine; an empty list is a fault of the caller's.
  if (secrets.length === 0) checkSecret(undefined);
  return secrets.map((given) => {
    const one = checkSecret(given);
    if (one.trim() !== '') return one;
    // An environment variable or a file that nobody filled in: anybody could guess it.
    throw new SecurityEventError('ERR_INVALID_SECRET', {
      detail: 'it must have more than white space',
      path: ['secret'],
    });
  });
}
