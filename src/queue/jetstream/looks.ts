/** Looking at what lies behind an application's cursor, where that is not known. */
import type { Bodies } from './bodies.ts';
import { type FreshRoom, MAX_FRESH } from './fresh-room.ts';
import { Page } from './page.ts';
import { patiently } from './patience.ts';
import { readToEnd, type Surrounding } from './reading.ts';
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
    const { names, time } = this.#session;
    const isFresh = (sequence: number): boolean => !view.isKnown(sequence);
    const isEnded = (call: string): boolean => view.isEnded(call);
    const newPage = (): Page => new Page({ limit, nowMs: time.now(), isFresh, isEnded });
    let page = newPage();
    // What would be missing of what the feed has told already is missed for good.
    await readToEnd(this.#session, {
      surrounding: this.#parts.surrounding(),
      stream: names.messages,
      subjects: names.messagesOf(view.token),
      after: view.cursor,
      headersOnly: true,
      newReader: () => {
        page = newPage();
        return { seen: view.seen, take: (kept) => page.take(kept) };
      },
    });
    return page;
  }
}
