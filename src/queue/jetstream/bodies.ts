/** Messages of the work stream as they are stored: what was read lately need not be read again. */
import { type Message, messageOf } from './envelope.ts';
import { Unanswered } from './jetstream-failure.ts';
import type { Session } from './session.ts';
import type { Kept } from './store.ts';

/** What is kept in mind, by its bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** With what a message costs beside its bytes. */
const OVERHEAD = 300;

export interface Whole extends Message {
  readonly body: Buffer;
}

export class Bodies {
  readonly #session: Session;
  readonly #kept = new Map<number, Whole>();
  #bytes = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  keep(message: Whole): void {
    if (this.#kept.has(message.sequence)) return;
    this.#kept.set(message.sequence, message);
    this.#bytes += message.body.length + OVERHEAD;
    for (const [sequence] of this.#kept) {
      if (this.#bytes <= MAX_BYTES) return;
      this.forget(sequence);
    }
  }

  forget(sequence: number): void {
    const message = this.#kept.get(sequence);
    if (message === undefined) return;
    this.#kept.delete(sequence);
    this.#bytes -= message.body.length + OVERHEAD;
  }

  /** By their sequences; those that are not there are gone for good. */
  async read(sequences: readonly number[]): Promise<Map<number, Whole>> {
    const read = await Promise.all(sequences.map((sequence) => this.#one(sequence)));
    const found = new Map<number, Whole>();
    for (const message of read) if (message !== undefined) found.set(message.sequence, message);
    return found;
  }

  async #one(sequence: number): Promise<Whole | undefined> {
    const known = this.#kept.get(sequence);
    if (known !== undefined) return known;
    const { store, names } = this.#session;
    // A server that lags behind the leader does not have it yet.
    const kept =
      (await store.glance(names.messages, sequence)) ?? (await store.get(names.messages, sequence));
    if (kept === undefined) {
      await this.#mustBeGone(sequence);
      return undefined;
    }
    const message = wholeOf(kept);
    this.keep(message);
    return message;
  }

  /** A new leader may not have come as far yet: what it does not have would be taken to be over. */
  async #mustBeGone(sequence: number): Promise<void> {
    const { store, names } = this.#session;
    const { last_seq } = await store.state(names.messages);
    if (last_seq < sequence) throw new Unanswered('the leader lags behind');
  }
}

const wholeOf = (kept: Kept): Whole => ({ ...messageOf(kept), body: kept.body });
