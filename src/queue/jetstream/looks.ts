/** Looking at what lies behind an application's cursor, where that is not known. */
import type { Bodies } from './bodies.ts';
import { type FreshRoom, MAX_FRESH } from './fresh-room.ts';
import { Unanswered } from './jetstream-failure.ts';
import { Page } from './page.ts';
import { patiently } from './patience.ts';
import { read, type Surrounding } from './reading.ts';
import type { Session } from './session.ts';
import type { View, Wanted } from './view.ts';

/** They come with their bytes. */
const RECALLED_AT_ONCE = 128;

export interface LooksParts {
  readonly surrounding: () => Surrounding;
  readonly room: FreshRoom;
  readonly bodies: Bodies;
  /** It was looked at, for the first time perhaps. */
  readonly onLooked: (view: View) => void;
}

export class Looks {
  readonly #session: Session;
  readonly #parts: LooksParts;
  /** One look at a view at a time: a second one would not know what came during the first. */
  readonly #looks = new Map<View, Promise<void>>();

  constructor(session: Session, parts: LooksParts) {
    this.#session = session;
    this.#parts = parts;
  }

  /** Until so much is kept in mind, or all that is there. */
  async look(view: View, wanted: Wanted): Promise<void> {
    for (;;) {
      const other = this.#looks.get(view);
      if (other === undefined) break;
      await other;
    }
    if (view.knows(wanted)) return;
    const look = this.#look(view, wanted).finally(() => this.#looks.delete(view));
    this.#looks.set(view, look);
    await look;
  }

  async #look(view: View, wanted: Wanted): Promise<void> {
    const { room, onLooked } = this.#parts;
    await this.#recall(view, wanted);
    if (!view.knows(wanted)) await this.#read(view, wanted.messages);
    room.make(view);
    onLooked(view);
  }

  /** By their sequences, as far as these are known: what is claimed soon is then kept with its bytes. */
  async #recall(view: View, wanted: Wanted): Promise<void> {
    while (!view.knows(wanted)) {
      // One more than is claimed tells since when the next one is due.
      const sequences = view.behind(wanted.messages + 1 - view.kept).slice(0, RECALLED_AT_ONCE);
      const { kept } = view;
      const stored = await patiently(this.#session, () =>
        this.#parts.bodies.read(view.token, sequences),
      );
      const found = sequences
        .map((sequence) => stored.get(sequence))
        .filter((whole) => whole !== undefined)
        .map(({ body: _body, token: _token, ...message }) => message);
      view.recall(sequences, found);
      // There are too few, they are gone, or others are there by now.
      if (view.kept === kept) return;
    }
  }

  async #read(view: View, wanted: number): Promise<void> {
    view.looking();
    // One more than is claimed, where that is all: it tells since when the next one is due.
    const limit = Math.min(MAX_FRESH, Math.max(wanted + 1, this.#parts.room.left));
    view.looked(
      await this.#page(view, limit).catch((error: unknown) => {
        view.lookedAway();
        throw error;
      }),
    );
  }

  async #page(view: View, limit: number): Promise<Page> {
    const { names, store, time } = this.#session;
    const { cursor: after } = view;
    const isFresh = (sequence: number): boolean => !view.isKnown(sequence);
    const isEnded = (call: string): boolean => view.isEnded(call);
    let isCountBelieved = true;
    return await patiently(this.#session, async () => {
      const last = await store.last(names.messages, names.messagesOf(view.token));
      const least = Math.max(last?.sequence ?? 0, view.seen);
      const page = new Page({ limit, nowMs: time.now(), isFresh, isEnded });
      const asked = {
        stream: names.messages,
        subjects: names.messagesOf(view.token),
        after,
        headersOnly: true,
        isCountBelieved,
      };
      const isEnd = await read(this.#parts.surrounding(), asked, (kept) => page.take(kept));
      isCountBelieved = false;
      if (isEnd && Math.max(after, page.end) < least) await this.#mustBeGone(least);
      return page;
    });
  }

  /**
   * It is read from any replica, which may lag behind what is there, and behind what the feed has told
   * already: what would be missing then is missed for good.
   */
  async #mustBeGone(sequence: number): Promise<void> {
    const { store, names } = this.#session;
    const kept = await store.get(names.messages, sequence);
    const isGone = kept === undefined && (await store.state(names.messages)).last_seq >= sequence;
    if (!isGone) throw new Unanswered('a server lags behind');
  }
}
