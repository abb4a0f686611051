import { resolve } from 'node:path';
import {
  A_FUNCTION,
  check,
  integer,
  invalidOption,
  type Rules,
  usable,
} from '../../option-rules.ts';
import type { LostMessages } from './protocol.ts';
import type { IncidentLimits } from './worker/incidents.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const DAY_MS = 86_400_000;

export interface SqliteQueueOptions {
  /**
   * Path of the database, on a local disk. Created when it is missing (mode 0600), and so is its folder
   * (mode 0700). Any number of processes of the machine can share it.
   */
  readonly file: string;
  /**
   * Whether a call resolves only once its changes are on the disk, so that accepted messages survive
   * power loss. Default `true`. With `false` they survive the end of the process only.
   */
  readonly sync?: boolean;
  /**
   * Maximum size of the waiting messages, in bytes of their request bodies. The file is up to twice as
   * large. `enqueue` rejects more with `ERR_QUEUE_FULL`. A positive integer; default 1073741824 (1 GiB).
   */
  readonly maxPendingBytes?: number;
  /** Maximum number of waiting messages. A positive integer; default 2000000. */
  readonly maxPendingMessages?: number;
  /**
   * Maximum size of the dead letters, counted in the same way. The oldest are discarded as `evicted`.
   * An integer from 0, which keeps none; default 268435456 (256 MiB).
   */
  readonly maxDeadBytes?: number;
  /**
   * Called when the queue finds that its file was damaged. What it throws is ignored. Default: only the
   * diagnostics event `security-event-delivery:queue-damaged`.
   */
  readonly onDamage?: (damage: SqliteQueueDamage) => void;
}

/** Damage that the queue found in its file. It has counts and ids of applications, no content. */
export interface SqliteQueueDamage {
  /** The file's real path. */
  readonly file: string;
  /**
   * `rows`: the stored form of messages is damaged. They are not sent, count as discarded (`lost`), and
   * are kept in the table `damaged_message`; or the row of an application was damaged, and is repaired.
   * `rolled-back`: commits are gone. The write-ahead log was removed after a process was killed, an
   * older copy was put back, or, with `sync: false`, power was lost.
   */
  readonly kind: 'rows' | 'rolled-back';
  /** Number of messages lost, by application; empty for `rolled-back`. */
  readonly applications: readonly LostMessages[];
  /** Number of sequences that were given to messages of which nothing is known. 0 for `rows`. */
  readonly missingSequences: number;
}

/** The options with their defaults. `file` is absolute. */
export interface SqliteSettings {
  readonly file: string;
  readonly sync: boolean;
  readonly bounds: {
    readonly maxPendingBytes: number;
    readonly maxPendingMessages: number;
    readonly maxDeadBytes: number;
  };
  readonly onDamage: SqliteQueueOptions['onDamage'];
}

export interface SqliteIncidentsOptions {
  /** Path of the database, which may be a queue's. Created when it is missing. */
  readonly file: string;
  /** Maximum number of incidents. Those reported longest ago go. 1 to 10,000,000; default 100,000. */
  readonly maxIncidents?: number;
  /** Maximum number of addresses and accounts of all incidents. 1 to 100,000,000; default 1,000,000. */
  readonly maxNames?: number;
  /** Time for which an incident is kept after its last report, in milliseconds. Default 30 days. */
  readonly keptMs?: number;
}

const MOST = Number.MAX_SAFE_INTEGER;
const A_PATH = usable('a path', (value) => typeof value === 'string' && value !== '');

const QUEUE_RULES: Rules<keyof SqliteQueueOptions> = {
  file: A_PATH,
  sync: usable('true or false', (value) => typeof value === 'boolean'),
  maxPendingBytes: integer(1, MOST),
  maxPendingMessages: integer(1, MOST),
  maxDeadBytes: integer(0, MOST),
  onDamage: A_FUNCTION,
};

const INCIDENT_RULES: Rules<keyof SqliteIncidentsOptions> = {
  file: A_PATH,
  maxIncidents: integer(1, 10_000_000),
  maxNames: integer(1, 100_000_000),
  keptMs: integer(1, MOST),
};

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option */
export function readQueueOptions(options: unknown): SqliteSettings {
  const given = check<SqliteQueueOptions>(options, QUEUE_RULES);
  const { sync = true, maxPendingBytes = GIB, maxPendingMessages = 2_000_000 } = given;
  const { maxDeadBytes = 256 * MIB, onDamage } = given;
  const bounds = { maxPendingBytes, maxPendingMessages, maxDeadBytes };
  return { file: pathOf(given.file), sync, bounds, onDamage };
}

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option */
export function readIncidentsOptions(options: unknown): {
  readonly file: string;
  readonly limits: IncidentLimits;
} {
  const given = check<SqliteIncidentsOptions>(options, INCIDENT_RULES);
  const { maxIncidents = 100_000, maxNames = 1_000_000, keptMs = 30 * DAY_MS } = given;
  return { file: pathOf(given.file), limits: { maxIncidents, maxNames, keptMs } };
}

/** A relative path means the folder in which the process is now. */
function pathOf(file: string | undefined): string {
  if (file === undefined) throw invalidOption('expected file to be a path', ['file']);
  return resolve(file);
}
