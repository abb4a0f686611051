/** Remembers handled messages: a sender that got no response sends them again, with the same id. */
import { createHash } from 'node:crypto';
import { check, integer } from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';

/** Stores the ids of handled messages. For several processes, implement it with a shared database. */
export interface DuplicateStore {
  /** Returns the ids that were added before. */
  has(ids: readonly string[]): ReadonlySet<string> | Promise<ReadonlySet<string>>;
  /** Adds ids of handled messages. */
  add(ids: readonly string[]): void | Promise<void>;
}

/** Synchronous, in the memory of this process. */
export interface MemoryDuplicateStore extends DuplicateStore {
  has(ids: readonly string[]): ReadonlySet<string>;
  add(ids: readonly string[]): void;
}

export interface MemoryDuplicatesOptions {
  /** Maximum number of ids; the oldest are dropped first. 1 to 10,000,000; default 100,000 (about 20 MB). */
  readonly maxIds?: number;
  /** Time for which an id is kept, in milliseconds. At least 1; default 7 days: senders retry for three. */
  readonly keptMs?: number;
}

const RULES = {
  maxIds: integer(1, 10_000_000),
  keptMs: integer(1, Number.MAX_SAFE_INTEGER),
};

const WEEK_MS = 7 * 86_400_000;

/**
 * Creates a store of duplicates in the memory of this process, the default of a receiver.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryDuplicates(
  options: MemoryDuplicatesOptions = {},
): MemoryDuplicateStore {
  return makeMemoryDuplicates(options, systemClock);
}

export function makeMemoryDuplicates(
  options: MemoryDuplicatesOptions,
  clock: Pick<Clock, 'monotonicMs'>,
): MemoryDuplicateStore {
  const { maxIds = 100_000, keptMs = WEEK_MS } = check<MemoryDuplicatesOptions>(options, RULES);
  return new MemoryDuplicates(clock, maxIds, keptMs);
}

/** A longer id is stored as its digest, since senders control the length. */
const MAX_KEPT_LENGTH = 64;

const kept = (id: string): string =>
  id.length <= MAX_KEPT_LENGTH ? id : createHash('sha256').update(id).digest('base64');

class MemoryDuplicates implements MemoryDuplicateStore {
  /** When each was added, oldest first. */
  readonly #addedAtMs = new Map<string, number>();
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #maxIds: number;
  readonly #keptMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>, maxIds: number, keptMs: number) {
    this.#clock = clock;
    this.#maxIds = maxIds;
    this.#keptMs = keptMs;
  }

  has(ids: readonly string[]): ReadonlySet<string> {
    this.#forget();
    return new Set(ids.filter((id) => this.#addedAtMs.has(kept(id))));
  }

  add(ids: readonly string[]): void {
    const now = this.#clock.monotonicMs();
    for (const id of ids.map(kept)) {
      this.#addedAtMs.delete(id);
      this.#addedAtMs.set(id, now);
    }
    this.#forget();
  }

  #forget(): void {
    const oldestMs = this.#clock.monotonicMs() - this.#keptMs;
    for (const [id, addedAtMs] of this.#addedAtMs) {
      if (addedAtMs > oldestMs && this.#addedAtMs.size <= this.#maxIds) return;
      this.#addedAtMs.delete(id);
    }
  }
}
