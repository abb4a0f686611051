/** The options of a receiver, and their validation. */
import { SecurityEventError } from '../errors.ts';
import {
  A_FUNCTION,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  type OptionsOf,
  oneOf,
  option,
  optional,
  readOptions,
  required,
  usable,
} from '../option-rules.ts';
import { hasMethods } from '../own-properties.ts';
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
  /** The value of `X-Svc-Integrity`, if the request has one. */
  readonly signature?: string | undefined;
}

type SecretOption = ReceiverSecret | (() => ReceiverSecret | Promise<ReceiverSecret>);

type MessageHandler = (messages: readonly ReceivedMessage[]) => unknown;

const isSecret = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'function' || Array.isArray(value);

const OPTIONS = {
  secret: required<SecretOption>(usable('a string, a list of strings or a function', isSecret)),
  onMessages: required<MessageHandler>(A_FUNCTION),
  /**
   * When a request is answered. `'handled'` (default): when `onMessages` has resolved, or with 500 if it failed,
   * so that the sender retries. `'received'`: as soon as it is verified and parsed, for handlers that are slower
   * than the sender's timeout (15 s for this library). Then only `onError`, which is required, gets messages whose
   * handling failed, and those that are not handled yet are lost if the process dies.
   */
  answer: option<'handled' | 'received'>(oneOf('handled', 'received'), 'handled'),
  /** Maximum size of a body; larger ones are refused with 413. 1 to 1,000,000,000 bytes; default 2,097,152. */
  maxBodyBytes: option<number>(integer(1, 1_000_000_000), 2 ** 21),
  /**
   * Maximum bytes of all bodies that are being read and not verified yet. Above it the oldest body is
   * refused with 503. `maxBodyBytes` to 100,000,000,000; default 67,108,864, or `maxBodyBytes` if that is
   * more.
   */
  maxUnverifiedBytes: optional<number>(integer(1, 100_000_000_000)),
  /**
   * Maximum time for reading a body, in milliseconds; then it is refused with 408. It starts when the secret
   * is known: a `secret` function has its own time. 1 to 2,147,483,647; default 30,000.
   */
  bodyTimeoutMs: option<number>(integer(1, MAX_TIMER_MS), 30_000),
  /**
   * Bytes of the bodies being handled from which new requests are refused with 503. The last body before
   * that may exceed it. 1 to 100,000,000,000; default 67,108,864.
   */
  maxHandlingBytes: option<number>(integer(1, 100_000_000_000), 2 ** 26),
  /**
   * Maximum distance between now and the time of sending in format 2, in milliseconds; a request beyond it
   * is refused with 401: see `isFresh`. 0 to 2,147,483,647; default: no limit.
   */
  toleranceMs: optional<number>(integer(0, MAX_TIMER_MS)),
  /** Remembers handled messages. Default: 100,000 ids in memory; `false`: duplicates are passed on. */
  duplicates: optional<DuplicateStore | false>(
    usable(
      'a store of duplicates or false',
      (value) => value === false || hasMethods(value, 'has', 'add'),
    ),
  ),
  /**
   * Handles invalid elements before the valid ones of the request go to `onMessages`, even if it fails. Invalid
   * elements that arrive again are passed on again: only valid messages are recognised as duplicates. Without
   * it such a request is refused with 400, and a sender of this library bisects it until the invalid message is alone.
   */
  onInvalid: optional<(elements: readonly RefusedElement[]) => unknown>(A_FUNCTION),
  /** Called for each refused request. Its errors are ignored. */
  onRefused: optional<(refusal: Refusal) => void>(A_FUNCTION),
  /**
   * Called with errors of `onMessages`, `onInvalid`, `secret`, `duplicates` and `readBody`, and the messages that
   * were being handled: without duplicates, unless the error came before they were known. Its errors are ignored. Without it, only `NODE_DEBUG=security-events` shows these
   * errors.
   */
  onError: optional<(error: unknown, messages: readonly ReceivedMessage[]) => void>(A_FUNCTION),
} as const;

export interface ReceiverOptions extends OptionsOf<typeof OPTIONS> {
  /**
   * The senders' secret, not empty or white space; or a function that returns it. It is called for each request
   * that has a signature, before the body is read. Give it a deadline: the request waits for it.
   */
  readonly secret: SecretOption;
  /** Handles new messages, at most 1000 at a time. Their unknown keys may be too deep for `JSON.stringify`. */
  readonly onMessages: MessageHandler;
}

/** The options with their defaults. */
export type Settings = ReturnType<typeof readReceiverOptions>;

export function readReceiverOptions(given: ReceiverOptions) {
  const options = readOptions(given, OPTIONS);
  const { maxBodyBytes, duplicates = createMemoryDuplicates() } = options;
  const { maxUnverifiedBytes = Math.max(2 ** 26, maxBodyBytes) } = options;
  if (maxUnverifiedBytes < maxBodyBytes) {
    const detail = 'expected maxUnverifiedBytes to be at least maxBodyBytes';
    throw invalidOption(detail, ['maxUnverifiedBytes']);
  }
  if (options.answer === 'received' && options.onError === undefined) {
    const detail = "expected onError with answer: 'received': only it gets messages that fail";
    throw invalidOption(detail, ['onError']);
  }
  const secret = secretsOf(options.secret);
  return { ...options, secret, maxUnverifiedBytes, duplicates };
}

/** Returns a promise only if `secret` is a function, so that otherwise the body is read in the same turn. */
function secretsOf(secret: SecretOption): () => readonly string[] | Promise<readonly string[]> {
  if (typeof secret === 'function') return async () => listOf(await secret());
  const secrets = listOf(secret);
  return () => secrets;
}

function listOf(secret: ReceiverSecret): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  // Throws: with an empty list no signature would ever be valid.
  if (secrets.length === 0) checkSecret(undefined);
  return secrets.map((given) => {
    const one = checkSecret(given);
    if (one.trim() !== '') return one;
    // From an empty environment variable or file: anyone could guess it.
    throw new SecurityEventError('ERR_INVALID_SECRET', {
      detail: 'it consists of white space',
      path: ['secret'],
    });
  });
}
