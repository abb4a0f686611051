/** The options of a sender, checked before anything is made, with their defaults. */
import type { Dialect } from '../contract/index.ts';
import { check, invalidOption, type Rule } from '../option-rules.ts';
import type { MemoryQueueOptions } from '../queue/memory.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { SettingsSource } from '../settings/source.ts';
import { checkDispatcher, DEFAULT_DEADLINE_MS, deadlinesOf } from '../webhook/common-options.ts';
import type { PosterOptions } from '../webhook/http/client.ts';
import { requestHeaders } from '../webhook/request-headers.ts';
import { DESTINATION_OPTION_TABLE, SENDER_OPTION_TABLE } from './option-table.ts';
import type { DeliveryOptions, ManyDestinations, OneDestination, SenderRole } from './options.ts';
import { sourceOf } from './read-destination.ts';
import {
  DEFAULT_POLICY,
  type DeliveryPolicy,
  DURABLE_HORIZON_MS,
  engineSchedule,
  MEMORY_HORIZON_MS,
} from './retry-policy.ts';

type AllOptions = DeliveryOptions<Dialect> & Partial<OneDestination> & Partial<ManyDestinations>;

const ALL_RULES = Object.fromEntries(
  Object.entries({ ...DESTINATION_OPTION_TABLE, ...SENDER_OPTION_TABLE }).map(([name, row]) => [
    name,
    row.rule,
  ]),
) as Readonly<Record<keyof AllOptions, Rule>>;

const MEMORY_OPTIONS = ['maxPendingBytes', 'maxPendingMessages', 'maxDeadBytes'] as const;

/** Options with their defaults, checked. */
export interface SenderSettings {
  readonly source: SettingsSource;
  /** Whether that is the host's own function, which may not answer. */
  readonly isAsked: boolean;
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
  readonly deadlineMs: number;
  readonly upkeepMs: number;
  readonly stalledAfterMs: number;
  readonly flushBeforeExitMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly wire: Pick<PosterOptions, 'network' | 'dispatcher' | 'deadlines'>;
}

/**
 * @throws SecurityEventError `ERR_INVALID_OPTION`, `ERR_INVALID_URL`, `ERR_ADDRESS_REFUSED` or
 * `ERR_INVALID_SECRET`; its `path` names what is at fault.
 */
export function readSenderOptions(options: unknown): SenderSettings {
  const given = check<AllOptions>(options, ALL_RULES, { name: 'the options', path: [] });
  const { role = 'both', network = 'public', queue } = given;
  const { deadlineMs = DEFAULT_DEADLINE_MS } = given;
  checkDispatcher(given.dispatcher, network);
  if (queue === undefined && role !== 'both') {
    throw invalidOption(`role: '${role}' needs a queue that processes share`, ['queue']);
  }
  return {
    source: sourceOf(given),
    isAsked: typeof given.settings === 'function',
    queue,
    memory: memoryOf(given),
    role,
    dialect: given.dialect ?? 'strict',
    v1Aliases: given.v1Aliases ?? false,
    lingerMs: given.lingerMs ?? 0,
    policy: policyOf(given),
    slots: { healthySlots: given.healthySlots ?? 64, failingSlots: given.failingSlots ?? 256 },
    lateHeadersMs: given.lateHeadersMs ?? 2000,
    leaseMs: leaseOf(given.leaseMs, deadlineMs),
    deadlineMs,
    upkeepMs: given.upkeepMs ?? 60_000,
    stalledAfterMs: given.stalledAfterMs ?? 60_000,
    flushBeforeExitMs: given.flushBeforeExitMs ?? 0,
    headers: requestHeaders(given),
    wire: { network, dispatcher: given.dispatcher, deadlines: deadlinesOf(deadlineMs) },
  };
}

/** A bound that is not kept would be worse than none. */
function memoryOf(given: Partial<AllOptions>): MemoryQueueOptions {
  const names = MEMORY_OPTIONS.filter((name) => given[name] !== undefined);
  const [first] = names;
  if (given.queue !== undefined && first !== undefined) {
    throw invalidOption(`${first} is of the queue in memory; your queue has its own`, [first]);
  }
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}

/** Two attempts of one message at a time would be two requests to one destination (D75). */
function leaseOf(leaseMs: number | undefined, deadlineMs: number): number {
  if (leaseMs === undefined) return Math.max(60_000, 3 * deadlineMs);
  if (leaseMs > deadlineMs) return leaseMs;
  throw invalidOption(`expected leaseMs to be more than deadlineMs (${deadlineMs})`, ['leaseMs']);
}

function policyOf(given: Partial<AllOptions>): DeliveryPolicy {
  const isDurable = given.queue !== undefined && given.queue.durability !== 'memory';
  const horizonMs = isDurable ? DURABLE_HORIZON_MS : MEMORY_HORIZON_MS;
  const numbers = Object.keys(DEFAULT_POLICY)
    .filter((name) => name !== 'schedule')
    .map((name) => [name, given[name as Exclude<keyof DeliveryPolicy, 'schedule'>]] as const)
    .filter(([, value]) => value !== undefined);
  return {
    ...DEFAULT_POLICY,
    ...Object.fromEntries(numbers),
    schedule: engineSchedule(given.schedule, horizonMs),
  };
}
