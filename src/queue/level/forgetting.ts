/** Which incidents are forgotten: those that were not told of for long, and the oldest past the limits. */
import type { Moment } from '../in-process/moment.ts';
import { Change } from './change.ts';
import {
  type Book,
  type IncidentLimits,
  putAmounts,
  type StoredIncident,
} from './incident-rows.ts';
import { incidentKey, lastOf, namedRange, seenRange, timeOf } from './keys.ts';
import type { LevelState } from './state.ts';
import type { Entry } from './store.ts';
import { decodeJson } from './values.ts';

type Alone = (digest: Buffer, work: () => Promise<void>) => Promise<void>;

/** What is only old, and in nobody's way, goes by so many writes a report. */
const WRITES = 10;

/** Of the names of an incident that has more than all may have, so many go beyond the excess: not each time one. */
const SPARE = 0.01;

export class Forgetting {
  readonly #state: LevelState;
  readonly #limits: IncidentLimits;
  readonly #alone: Alone;
  #running: Promise<void> | undefined;

  constructor(state: LevelState, limits: IncidentLimits, alone: Alone) {
    this.#state = state;
    this.#limits = limits;
    this.#alone = alone;
  }

  /** One at a time: two would count twice what they remove. */
  async forget(book: Book, at: Moment): Promise<void> {
    if (!this.#isDue(book, at)) return;
    this.#running ??= this.#forget(book, at).finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  #isDue(book: Book, { nowMs }: Moment): boolean {
    return this.#isBeyond(book) || book.oldestMs < nowMs - this.#limits.keptMs;
  }

  #isBeyond({ amounts }: Book): boolean {
    const { maxIncidents, maxNames } = this.#limits;
    return amounts.incidents > maxIncidents || amounts.names > maxNames;
  }

  async #forget(book: Book, at: Moment): Promise<void> {
    const writes = { left: WRITES };
    while (this.#isDue(book, at) && (writes.left > 0 || this.#isBeyond(book))) {
      const oldest = await this.#oldest(book);
      book.oldestMs = oldest === undefined ? at.nowMs : timeOf(oldest[0]);
      if (oldest === undefined) {
        // None is left: whatever was added up, as after a repair.
        book.amounts.incidents = 0;
        book.amounts.names = 0;
      } else if (this.#isDue(book, at)) {
        await this.#alone(oldest[1], () => this.#remove(book, oldest, { at, writes }));
      }
    }
  }

  async #oldest({ oldestMs }: Book): Promise<Entry | undefined> {
    for await (const entry of this.#state.store.entries(seenRange(oldestMs), 1)) return entry;
    return undefined;
  }

  /** It is forgotten with the first write, whenever the last of its names goes. */
  async #remove(
    book: Book,
    [seen, digest]: Entry,
    { at, writes }: { readonly at: Moment; readonly writes: { left: number } },
  ): Promise<void> {
    const number = lastOf(seen);
    const value = await this.#state.store.get(incidentKey(digest));
    const known = value && decodeJson<StoredIncident>(value);
    const isCurrent = known?.number === number;
    // It was told of again before it was its turn to go.
    if (isCurrent && known.seenMs !== timeOf(seen)) return;
    const isOld = timeOf(seen) < at.nowMs - this.#limits.keptMs;
    const isLast = isCurrent && !isOld && book.amounts.incidents <= 1;
    const most = Math.ceil(this.#limits.maxNames * (1 - SPARE));
    let change = new Change(book.content, at);
    if (isCurrent && !isLast) change.del(incidentKey(digest));
    for await (const chunk of this.#state.store.chunks(namedRange(number))) {
      const going = isLast ? chunk.slice(0, book.amounts.names - most) : chunk;
      for (const [key] of going) change.del(key);
      book.amounts.names -= going.length;
      await this.#write(book, change);
      change = new Change(book.content, at);
      writes.left -= 1;
      if (isLast ? book.amounts.names <= most : this.#isDone(book, isOld && writes.left > 0))
        return;
    }
    if (isLast) {
      // Its own are all that there were.
      book.amounts.names = 0;
      return;
    }
    change.del(seen);
    book.amounts.incidents -= 1;
    writes.left -= 1;
    await this.#write(book, change);
  }

  #isDone(book: Book, mayGoOn: boolean): boolean {
    return !mayGoOn && !this.#isBeyond(book);
  }

  async #write(book: Book, change: Change): Promise<void> {
    putAmounts(change, book);
    await this.#state.write('incident', change);
  }
}
