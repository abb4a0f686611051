/** The options of a sender and of `sendWebhook`, checked before anything is made, with their defaults. */
import { type InputIssue, SecurityEventError } from '../errors.ts';
import {
  check,
  integer,
  invalidOption,
  listOf,
  MAX_TIMER_MS,
  type OptionValues,
  type Rules,
  readOptions,
  SIGNAL,
  TEXT,
  unusableOption,
} from '../option-rules.ts';
import type { MemoryQueueOptions } from '../queue/memory.ts';
import type { Format } from '../queue/queue.ts';
import {
  keptTls,
  namedApplicationSchema,
  organisedApplicationSchema,
  type ReadSettings,
  readNamed,
} from '../settings/schema.ts';
import { IS_CHECKED, type SettingsSource } from '../settings/source.ts';
import type { PosterOptions } from '../webhook/http/client.ts';
import { checkLiteralAddress, type NetworkPolicy } from '../webhook/http/ssrf-guard.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import { requestHeaders } from '../webhook/request-headers.ts';
import { checkSecret } from '../webhook/signature.ts';
import {
  DELIVERY_OPTIONS,
  DESTINATION_OPTIONS,
  type OneDestination,
  POLICY_OPTIONS,
  SEND_OPTIONS,
  type WebhookDestination,
} from './options.ts';
import {
  type CompleteSchedule,
  type DeliveryPolicy,
  DURABLE_HORIZON_MS,
  directSchedule,
  MEMORY_HORIZON_MS,
  senderSchedule,
} from './retry-policy.ts';
import type { CloseOptions, DeadLetterQuery, DeadLetterSelection, FlushOptions } from './sender.ts';
import type { SlotLimits } from './slots.ts';

type HttpOptions = Pick<PosterOptions, 'network' | 'dispatcher' | 'deadlines'>;

/** Copies the named properties. */
const pick = <T, Name extends keyof T & string>(from: T, names: readonly Name[]): Pick<T, Name> =>
  Object.fromEntries(names.map((name) => [name, from[name]])) as unknown as Pick<T, Name>;

/** Options of a sender that are used as they are given. */
const KEPT_OPTIONS = [
  'queue',
  'role',
  'dialect',
  'v1Aliases',
  'lingerMs',
  'lateAfterMs',
  'deadlineMs',
  'maintenanceIntervalMs',
  'stalledAfterMs',
  'flushBeforeExitMs',
] as const;

const POLICY_NAMES = Object.keys(POLICY_OPTIONS) as (keyof typeof POLICY_OPTIONS)[];

/** Options with their defaults, checked. */
export interface SenderSettings
  extends Pick<OptionValues<typeof DELIVERY_OPTIONS>, (typeof KEPT_OPTIONS)[number]> {
  readonly source: SettingsSource;
  /** Whether the source is a function of the host, which may never answer. */
  readonly isSettingsFunction: boolean;
  readonly memory: MemoryQueueOptions;
  readonly policy: DeliveryPolicy;
  readonly slots: SlotLimits;
  readonly leaseMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly http: HttpOptions;
}

/**
 * @throws SecurityEventError `ERR_INVALID_OPTION`, `ERR_INVALID_URL`, `ERR_ADDRESS_REFUSED` or
 * `ERR_INVALID_SECRET`; its `path` names what is at fault.
 */
export function readSenderOptions(options: unknown): SenderSettings {
  const { format, ...destination } = DESTINATION_OPTIONS;
  // The default format applies only to a single destination.
  const table = { ...destination, format: { ...format, default: undefined }, ...DELIVERY_OPTIONS };
  const given = readOptions(options, table);
  const { role, queue, maxActiveRequests, maxWaitingRequests, deadlineMs } = given;
  const http = httpOptionsOf(given);
  if (queue === undefined && role !== 'both') {
    throw invalidOption(`role: '${role}' needs a queue that processes share`, ['queue']);
  }
  if (given.dispatcher !== undefined && given.tls !== undefined) {
    throw invalidOption('tls is not used with a dispatcher of your own: give it to that', ['tls']);
  }
  const isDurable = queue !== undefined && queue.durability !== 'memory';
  const horizonMs = isDurable ? DURABLE_HORIZON_MS : MEMORY_HORIZON_MS;
  return {
    ...pick(given, KEPT_OPTIONS),
    source: sourceOf(given),
    isSettingsFunction: typeof given.settings === 'function',
    memory: memoryOf(given),
    policy: { ...pick(given, POLICY_NAMES), schedule: senderSchedule(given.schedule, horizonMs) },
    slots: { maxActiveRequests, maxWaitingRequests },
    leaseMs: leaseOf(given.leaseMs, deadlineMs),
    headers: requestHeaders(given),
    http,
  };
}

/** Shortest header deadline. A shorter `deadlineMs` ends the attempt before it. */
const HEADERS_MS = 15_000;
/** The part of a longer deadline that is left for the response body. */
const BODY_MS = 5000;

function httpOptionsOf({
  network,
  dispatcher,
  deadlineMs,
}: HttpOptions & { readonly deadlineMs: number }): HttpOptions {
  // The host's dispatcher chooses its addresses itself, so the network guard must be off (D77).
  if (dispatcher !== undefined && network !== 'delegated') {
    throw invalidOption("a dispatcher of your own needs network: 'delegated'", ['network']);
  }
  // A longer deadline gives the receiver more time before the headers; the body keeps its part (D76).
  const headersMs = Math.max(HEADERS_MS, deadlineMs - BODY_MS);
  return { network, dispatcher, deadlines: { headersMs, totalMs: deadlineMs } };
}

const MEMORY_OPTIONS = ['maxPendingBytes', 'maxPendingMessages', 'maxDeadBytes'] as const;

/** Refuses limits of the memory queue if another queue is given, which would ignore them. */
function memoryOf(given: OptionValues<typeof DELIVERY_OPTIONS>): MemoryQueueOptions {
  const names = MEMORY_OPTIONS.filter((name) => given[name] !== undefined);
  const [first] = names;
  if (given.queue !== undefined && first !== undefined) {
    throw invalidOption(`${first} only applies to the sender's own queue in memory`, [first]);
  }
  return pick(given, names);
}

/** A lease shorter than an attempt would allow two requests to one destination at a time (D75). */
function leaseOf(leaseMs: number | undefined, deadlineMs: number): number {
  if (leaseMs === undefined) return Math.max(60_000, 3 * deadlineMs);
  if (leaseMs > deadlineMs) return leaseMs;
  throw invalidOption(`expected leaseMs to be more than deadlineMs (${deadlineMs})`, ['leaseMs']);
}

interface Given extends OptionValues<Omit<typeof DESTINATION_OPTIONS, 'format'>> {
  readonly format: Format | undefined;
  readonly network: NetworkPolicy;
}

const ONE_DESTINATION_OPTIONS = Object.keys(DESTINATION_OPTIONS).filter(
  (name): name is keyof OneDestination => name !== 'settings',
);

/** Returns the settings without a check; `createSettings` reads them. */
function sourceOf(given: Given): SettingsSource {
  const { settings } = given;
  if (settings === undefined) return oneDestination(given);
  const extra = ONE_DESTINATION_OPTIONS.find((name) => given[name] !== undefined);
  if (extra === undefined) return settings;
  throw invalidOption(`${extra} belongs in settings when settings are given`, [extra]);
}

/** Checks everything now, not at the first message. */
function oneDestination(given: Given): SettingsSource {
  const { url, secret, application, tls, network } = given;
  const { maxRequestsPerSecond, maxMessagesPerSecond } = given;
  const { format = DESTINATION_OPTIONS.format.default } = given;
  checkLiteralAddress(parseWebhookUrl(url as string), network);
  checkSecret(secret);
  const named = readNamed(namedApplicationSchema(), application, format);
  const { id, ...names } = (named.ok ? named.value : undefined) ?? { id: undefined };
  const limits = { maxRequestsPerSecond, maxMessagesPerSecond };
  const destination = { ...NO_NAMES, ...names, url, secret, tls, format, ...limits };
  const read = readNamed(organisedApplicationSchema(keptTls()), destination);
  const issues = [
    ...issuesOf(named).map((issue) => ({ ...issue, path: ['application', ...issue.path] })),
    ...issuesOf(read),
  ];
  if (!read.ok || issues.length > 0) throw new SecurityEventError('ERR_INVALID_OPTION', { issues });
  const { value } = read;
  const find = (applicationId: string) =>
    id === undefined || id === applicationId ? value : undefined;
  // A check with each call would take a quarter of the time of accepting a message.
  return Object.assign(find, { [IS_CHECKED]: true });
}

const NO_NAMES = { name: '', environment: '' };

const issuesOf = (read: ReadSettings<unknown>): readonly InputIssue[] =>
  read.ok ? [] : read.issues;

/** Options of `sendWebhook` that are used as they are given. */
const KEPT_SEND_OPTIONS = ['format', 'dialect', 'maxBodyBytes', 'maxMessages', 'signal'] as const;

/** The options of a call of `sendWebhook` with their defaults, checked. */
export interface SendSettings
  extends Pick<OptionValues<typeof SEND_OPTIONS>, (typeof KEPT_SEND_OPTIONS)[number]> {
  readonly url: URL;
  readonly secret: string;
  readonly schedule: CompleteSchedule;
  readonly headers: Readonly<Record<string, string>>;
  readonly http: HttpOptions;
}

const { url: URL_RULE, secret: SECRET_RULE } = DESTINATION_OPTIONS;

/**
 * Checks everything but the messages.
 *
 * @throws SecurityEventError `ERR_INVALID_URL`, `ERR_INVALID_SECRET`, `ERR_ADDRESS_REFUSED` or `ERR_INVALID_OPTION`;
 * its `path` names what is at fault.
 */
export function readSendOptions(destination: unknown, options: unknown): SendSettings {
  const { url, secret } = check<WebhookDestination>(
    destination,
    { url: URL_RULE, secret: SECRET_RULE },
    { name: 'the destination', path: [] },
  );
  const given = readOptions(options ?? {}, SEND_OPTIONS);
  const http = httpOptionsOf(given);
  const parsedUrl = parseWebhookUrl(url as string);
  checkLiteralAddress(parsedUrl, http.network);
  return {
    ...pick(given, KEPT_SEND_OPTIONS),
    url: parsedUrl,
    secret: checkSecret(secret),
    schedule: directSchedule(given.schedule),
    headers: requestHeaders(given),
    http,
  };
}

const MAX_PAGE = 1000;

const DEADLINE = integer(0, MAX_TIMER_MS);

export const FLUSH_RULES: Rules<keyof FlushOptions> = { signal: SIGNAL, deadlineMs: DEADLINE };
export const CLOSE_RULES: Rules<keyof CloseOptions> = { deadlineMs: DEADLINE };
const DEAD_LETTER_RULES: Rules<keyof DeadLetterSelection> = {
  applicationId: TEXT,
  ids: listOf('strings', TEXT.isUsable),
};
export const QUERY_RULES: Rules<keyof DeadLetterQuery> = {
  ...DEAD_LETTER_RULES,
  limit: integer(1, MAX_PAGE),
  after: TEXT,
};

/**
 * Validates the application id of a call. It may be empty: that is the id of messages that name no application.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function readApplicationId(given: unknown): string {
  if (typeof given === 'string') return given;
  throw unusableOption(TEXT, ['applicationId']);
}

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function readMethodOptions<T>(given: unknown, rules: Rules<keyof T & string>): Partial<T> {
  return check<T>(given, rules, { name: 'the options', path: [] });
}

/**
 * Validates a selection of dead letters. A misspelled filter, or an id that is `undefined` by mistake, must not select
 * all of them.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the filter.
 */
export function readSelection(given: unknown): DeadLetterSelection {
  const selection = readMethodOptions<DeadLetterSelection>(given, DEAD_LETTER_RULES);
  const missing = Object.keys(selection).find((name) => Reflect.get(selection, name) === undefined);
  if (missing === undefined) return selection;
  throw invalidOption(`${missing} is undefined: omit it to select all`, [missing]);
}
