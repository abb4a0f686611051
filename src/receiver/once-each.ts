/** Hands each message on once, also where it comes again while it is being handled. */
import type { DuplicateStore } from './duplicates.ts';
import type { ReceivedMessage } from './parse-body.ts';

export class OnceEach {
  readonly #store: DuplicateStore;
  /** Ids that are being handled, with what resolves when that is over; it never rejects. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(store: DuplicateStore) {
    this.#store = store;
  }

  /**
   * Resolves to how many came before. Where `handle` or the store fails it rejects, and the messages
   * are new the next time.
   */
  async run(
    messages: readonly ReceivedMessage[],
    handle: (messages: readonly ReceivedMessage[]) => unknown,
  ): Promise<number> {
    const ids = [...new Set(messages.flatMap(({ id }) => id ?? []))];
    // A sender that waited too long sends again: whether that is a duplicate, the first handling shows.
    for (let others = this.#others(ids); others.length > 0; others = this.#others(ids)) {
      await Promise.all(others);
    }
    // No turn passes between having looked and holding them.
    return await this.#holding(ids, async () => {
      const isNew = newcomers(ids, await this.#store.has(ids));
      const news = messages.filter(({ id }) => id === null || isNew.delete(id));
      if (news.length > 0) {
        await handle(news);
        await this.#store.add(news.flatMap(({ id }) => id ?? []));
      }
      return messages.length - news.length;
    });
  }

  #others(ids: readonly string[]): Promise<void>[] {
    return ids.flatMap((id) => this.#underWay.get(id) ?? []);
  }

  async #holding<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    const running = work();
    const ended = running.then(nothing, nothing);
    for (const id of ids) this.#underWay.set(id, ended);
    try {
      return await running;
    } finally {
      for (const id of ids) this.#underWay.delete(id);
    }
  }
}

const nothing = (): void => {};

const newcomers = (ids: readonly string[], known: ReadonlySet<string>): Set<string> =>
  new Set(ids.filter((id) => !known.has(id)));
