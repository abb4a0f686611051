import { check, integer, invalidOption, type Rules, usable } from '../../option-rules.ts';

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
}

const MOST = Number.MAX_SAFE_INTEGER;

const RULES: Rules<keyof LevelQueueOptions> = {
  folder: usable('a path', (value) => typeof value === 'string' && value !== ''),
  sync: usable('true or false', (value) => typeof value === 'boolean'),
  maxPendingBytes: integer(1, MOST),
  maxPendingMessages: integer(1, MOST),
  maxDeadBytes: integer(0, MOST),
};

/** Throws ERR_INVALID_OPTION, whose `path` names the option. */
export function readLevelOptions(options: unknown): Required<LevelQueueOptions> {
  const given = check<LevelQueueOptions>(options, RULES);
  const { folder, sync = true } = given;
  if (folder === undefined) throw invalidOption('expected folder to be a path', ['folder']);
  const { maxPendingBytes = GIB, maxPendingMessages = 2_000_000 } = given;
  const { maxDeadBytes = 256 * MIB } = given;
  return { folder, sync, maxPendingBytes, maxPendingMessages, maxDeadBytes };
}
