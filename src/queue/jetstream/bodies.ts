/** Messages of the work stream as they are stored: what was read lately need not be read again. */
import { type Message, messageIn } from './envelope.ts';
import { Lagging } from './jetstream-failure.ts';
import { lastToken } from './names.ts';
import type { Session } from './session.ts';
import type { Kept } from './store.ts';

/** What is kept in mind, by its bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** With what a message costs beside its bytes. */
const OVERHEAD = 300;

export interface Whole extends Message {
  /** Of its application. */
  readonly token: string;
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

  /** By their sequences, those of this application; those that are not there are gone for good. */
  async read(token: string, sequences: readonly number[]): Promise<Map<number, Whole>> {
    return await this.#those(sequences, (sequence) => this.#one(token, sequence));
  }

  /** As {@link read}, as the leader has them now: what another process has removed is gone. */
  async reread(token: string, sequences: readonly number[]): Promise<Map<number, Whole>> {
    for (const sequence of sequences) this.forget(sequence);
    return await this.#those(sequences, (sequence) => this.#led(token, sequence));
  }

  async #those(
    sequences: readonly number[],
    one: (sequence: number) => Promise<Whole | undefined>,
  ): Promise<Map<number, Whole>> {
    const found = new Map<number, Whole>();
    for (const message of await Promise.all(sequences.map(one))) {
      if (message !== undefined) found.set(message.sequence, message);
    }
    await this.#mustBeGone(sequences.filter((sequence) => !found.has(sequence)));
    return found;
  }

  async #one(token: string, sequence: number): Promise<Whole | undefined> {
    const known = this.#kept.get(sequence);
    if (known?.token === token) return known;
    this.forget(sequence);
    const { store, names } = this.#session;
    // A server that lags behind the leader does not have it yet.
    const message =
      wholeIn(await store.glance(names.messages, sequence), token) ??
      (await this.#led(token, sequence));
    if (message !== undefined) this.keep(message);
    return message;
  }

  async #led(token: string, sequence: number): Promise<Whole | undefined> {
    const { store, names } = this.#session;
    return wholeIn(await store.get(names.messages, sequence), token);
  }

  /** A new leader may not have come as far yet: what it does not have would be taken to be over. */
  async #mustBeGone(sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    const { store, names } = this.#session;
    const { last_seq } = await store.state(names.messages);
    if (sequences.some((sequence) => sequence > last_seq))
      throw new Lagging('the leader lags behind');
  }
}

/** Sequences are given anew where a stream lost its end, or was made again: by then it is another's. */
function wholeIn(kept: Kept | undefined, token: string): Whole | undefined {
  if (kept === undefined || lastToken(kept.subject) !== token) return undefined;
  const message = messageIn(kept);
  return message && { ...message, token, body: kept.body };
}
