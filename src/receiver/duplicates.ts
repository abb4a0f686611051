/** Which messages were handled before: a sender that saw no answer sends again, by the same id (D21). */
import { createHash } from 'node:crypto';
import { check, integer } from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';

/** Where handled ids are kept. For several processes give one of your own, in what they share. */
export interface DuplicateStore {
  /** Those of the ids that were added before. */
  has(ids: readonly string[]): ReadonlySet<string> | Promise<ReadonlySet<string>>;
  /** They were handled. */
  add(ids: readonly string[]): void | Promise<void>;
}

/** In the memory of this process: it answers at once. */
export interface MemoryDuplicateStore extends DuplicateStore {
  has(ids: readonly string[]): ReadonlySet<string>;
  add(ids: readonly string[]): void;
}

export interface MemoryDuplicatesOptions {
  /** Those added longest ago are forgotten first. 1 to 10,000,000; default 100,000 (some 20 MB). */
  readonly maxIds?: number;
  /** How long an id is kept, in milliseconds. At least 1; default 7 days: senders retry for three. */
  readonly keptMs?: number;
}

const RULES = {
  maxIds: integer(1, 10_000_000),
  keptMs: integer(1, Number.MAX_SAFE_INTEGER),
};

const WEEK_MS = 7 * 86_400_000;

/**
 * A store of duplicates in the memory of this process: what a receiver has unless it is given one.
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

/** A longer id is kept as its digest: its length is the sender's to choose. */
const MAX_KEPT_LENGTH = 64;

const kept = (id: string): string =>
  id.length <= MAX_KEPT_LENGTH ? id : createHash('sha256').update(id).digest('base64');

class MemoryDuplicates implements MemoryDuplicateStore {
  /** When each was added; a map keeps the order of that. */
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
