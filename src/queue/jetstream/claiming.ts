/** Claims: whose turn it is, what it is given, and one write of its row. */
import type { Claim, ClaimedMessage, ClaimRequest, Nothing } from '../queue.ts';
import type { Bodies, Whole } from './bodies.ts';
import { type Message, storedOf } from './envelope.ts';
import { MAX_FRESH } from './fresh-room.ts';
import { isPassing } from './jetstream-failure.ts';
import type { Row, Taken } from './row.ts';
import { type Asked, candidates, needsFresh, take } from './row-claim.ts';
import { lost } from './row-ends.ts';
import { MAX_TRIES, type Rows } from './rows.ts';
import type { Session } from './session.ts';
import type { View, Wanted } from './view.ts';
import type { Work } from './work.ts';

/** So many of what the row knows are read at once, until their sizes fill the claim. */
const READ_AT_ONCE = 128;

/** Of an application of which nothing could be given though it looked as if. */
const PAUSE_MS = 200;

/** Of one whose claim failed: meanwhile the others have their turns. */
const FAILED_PAUSE_MS = 5000;

export class Claiming {
  readonly #session: Session;
  readonly #work: Work;
  readonly #rows: Rows;
  readonly #bodies: Bodies;
  #claims = 0;

  constructor(
    session: Session,
    work: Work,
    parts: { readonly rows: Rows; readonly bodies: Bodies },
  ) {
    this.#session = session;
    this.#work = work;
    this.#rows = parts.rows;
    this.#bodies = parts.bodies;
  }

  async claim(request: ClaimRequest): Promise<Claim | Nothing> {
    await this.#work.ready();
    return request.early === true ? await this.#early(request) : await this.#next(request);
  }

  async #next(request: ClaimRequest): Promise<Claim | Nothing> {
    const { turns } = this.#work;
    const { time } = this.#session;
    const failures: unknown[] = [];
    for (;;) {
      const nowMs = time.now();
      for (let view = turns.woken(nowMs); view !== undefined; view = turns.woken(nowMs)) {
        turns.place(view, nowMs);
        // Another one's lease, by a clock that is a little behind: not to be looked at for ever.
        if (view.place.heap !== undefined && !turns.isReady(view) && view.place.key <= nowMs) break;
      }
      const view = turns.next(request.tiers);
      if (view === undefined) {
        // Not before all others had their turn.
        if (failures.length > 0) throw failures[0];
        return nothing(turns.nextAtMs(request.tiers), nowMs);
      }
      const claim = await this.#held(view, request).catch((error: unknown) => {
        if (isPassing(error)) throw error;
        failures.push(error);
        return undefined;
      });
      if (claim !== undefined) return claim;
    }
  }

  /** Nothing is the end of it for whoever moves all: another process may only have been quicker. */
  async #early(request: ClaimRequest): Promise<Claim | Nothing> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      let isNews = false;
      for (const view of this.#work.views) {
        if (view.claim !== undefined) continue;
        const { revision, fresh } = view;
        const claim = await this.#held(view, request);
        if (claim !== undefined) return claim;
        isNews ||= view.revision !== revision || view.fresh !== fresh;
      }
      if (!isNews) break;
    }
    return {};
  }

  /** Meanwhile it is nobody's turn. */
  async #held(view: View, request: ClaimRequest): Promise<Claim | undefined> {
    view.isBusy = true;
    this.#work.place(view);
    const { revision, fresh } = view;
    try {
      const claim = await this.#attempt(view, request);
      const isNews = view.revision !== revision || view.fresh !== fresh;
      if (claim === undefined && !isNews && request.early !== true) {
        view.pausedUntilMs = this.#session.time.now() + PAUSE_MS;
      }
      return claim;
    } catch (error) {
      view.pausedUntilMs = this.#session.time.now() + FAILED_PAUSE_MS;
      throw error;
    } finally {
      view.isBusy = false;
      this.#work.place(view);
    }
  }

  /** `undefined`: another process was quicker, or there is nothing for this request after all. */
  async #attempt(view: View, request: ClaimRequest): Promise<Claim | undefined> {
    if (needsFresh(this.#rows.current(view), this.#asked(view, request)))
      await this.#work.look(view, mostOf(view, request));
    const { state, revision } = view;
    const before = this.#rows.current(view);
    const asked = this.#asked(view, request);
    const isFreshNeeded = needsFresh(before, asked);
    // Another process was quicker, and now what was not looked at may be due before what the row knows.
    if (isFreshNeeded && !view.knows(mostOf(view, request))) return undefined;
    const read = await this.#readKnown(view, before, asked);
    if (read === undefined) return undefined;
    const id = this.#newId();
    const messages = view.visible();
    const waiting = view.waiting(messages.length);
    const found = isFreshNeeded ? { fresh: { messages, waiting } } : {};
    // What was read meanwhile of a newer row does not go with this one.
    if (view.revision !== revision) return undefined;
    const { row, taken } = take<Message>(before, { ...asked, id }, { read, ...found });
    const whole = await this.#bodies.read(
      view.token,
      taken.map(({ message }) => message.sequence),
      new Map(taken.map(({ message }) => [message.sequence, message.sizeBytes])),
    );
    if (this.#areGone(view, taken, whole)) return undefined;
    if (row !== state && !(await this.#rows.write(view, row, revision))) return undefined;
    if (taken.length === 0) return undefined;
    return this.#claimOf(view, row, { id, taken, whole, isEarly: request.early === true });
  }

  #asked({ rowBytes }: View, request: ClaimRequest): Asked {
    const { maxPayload, time } = this.#session;
    const { lingerMs } = this.#session.beginning();
    return { request, nowMs: time.now(), lingerMs, rowBytes, maxPayload };
  }

  #newId(): string {
    this.#claims += 1;
    return `${this.#session.handle}.${this.#claims}`;
  }

  /** `undefined` where one of them is no longer stored: that is written first. */
  async #readKnown(
    view: View,
    row: Row,
    asked: Asked,
  ): Promise<ReadonlyMap<number, Message> | undefined> {
    const { request } = asked;
    const sequences = candidates(row, asked);
    const read = new Map<number, Message>();
    let bytes = 0;
    for (let start = 0; start < sequences.length; start += READ_AT_ONCE) {
      const part = sequences.slice(start, start + READ_AT_ONCE);
      const found = await this.#bodies.read(view.token, part);
      const gone = part.filter((sequence) => !found.has(sequence));
      if (gone.length > 0) {
        await this.#rows.change(view, (now) => lost(now, gone));
        return undefined;
      }
      for (const [sequence, message] of found) {
        read.set(sequence, message);
        bytes += message.sizeBytes;
      }
      if (bytes > request.maxBytes) break;
    }
    return read;
  }

  /** Whether some of what came in has been removed since: it is not given. */
  #areGone(
    view: View,
    taken: readonly Taken<Message>[],
    whole: ReadonlyMap<number, Whole>,
  ): boolean {
    const gone = taken.map(({ message }) => message.sequence).filter((one) => !whole.has(one));
    if (gone.length === 0) return false;
    view.forget(new Set(gone));
    return true;
  }

  #claimOf(
    { applicationId }: View,
    { application }: Row,
    {
      id,
      taken,
      whole,
      isEarly,
    }: {
      readonly id: string;
      readonly taken: readonly Taken<Message>[];
      readonly whole: ReadonlyMap<number, Whole>;
      readonly isEarly: boolean;
    },
  ): Claim {
    const messages = taken.map(({ message, sends, ageMs, progress, moving }): ClaimedMessage => {
      const { body } = whole.get(message.sequence) as Whole;
      const stored = storedOf(message, body);
      const more = isEarly ? { moving } : {};
      return { stored, origin: message.origin, sends, ageMs, progress, ...more };
    });
    return {
      id,
      applicationId,
      format: (messages[0] as ClaimedMessage).stored.format,
      row: application,
      now: this.#session.time.now(),
      messages,
    };
  }
}

/** So much has to be known for a claim that is full. */
function mostOf({ row }: View, request: ClaimRequest): Wanted {
  const { early, maxMessages, maxBytes } = request;
  const most = early === true ? maxMessages : Math.min(maxMessages, row.maxMessages);
  const bytes = early === true ? maxBytes : Math.min(maxBytes, row.maxBytes);
  return { messages: Math.max(1, Math.min(most, MAX_FRESH)), bytes };
}

const nothing = (atMs: number | undefined, nowMs: number): Nothing =>
  atMs === undefined ? {} : { dueInMs: Math.max(0, atMs - nowMs) };
