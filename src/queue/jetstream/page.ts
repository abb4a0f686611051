/** What is read behind an application's cursor: so many messages, and whether the calls they came in are stored. */
import { type Message, messageIn } from './envelope.ts';
import type { Kept } from './store.ts';

/** A call that is not wholly stored after so long never will be: what is there of it is given. */
export const CALL_MS = 60_000;

export interface PageAsked {
  readonly limit: number;
  /** Not what the row knows. */
  readonly isFresh: (sequence: number) => boolean;
  /** The server's time. */
  readonly nowMs: number;
  /** Calls of which the last message is known to be stored. */
  readonly isEnded: (call: string) => boolean;
}

/** What a look brings. */
export interface Looked {
  /** Ascending, without a gap. */
  readonly messages: readonly Message[];
  /** Whether nothing lies behind these. */
  readonly isWhole: boolean;
  /** Calls whose last message lies behind these. */
  readonly ended: ReadonlySet<string>;
}

/** The last message of a call goes when all others are stored. */
export const endsCall = ({ batch }: Message): boolean =>
  batch !== undefined && batch.index === batch.count - 1;

export class Page implements Looked {
  readonly messages: Message[] = [];
  readonly ended = new Set<string>();
  isWhole = true;
  readonly #asked: PageAsked;
  readonly #open = new Set<string>();

  constructor(asked: PageAsked) {
    this.#asked = asked;
  }

  /** Whether more of it is wanted: what lies behind the page is, while a call that begins in it may end there. */
  take(kept: Kept): boolean {
    const { limit, isFresh } = this.#asked;
    const isBeyond = this.messages.length >= limit;
    if (isBeyond) this.isWhole = false;
    const message = isFresh(kept.sequence) ? messageIn(kept) : undefined;
    if (message === undefined) return !isBeyond || this.#open.size > 0;
    if (!isBeyond) {
      this.#keep(message);
      return true;
    }
    const call = message.batch?.id ?? '';
    if (endsCall(message) && this.#open.delete(call)) this.ended.add(call);
    return this.#open.size > 0;
  }

  #keep(message: Message): void {
    this.messages.push(message);
    const { batch, storedMs } = message;
    if (batch === undefined) return;
    if (endsCall(message)) this.#open.delete(batch.id);
    else if (this.#asked.isEnded(batch.id)) this.ended.add(batch.id);
    // The others are given as they are.
    else if (storedMs > this.#asked.nowMs - CALL_MS) this.#open.add(batch.id);
  }
}
