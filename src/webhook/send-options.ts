/** Where to send, and how: what `sendWebhook` is given, checked before anything is sent. */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Format } from '../queue/queue.ts';
import { requestHeaders } from './request-headers.ts';
import type { RetrySchedule } from './retry.ts';
import { checkSecret } from './signature.ts';
import type { NetworkPolicy } from './wire/network-guard.ts';
import type { Deadlines, PosterOptions } from './wire/post.ts';
import { parseWebhookUrl } from './wire/webhook-url.ts';

/** An application's URL and secret. */
export interface WebhookDestination {
  /** Absolute, http or https, without credentials; used as it is (D33). */
  readonly url: string;
  /** The key of the signature: its UTF-8 bytes, not empty. */
  readonly secret: string;
}

export interface SendOptions<D extends Dialect = 'strict', F extends Format = 2> {
  /**
   * The format of the messages given, which are sent as they are: 2 (default), or 1, which is
   * deprecated. Nothing is converted.
   */
  readonly format?: F;
  /** The contract's dialect that messages are checked against. Default `'strict'`. */
  readonly dialect?: D;
  /**
   * When to send again what failed. What is left out has these defaults: `delaysMs` 500, 2000 and
   * 5000, `maxWaitMs` 30000 (at most 2147483647), no repetition and no horizon.
   */
  readonly schedule?: Partial<RetrySchedule>;
  /** The largest body of a request, in bytes. A positive integer; default 1048576. */
  readonly maxBodyBytes?: number;
  /**
   * How long one attempt may take in all, in ms: 1 to 2147483647, default 20000. Of it, connecting
   * may take 5 s, and the response headers must be there after 15 s, or 5 s before the end where
   * that is later.
   */
  readonly deadlineMs?: number;
  /**
   * Which addresses may be connected to (D77). Default `'allow-private'`, since the URL is in your
   * own code; give `'public'` where the URL is somebody else's.
   */
  readonly network?: NetworkPolicy;
  /** An undici dispatcher of your own, for a proxy or for client certificates say. Needs `network: 'delegated'`. */
  readonly dispatcher?: NonNullable<PosterOptions['dispatcher']>;
  /** Further headers. `Content-Type`, `Content-Length` and `X-Svc-Integrity` cannot be changed. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The header User-Agent. Default `security-event-delivery/<version>`. */
  readonly userAgent?: string;
  /** Ends the call: what is not delivered by then is reported as `aborted`. */
  readonly signal?: AbortSignal;
}

/** Options with their defaults, checked. */
export interface SendSettings {
  readonly url: URL;
  readonly secret: string;
  readonly format: Format;
  readonly dialect: Dialect;
  readonly schedule: RetrySchedule;
  readonly maxBodyBytes: number;
  readonly deadlines: Partial<Deadlines>;
  readonly network: NetworkPolicy;
  readonly dispatcher: PosterOptions['dispatcher'];
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

/** D71 */
const DEFAULT_SCHEDULE = { delaysMs: [500, 2000, 5000], maxWaitMs: 30_000 } as const;
const DEFAULT_MAX_BODY_BYTES = 1_048_576;
/** D76 */
const DEFAULT_DEADLINE_MS = 20_000;
const HEADERS_MS = 15_000;
/** What of a longer deadline is left for the response body. */
const BODY_MS = 5000;

/** The longest wait that a timer of Node's can hold; a longer one would be over at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Rule {
  readonly expected: string;
  readonly isUsable: (value: unknown) => boolean;
}

type Rules<K extends string> = Readonly<Record<K, Rule>>;

const oneOf = (...words: readonly unknown[]): Rule => ({
  expected: words.map((word) => JSON.stringify(word)).join(' or '),
  isUsable: (value) => words.includes(value),
});

const integer = (min: number, max: number): Rule => ({
  expected: `an integer from ${min} to ${max}`,
  isUsable: (value) => isInteger(value, min, max),
});

const object = (expected: string, isUsable: (value: object) => boolean): Rule => ({
  expected,
  isUsable: (value) => typeof value === 'object' && value !== null && isUsable(value),
});

const ANYTHING: Rule = { expected: 'anything', isUsable: () => true };

const DESTINATION_RULES: Rules<keyof WebhookDestination> = {
  // Both have checks and codes of their own.
  url: ANYTHING,
  secret: ANYTHING,
};

const OPTION_RULES: Rules<keyof SendOptions> = {
  format: oneOf(2, 1),
  dialect: oneOf('strict', 'open'),
  schedule: ANYTHING,
  maxBodyBytes: integer(1, Number.MAX_SAFE_INTEGER),
  deadlineMs: integer(1, MAX_TIMER_MS),
  network: oneOf('allow-private', 'public', 'delegated'),
  dispatcher: object(
    'a dispatcher of undici',
    (value) => 'request' in value && typeof value.request === 'function',
  ),
  // A Headers or a Map has no keys of its own: it would be dropped without a word.
  headers: object('an object of names and values', (value) => !(Symbol.iterator in value)),
  userAgent: { expected: 'a string', isUsable: (value) => typeof value === 'string' },
  signal: object(
    'an AbortSignal',
    (value) =>
      'aborted' in value && typeof value.aborted === 'boolean' && 'addEventListener' in value,
  ),
};

const SCHEDULE_RULES: Rules<keyof RetrySchedule> = {
  delaysMs: {
    expected: `an array of integers from 0 to ${MAX_TIMER_MS}`,
    isUsable: (value) =>
      Array.isArray(value) && value.every((delay) => isInteger(delay, 0, MAX_TIMER_MS)),
  },
  repeatLast: oneOf(true, false),
  horizonMs: integer(0, Number.MAX_SAFE_INTEGER),
  maxWaitMs: integer(0, MAX_TIMER_MS),
};

/**
 * Checks everything but the messages.
 *
 * @throws SecurityEventError `ERR_INVALID_URL`, `ERR_INVALID_SECRET` or `ERR_INVALID_OPTION`; its
 * `path` names what is at fault.
 */
export function readSettings(destination: unknown, options: unknown): SendSettings {
  const { url, secret } = check<WebhookDestination>(destination, DESTINATION_RULES, {
    name: 'the destination',
    path: [],
  });
  const given = check<SendOptions<Dialect, Format>>(options ?? {}, OPTION_RULES, {
    name: 'the options',
    path: [],
  });
  const deadlineMs = given.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const network = given.network ?? 'allow-private';
  if (given.dispatcher !== undefined && network !== 'delegated') {
    throw invalidOption("a dispatcher of your own needs network: 'delegated'", ['network']);
  }
  return {
    url: parseWebhookUrl(url as string),
    secret: checkSecret(secret),
    format: given.format ?? 2,
    dialect: given.dialect ?? 'strict',
    schedule: readSchedule(given.schedule),
    maxBodyBytes: given.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    deadlines: { headersMs: Math.max(HEADERS_MS, deadlineMs - BODY_MS), totalMs: deadlineMs },
    network,
    dispatcher: given.dispatcher,
    headers: requestHeaders(given),
    signal: given.signal,
  };
}

function readSchedule(options: unknown): RetrySchedule {
  const given = check<RetrySchedule>(options ?? {}, SCHEDULE_RULES, {
    name: 'schedule',
    path: ['schedule'],
  });
  // Without an end the call would never return while its receiver fails.
  if (given.repeatLast === true && given.horizonMs === undefined) {
    throw invalidOption('schedule.repeatLast needs schedule.horizonMs', ['schedule', 'horizonMs']);
  }
  const { delaysMs = DEFAULT_SCHEDULE.delaysMs, maxWaitMs = DEFAULT_SCHEDULE.maxWaitMs } = given;
  return Object.assign(given, { delaysMs, maxWaitMs });
}

interface Subject {
  /** How the object is called in an error. */
  readonly name: string;
  /** Where its keys are in the option's path. */
  readonly path: readonly string[];
}

/**
 * Gives a copy, so that later changes and getters of the original do not count. It has no prototype:
 * what an attack put on Object.prototype must not become an option, `network` for one.
 */
function check<T>(
  given: unknown,
  rules: Rules<keyof T & string>,
  { name, path }: Subject,
): Partial<T> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalidOption(`expected ${name} to be an object`, path);
  }
  const copy: object = Object.assign(Object.create(null), given);
  for (const [key, value] of Object.entries(copy)) {
    const rule = Object.entries<Rule>(rules).find(([known]) => known === key)?.[1];
    if (rule === undefined) {
      throw invalidOption(`unknown key ${JSON.stringify(key)} in ${name}`, [...path, key]);
    }
    if (value !== undefined && !rule.isUsable(value)) {
      const option = [...path, key].join('.');
      throw invalidOption(`expected ${option} to be ${rule.expected}`, [...path, key]);
    }
  }
  return copy;
}

function isInteger(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function invalidOption(detail: string, path: readonly string[]): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
}
