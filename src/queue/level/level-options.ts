import {
  A_FUNCTION,
  check,
  integer,
  invalidOption,
  type Rules,
  usable,
} from '../../option-rules.ts';
import type { QueueDamage } from './damage.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export interface LevelQueueOptions {
  /**
   * Where the messages lie; made where it is not there, for its owner only (mode 0700). A local disk,
   * not a network file system. Each process needs a folder of its own.
   */
  readonly folder: string;
  /**
   * Whether a write is on the disk before it counts (`fdatasync`), so that accepted messages survive
   * power loss. Default `true`. With `false` they survive the end of the process, and no more.
   */
  readonly sync?: boolean;
  /**
   * How much may wait, in bytes as they are sent; on the disk it is up to twice as much. Past it `enqueue`
   * rejects with `ERR_QUEUE_FULL`. A positive integer; default 1073741824 (1 GiB).
   */
  readonly maxPendingBytes?: number;
  /** How many messages may wait. A positive integer; default 2000000. */
  readonly maxPendingMessages?: number;
  /**
   * How much of dead letters is kept, counted likewise: past it the oldest are discarded as
   * `evicted`. An integer from 0, which keeps none; default 268435456 (256 MiB).
   */
  readonly maxDeadBytes?: number;
  /**
   * Told where the folder turned out to be damaged, once what is intact is in order again: what was
   * noticed, and how many messages of which applications are gone. It hears of each damage once; what it
   * throws is ignored. Default: a diagnostics event alone, `security-event-delivery:queue-damaged`.
   */
  readonly onDamage?: (damage: QueueDamage) => void;
}

/** With its defaults. */
export type LevelSettings = Required<Omit<LevelQueueOptions, 'onDamage'>> &
  Pick<LevelQueueOptions, 'onDamage'>;

const MOST = Number.MAX_SAFE_INTEGER;

const RULES: Rules<keyof LevelQueueOptions> = {
  folder: usable('a path', (value) => typeof value === 'string' && value !== ''),
  sync: usable('true or false', (value) => typeof value === 'boolean'),
  maxPendingBytes: integer(1, MOST),
  maxPendingMessages: integer(1, MOST),
  maxDeadBytes: integer(0, MOST),
  onDamage: A_FUNCTION,
};

/** Throws ERR_INVALID_OPTION, whose `path` names the option. */
export function readLevelOptions(options: unknown): LevelSettings {
  const given = check<LevelQueueOptions>(options, RULES);
  const { folder, sync = true } = given;
  if (folder === undefined) throw invalidOption('expected folder to be a path', ['folder']);
  const { maxPendingBytes = GIB, maxPendingMessages = 2_000_000 } = given;
  const { maxDeadBytes = 256 * MIB, onDamage } = given;
  const told = onDamage === undefined ? {} : { onDamage };
  return { folder, sync, maxPendingBytes, maxPendingMessages, maxDeadBytes, ...told };
}
