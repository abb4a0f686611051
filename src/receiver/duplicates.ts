/** Remembers handled messages: a sender that got no response sends them again, with the same id. */
import { createHash } from 'node:crypto';
import { integer, invalidOption, type OptionsOf, option, readOptions } from '../option-rules.ts';
import { hasMethods } from '../own-properties.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { ReceivedMessage } from './parse-body.ts';

/** Stores the ids of handled messages. For several processes, implement it with a shared database. */
export interface DuplicateStore {
  /** Returns those of `ids`, at least one, that were added before. */
  has(ids: readonly string[]): ReadonlySet<string> | Promise<ReadonlySet<string>>;
  /** Adds ids of handled messages, at least one. */
  add(ids: readonly string[]): void | Promise<void>;
}

/** Synchronous, in the memory of this process. */
export interface MemoryDuplicateStore extends DuplicateStore {
  has(ids: readonly string[]): ReadonlySet<string>;
  add(ids: readonly string[]): void;
}

const OPTIONS = {
  /** Maximum number of ids; the oldest are dropped first. 1 to 10,000,000; default 100,000 (about 20 MB). */
  maxIds: option<number>(integer(1, 10_000_000), 100_000),
  /** Time for which an id is kept, in milliseconds. At least 1; default 7 days: senders retry for three. */
  retentionMs: option<number>(integer(1, Number.MAX_SAFE_INTEGER), 7 * 86_400_000),
} as const;

export interface MemoryDuplicatesOptions extends OptionsOf<typeof OPTIONS> {}

/** A longer id is stored as its digest, since senders control the length. */
const MAX_KEPT_LENGTH = 64;

const storedKey = (id: string): string =>
  id.length <= MAX_KEPT_LENGTH ? id : createHash('sha256').update(id).digest('base64');

/**
 * Creates a store of duplicates in the memory of this process, the default of a receiver. The last argument
 * is for tests.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createMemoryDuplicates(
  options: MemoryDuplicatesOptions = {},
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): MemoryDuplicateStore {
  const { maxIds, retentionMs } = readOptions(options, OPTIONS);
  /** When each was added, oldest first. */
  const addedAtMs = new Map<string, number>();
  const forget = (now: number): void => {
    for (const [id, atMs] of addedAtMs) {
      if (atMs > now - retentionMs && addedAtMs.size <= maxIds) return;
      addedAtMs.delete(id);
    }
  };
  return {
    has: (ids) => {
      forget(clock.monotonicMs());
      return new Set(ids.filter((id) => addedAtMs.has(storedKey(id))));
    },
    add: (ids) => {
      const now = clock.monotonicMs();
      for (const id of ids.map(storedKey)) {
        addedAtMs.delete(id);
        addedAtMs.set(id, now);
      }
      forget(now);
    },
  };
}

/** Passes each message on once. A duplicate waits until the original is handled. */
export class Deduplicator {
  readonly #store: DuplicateStore;
  /** Ids that are being handled, with a promise of the end, which never rejects. */
  readonly #inProgress = new Map<string, Promise<unknown>>();

  constructor(store: DuplicateStore) {
    this.#store = store;
  }

  /**
   * Resolves to the number of duplicates. Rejects if `handle` or the store fails; then the sender's
   * retry counts as new.
   */
  async run(
    messages: readonly ReceivedMessage[],
    handle: (messages: readonly ReceivedMessage[]) => unknown,
  ): Promise<number> {
    const ids = [...new Set(messages.flatMap(({ id }) => id ?? []))];
    if (ids.length === 0) {
      await handle(messages);
      return 0;
    }
    // A message that is sent again while it is being handled is a duplicate only if that succeeds.
    while (ids.some((id) => this.#inProgress.has(id))) {
      await Promise.all(ids.flatMap((id) => this.#inProgress.get(id) ?? []));
    }
    // Synchronously after the check, so that no other call can begin with the same ids.
    return await this.#mark(ids, async () => {
      const known = await this.#store.has(ids);
      if (!hasMethods(known, 'has')) {
        throw invalidOption('expected duplicates.has to return a Set of ids', ['duplicates']);
      }
      const newIds = ids.filter((id) => !known.has(id));
      const left = new Set(newIds);
      // `delete` returns true once for each id: a repeated id in the same request is a duplicate.
      const fresh = messages.filter(({ id }) => id === null || left.delete(id));
      if (fresh.length > 0) await handle(fresh);
      if (newIds.length > 0) await this.#store.add(newIds);
      return messages.length - fresh.length;
    });
  }

  /** Marks the ids as in progress until `work` ends. */
  async #mark<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    const running = work();
    const ended = Promise.allSettled([running]);
    for (const id of ids) this.#inProgress.set(id, ended);
    try {
      return await running;
    } finally {
      for (const id of ids) this.#inProgress.delete(id);
    }
  }
}
