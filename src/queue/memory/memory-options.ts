import { SecurityEventError } from '../../errors.ts';

const MIB = 1024 * 1024;

export interface MemoryQueueOptions {
  /**
   * How much may wait, in bytes as they are sent (each message some 250 bytes beside it); past it
   * `enqueue` rejects with `ERR_QUEUE_FULL`. It lies in V8's heap, whose limit has to allow for it.
   * A positive integer; default 67108864 (64 MiB).
   */
  readonly maxPendingBytes?: number;
  /** How many messages may wait. A positive integer; default 100000. */
  readonly maxPendingMessages?: number;
  /**
   * How much of dead letters is kept, counted likewise: past it the oldest are discarded as
   * `evicted`. An integer from 0, which keeps none; default 16777216 (16 MiB).
   */
  readonly maxDeadBytes?: number;
}

interface Rule {
  readonly min: number;
  readonly byDefault: number;
}

const RULES: Readonly<Record<keyof MemoryQueueOptions, Rule>> = {
  maxPendingBytes: { min: 1, byDefault: 64 * MIB },
  maxPendingMessages: { min: 1, byDefault: 100_000 },
  maxDeadBytes: { min: 0, byDefault: 16 * MIB },
};

/** Throws ERR_INVALID_OPTION, whose `path` names the option. */
export function readMemoryOptions(options: unknown): Required<MemoryQueueOptions> {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refusal('expected the options to be an object', []);
  }
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(RULES, key));
  if (unknown !== undefined) {
    throw refusal(`unknown key ${JSON.stringify(unknown)} in the options`, [unknown]);
  }
  return {
    maxPendingBytes: read(options, 'maxPendingBytes'),
    maxPendingMessages: read(options, 'maxPendingMessages'),
    maxDeadBytes: read(options, 'maxDeadBytes'),
  };
}

/** What an attack put on Object.prototype must not become an option. */
function read(options: MemoryQueueOptions, name: keyof MemoryQueueOptions): number {
  const { min, byDefault } = RULES[name];
  const value: unknown = Object.hasOwn(options, name) ? options[name] : undefined;
  if (value === undefined) return byDefault;
  if (Number.isSafeInteger(value) && (value as number) >= min) return value as number;
  throw refusal(`expected ${name} to be an integer of at least ${min}`, [name]);
}

const refusal = (detail: string, path: readonly string[]): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
