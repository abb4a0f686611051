/** Passes each message on once. A duplicate waits until the original is handled. */
import type { DuplicateStore } from './duplicates.ts';
import type { ReceivedMessage } from './parse-body.ts';

export class Deduplicator {
  readonly #store: DuplicateStore;
  /** Ids that are being handled, with a promise of the end, which never rejects. */
  readonly #inProgress = new Map<string, Promise<void>>();

  constructor(store: DuplicateStore) {
    this.#store = store;
  }

  /**
   * Resolves to the number of duplicates. Rejects if `handle` or the store fails; then the messages are new
   * the next time.
   */
  async run(
    messages: readonly ReceivedMessage[],
    handle: (messages: readonly ReceivedMessage[]) => unknown,
  ): Promise<number> {
    const ids = [...new Set(messages.flatMap(({ id }) => id ?? []))];
    // A message that is sent again while it is being handled is a duplicate only if that succeeds.
    for (let others = this.#others(ids); others.length > 0; others = this.#others(ids)) {
      await Promise.all(others);
    }
    // Synchronously after the check, so that no other call can begin with the same ids.
    return await this.#mark(ids, async () => {
      const known = await this.#store.has(ids);
      const isNew = new Set(ids.filter((id) => !known.has(id)));
      const fresh = messages.filter(({ id }) => id === null || isNew.delete(id));
      if (fresh.length > 0) {
        await handle(fresh);
        await this.#store.add(fresh.flatMap(({ id }) => id ?? []));
      }
      return messages.length - fresh.length;
    });
  }

  #others(ids: readonly string[]): Promise<void>[] {
    return ids.flatMap((id) => this.#inProgress.get(id) ?? []);
  }

  /** Marks the ids as in progress until `work` ends. */
  async #mark<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    const running = work();
    const ended = running.then(ignore, ignore);
    for (const id of ids) this.#inProgress.set(id, ended);
    try {
      return await running;
    } finally {
      for (const id of ids) this.#inProgress.delete(id);
    }
  }
}

const ignore = (): void => {};
