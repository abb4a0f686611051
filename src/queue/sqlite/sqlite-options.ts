import { resolve } from 'node:path';
import { INCIDENT_LIMITS, type IncidentLimits } from '../../incident/incident-store.ts';
import {
  A_FUNCTION,
  integer,
  type OptionsOf,
  type OptionValues,
  oneOf,
  option,
  optional,
  type RequiredOptions,
  readOptions,
  required,
  usable,
} from '../../option-rules.ts';

const MIB = 1024 * 1024;
const MAX = Number.MAX_SAFE_INTEGER;
/** `:memory:` is SQLite's name for a database that ends with the process. */
const A_PATH = usable(
  'a path (not :memory:)',
  (value) => typeof value === 'string' && value !== '' && value !== ':memory:',
);

/** Damage that the queue found in its file. Contains counts and ids of applications, but no content. */
export interface SqliteQueueDamage {
  /** The file's real path. */
  readonly file: string;
  /**
   * `rows`: rows are damaged. Damaged messages are not sent, count as discarded (`damaged`), and are kept in the
   * table `damaged_message`. Damaged rows of applications are repaired.
   * `rolled-back`: commits are lost. The write-ahead log was removed after a process was killed, an older copy of
   * the file was restored, or, with `sync: false`, there was a power loss.
   */
  readonly kind: 'rows' | 'rolled-back';
  /** Number of damaged messages, by application; empty for `rolled-back`. */
  readonly applications: readonly { readonly applicationId: string; readonly messages: number }[];
  /** Number of sequences that messages of the lost commits had. 0 for `rows`. */
  readonly missingSequences: number;
}

const QUEUE_OPTIONS = {
  /**
   * Path of the database, on a local disk. Created when it is missing (mode 0600), and so is its folder
   * (mode 0700). Any number of processes of the machine can share it.
   */
  file: required<string>(A_PATH),
  /**
   * Whether a call resolves only once its changes are on the disk, so that accepted messages survive
   * power loss. Default `true`. With `false` they survive the end of the process only.
   */
  sync: option<boolean>(oneOf(true, false), true),
  /**
   * Maximum size of the pending messages (waiting or claimed), in bytes of their request bodies. The file is up to twice as
   * large. `enqueue` rejects more with `ERR_QUEUE_FULL`. A positive integer; default 1073741824 (1 GiB).
   */
  maxPendingBytes: option(integer(1, MAX), 1024 * MIB),
  /** Maximum number of pending messages. A positive integer; default 2000000. */
  maxPendingMessages: option(integer(1, MAX), 2_000_000),
  /**
   * Maximum size of the dead letters, in bytes of their request bodies. The oldest are discarded as `evicted`.
   * An integer from 0, which keeps none; default 268435456 (256 MiB).
   */
  maxDeadBytes: option(integer(0, MAX), 256 * MIB),
  /**
   * Called when the queue finds that its file was damaged. Its errors are ignored. Default: only the
   * diagnostics event `security-event-delivery:queue-damaged`.
   */
  onDamage: optional<(damage: SqliteQueueDamage) => void>(A_FUNCTION),
};

const INCIDENT_OPTIONS = {
  /** Path of the database, which may be a queue's. Created when it is missing. */
  file: required<string>(A_PATH),
  ...INCIDENT_LIMITS,
};

type QueueOptions = OptionsOf<typeof QUEUE_OPTIONS>;
type IncidentOptions = OptionsOf<typeof INCIDENT_OPTIONS>;

export interface SqliteQueueOptions
  extends RequiredOptions<QueueOptions, 'file'>,
    Omit<QueueOptions, 'file'> {}

export interface SqliteIncidentsOptions
  extends RequiredOptions<IncidentOptions, 'file'>,
    Omit<IncidentOptions, 'file'> {}

/** The options with their defaults. `file` is absolute. */
export type SqliteSettings = OptionValues<typeof QUEUE_OPTIONS>;

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option */
export function readQueueOptions(options: unknown): SqliteSettings {
  const settings = readOptions(options, QUEUE_OPTIONS);
  return { ...settings, file: resolve(settings.file) };
}

export interface IncidentSettings {
  /** Absolute. */
  readonly file: string;
  readonly limits: IncidentLimits;
}

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option */
export function readIncidentsOptions(options: unknown): IncidentSettings {
  const { file, ...limits } = readOptions(options, INCIDENT_OPTIONS);
  return { file: resolve(file), limits };
}
