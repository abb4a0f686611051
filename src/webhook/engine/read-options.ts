/** The options of a sender, checked before anything is made, with their defaults. */
import type { Dialect } from '../../contract/index.ts';
import type { MemoryQueueOptions } from '../../queue/memory.ts';
import type { MessageQueue } from '../../queue/queue.ts';
import type { SettingsSource } from '../../settings/source.ts';
import { checkDispatcher, checkSchedule, deadlinesOf } from '../common-options.ts';
import { ANYTHING, check, invalidOption, type Rule } from '../option-rules.ts';
import { requestHeaders } from '../request-headers.ts';
import { checkSecret } from '../signature.ts';
import type { PosterOptions } from '../wire/post.ts';
import { parseWebhookUrl } from '../wire/webhook-url.ts';
import { SENDER_OPTION_TABLE } from './option-table.ts';
import type { DeliveryOptions, ManyDestinations, OneDestination, SenderRole } from './options.ts';
import {
  DEFAULT_POLICY,
  type DeliveryPolicy,
  DURABLE_HORIZON_MS,
  MEMORY_HORIZON_MS,
} from './policy.ts';

const DESTINATION_OPTIONS = ['url', 'secret', 'application', 'format', 'tls', 'settings'] as const;

type AllOptions = DeliveryOptions<Dialect> & Partial<OneDestination> & Partial<ManyDestinations>;

const ALL_RULES = {
  ...Object.fromEntries(Object.entries(SENDER_OPTION_TABLE).map(([name, row]) => [name, row.rule])),
  // Each has a check of its own.
  ...Object.fromEntries(DESTINATION_OPTIONS.map((name) => [name, ANYTHING])),
} as unknown as Readonly<Record<keyof AllOptions, Rule>>;

/** Options with their defaults, checked. */
export interface SenderSettings {
  readonly source: SettingsSource;
  readonly queue: MessageQueue | undefined;
  readonly memory: MemoryQueueOptions;
  readonly role: SenderRole;
  readonly dialect: Dialect;
  readonly v1Aliases: boolean;
  readonly lingerMs: number;
  readonly policy: DeliveryPolicy;
  readonly slots: { readonly healthySlots: number; readonly failingSlots: number };
  readonly lateHeadersMs: number;
  readonly leaseMs: number;
  readonly upkeepMs: number;
  readonly stalledAfterMs: number;
  readonly flushBeforeExitMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly wire: Pick<PosterOptions, 'network' | 'dispatcher' | 'deadlines'>;
}

/**
 * @throws SecurityEventError `ERR_INVALID_OPTION`, `ERR_INVALID_URL` or `ERR_INVALID_SECRET`; its
 * `path` names what is at fault.
 */
export function readSenderOptions(options: unknown): SenderSettings {
  const given = check<AllOptions>(options, ALL_RULES, { name: 'the options', path: [] });
  const network = given.network ?? 'public';
  checkDispatcher(given.dispatcher, network);
  const deadlines = deadlinesOf(given.deadlineMs);
  const { maxPendingBytes, maxPendingMessages, maxDeadBytes } = given;
  return {
    source: sourceOf(given),
    queue: given.queue,
    memory: withoutUndefined({ maxPendingBytes, maxPendingMessages, maxDeadBytes }),
    role: given.role ?? 'both',
    dialect: given.dialect ?? 'strict',
    v1Aliases: given.v1Aliases ?? false,
    lingerMs: given.lingerMs ?? 0,
    policy: policyOf(given),
    slots: { healthySlots: given.healthySlots ?? 64, failingSlots: given.failingSlots ?? 256 },
    lateHeadersMs: given.lateHeadersMs ?? 2000,
    leaseMs: given.leaseMs ?? Math.max(60_000, 3 * (deadlines.totalMs ?? 0)),
    upkeepMs: given.upkeepMs ?? 60_000,
    stalledAfterMs: given.stalledAfterMs ?? 60_000,
    flushBeforeExitMs: given.flushBeforeExitMs ?? 0,
    headers: requestHeaders(given),
    wire: { network, dispatcher: given.dispatcher, deadlines },
  };
}

function policyOf(given: Partial<AllOptions>): DeliveryPolicy {
  const { delaysMs, repeatLast, ...rest } = checkSchedule(given.schedule);
  const isDurable = given.queue !== undefined && given.queue.durability !== 'memory';
  const schedule = {
    delaysMs: delaysMs ?? DEFAULT_POLICY.schedule.delaysMs,
    // A schedule of one's own ends where it ends.
    repeatLast: repeatLast ?? delaysMs === undefined,
    horizonMs: isDurable ? DURABLE_HORIZON_MS : MEMORY_HORIZON_MS,
    ...withoutUndefined(rest),
  };
  const numbers = Object.keys(DEFAULT_POLICY).filter((name) => name !== 'schedule');
  const own = numbers.map(
    (name) => [name, given[name as Exclude<keyof DeliveryPolicy, 'schedule'>]] as const,
  );
  return { ...DEFAULT_POLICY, ...withoutUndefined(Object.fromEntries(own)), schedule };
}

function sourceOf(given: Partial<AllOptions>): SettingsSource {
  const { settings, url, secret, application, format = 2, tls } = given;
  if (settings !== undefined) {
    const extra = DESTINATION_OPTIONS.find(
      (name) => name !== 'settings' && given[name] !== undefined,
    );
    if (extra === undefined) return settings;
    throw invalidOption(`${extra} belongs into settings where settings are given`, [extra]);
  }
  // Their own errors, and now: not at the first message.
  parseWebhookUrl(url as string);
  checkSecret(secret);
  const destination = {
    ...withoutUndefined({ tls }),
    url: url as string,
    secret: secret as string,
  };
  if (application === undefined)
    return () => ({ name: '', environment: '', ...destination, format });
  const { id, ...names } = application;
  return { format, applications: { [id]: { ...names, ...destination } } };
}

function withoutUndefined<T extends object>(
  given: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
