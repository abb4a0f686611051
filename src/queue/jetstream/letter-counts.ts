/**
 * How many dead letters each application has. Each has a subject of its own, and the server lists them all in
 * seconds where there are a hundred thousand: they are listed once, and then only what has come since is read.
 */
import { tokenIn } from './letter-code.ts';
import { listed, type Surrounding } from './reading.ts';
import type { Session } from './session.ts';

/** More than so many new ones are not read one by one. */
const MAX_READ = 5000;

/** What the stream holds. */
interface Held {
  readonly messages: number;
  readonly lastSequence: number;
}

interface Counted extends Held {
  readonly counts: ReadonlyMap<string, number>;
}

export class LetterCounts {
  readonly #session: Session;
  readonly #surrounding: () => Surrounding;
  #counted: Counted | undefined;

  constructor(session: Session, surrounding: () => Surrounding) {
    this.#session = session;
    this.#surrounding = surrounding;
  }

  /** By token. */
  async read(): Promise<ReadonlyMap<string, number>> {
    const { store, names } = this.#session;
    const counted = this.#counted;
    const { messages, last_seq: lastSequence } = await store.state(names.dead);
    const now = { messages, lastSequence };
    const grown = counted && (await this.#grown(counted, now));
    this.#counted = grown ?? (await this.#listed(now));
    return this.#counted.counts;
  }

  /**
   * Sequences are never given twice, so that as many more messages as there are more sequences are these alone, and
   * nothing was removed. `undefined`: something was, or there are too many.
   */
  async #grown(counted: Counted, now: Held): Promise<Counted | undefined> {
    const added = now.lastSequence - counted.lastSequence;
    if (added < 0 || added > MAX_READ || now.messages - counted.messages !== added)
      return undefined;
    if (added === 0) return counted;
    const { names } = this.#session;
    const found = await listed(this.#session, this.#surrounding(), {
      stream: names.dead,
      subjects: names.deadSubjects,
      after: counted.lastSequence,
      limit: added,
      headersOnly: true,
    });
    // Some were removed since.
    if (found.length !== added || found.at(-1)?.sequence !== now.lastSequence) return undefined;
    const counts = new Map(counted.counts);
    for (const { subject } of found) add(counts, subject, 1);
    return { ...now, counts };
  }

  async #listed(before: Held): Promise<Counted> {
    const { store, names } = this.#session;
    const state = await store.state(names.dead, names.deadSubjects);
    const counts = new Map<string, number>();
    for (const [subject, count] of Object.entries(state.subjects ?? {}))
      add(counts, subject, count);
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    // They are listed in pages by their places: where one goes meanwhile another one is passed over, and the last
    // page's count says the same as the list. Where something came or went, nothing is built on it.
    const isStill =
      state.messages === before.messages &&
      state.last_seq === before.lastSequence &&
      total === before.messages;
    return {
      ...before,
      counts,
      lastSequence: isStill ? before.lastSequence : Number.POSITIVE_INFINITY,
    };
  }
}

function add(counts: Map<string, number>, subject: string, count: number): void {
  const token = tokenIn(subject);
  counts.set(token, (counts.get(token) ?? 0) + count);
}
