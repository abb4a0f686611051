/** Messages of the work stream as they are stored: what was read lately need not be read again. */
import { certainly } from './certainly.ts';
import { type Message, messageIn } from './envelope.ts';
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

  /**
   * By their sequences, those of this application; those that are not there are gone for good. `sizes`: by their
   * sequences, where these are known.
   */
  async read(
    token: string,
    sequences: readonly number[],
    sizes: ReadonlyMap<number, number> = new Map(),
  ): Promise<ReadonlyMap<number, Whole>> {
    return await this.#those(sequences, (sequence) =>
      this.#one(token, sequence, sizes.get(sequence)),
    );
  }

  /** As {@link read}, as the leader has them now: what another process has removed is gone. */
  async reread(token: string, sequences: readonly number[]): Promise<ReadonlyMap<number, Whole>> {
    for (const sequence of sequences) this.forget(sequence);
    return await this.#those(sequences, (sequence) => this.#led(token, sequence));
  }

  async #those(
    sequences: readonly number[],
    one: (sequence: number) => Promise<Whole | undefined>,
  ): Promise<ReadonlyMap<number, Whole>> {
    const asked = { stream: this.#session.names.messages, sequences };
    return await certainly(this.#session, asked, async (some) => {
      const found = await Promise.all(some.map(one));
      const messages = found.filter((message) => message !== undefined);
      return new Map(messages.map((message) => [message.sequence, message]));
    });
  }

  async #one(token: string, sequence: number, sizeBytes?: number): Promise<Whole | undefined> {
    const known = this.#kept.get(sequence);
    if (known?.token === token) return known;
    this.forget(sequence);
    const { store, names } = this.#session;
    // A server that lags behind the leader does not have it yet.
    const message =
      wholeIn(await store.glance(names.messages, sequence, sizeBytes), token) ??
      (await this.#led(token, sequence, sizeBytes));
    if (message !== undefined) this.keep(message);
    return message;
  }

  async #led(token: string, sequence: number, sizeBytes?: number): Promise<Whole | undefined> {
    const { store, names } = this.#session;
    return wholeIn(await store.get(names.messages, sequence, sizeBytes), token);
  }
}

/** Sequences are given anew where a stream lost its end, or was made again: by then it is another's. */
function wholeIn(kept: Kept | undefined, token: string): Whole | undefined {
  if (kept === undefined || lastToken(kept.subject) !== token) return undefined;
  const message = messageIn(kept);
  return message && { ...message, token, body: kept.body };
}
