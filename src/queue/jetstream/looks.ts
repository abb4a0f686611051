/** Looking at what lies behind an application's cursor, where that is not known. */
import { type FreshRoom, MAX_FRESH } from './fresh-room.ts';
import { Unanswered } from './jetstream-failure.ts';
import { Page } from './page.ts';
import { patiently } from './patience.ts';
import { read, type Surrounding } from './reading.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';

export interface LooksParts {
  readonly surrounding: () => Surrounding;
  readonly room: FreshRoom;
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

  /** Until so many are kept in mind, or all that are there. */
  async look(view: View, atLeast: number): Promise<void> {
    const wanted = Math.min(atLeast, MAX_FRESH);
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

  async #look(view: View, wanted: number): Promise<void> {
    const { room, onLooked } = this.#parts;
    view.looking();
    // One more than is claimed, where that is all: it tells since when the next one is due.
    const limit = Math.min(MAX_FRESH, Math.max(wanted + 1, room.left));
    view.looked(
      await this.#page(view, limit).catch((error: unknown) => {
        view.lookedAway();
        throw error;
      }),
    );
    room.make(view);
    onLooked(view);
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
