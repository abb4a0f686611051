/**
 * Which applications have something to do, as far as this process knows: their rows and what lies
 * behind them, from one feed of each stream. Begun when it is needed: who only enqueues has none.
 */

import { SecurityEventError } from '../../errors.ts';
import { Turns } from '../in-process/turns.ts';
import type { Bodies } from './bodies.ts';
import { messageIn } from './envelope.ts';
import { Feed } from './feed.ts';
import { FreshRoom, MAX_FRESH } from './fresh-room.ts';
import { Lagging } from './jetstream-failure.ts';
import { RowRoom } from './known-row.ts';
import { Looks } from './looks.ts';
import { isToken, lastToken, tokenOf } from './names.ts';
import { LAG_MS } from './patience.ts';
import type { Surrounding } from './reading.ts';
import { decodeRow } from './row-code.ts';
import type { Session } from './session.ts';
import type { Kept } from './store.ts';
import { View, type Wanted } from './view.ts';

/** So long a claim waits for what this process itself has brought in: others may have taken it away. */
const OWN_MS = 500;

export class Work {
  readonly turns = new Turns<View>();
  readonly #session: Session;
  readonly #ring: () => void;
  readonly #views = new Map<string, View>();
  #messages: Feed | undefined;
  #rows: Feed | undefined;
  #starting: Promise<void> | undefined;
  /** Applications that had messages before the feed began: of these nothing is known. */
  readonly #unread = new Set<string>();
  readonly #room: FreshRoom;
  readonly #rowRoom: RowRoom;
  readonly #looks: Looks;
  #ownSequence = 0;
  #isRinging = false;

  constructor(session: Session, bodies: Bodies, ring: () => void) {
    this.#session = session;
    this.#ring = ring;
    this.#room = new FreshRoom(() => this.#views.values(), session.maxKept);
    this.#rowRoom = new RowRoom(session.maxKept);
    this.#looks = new Looks(session, {
      surrounding: () => this.surrounding,
      room: this.#room,
      bodies,
      onLooked: (view) => {
        this.#unread.delete(view.token);
        this.place(view);
      },
    });
  }

  /** Whether anybody has asked whose turn it is. */
  get isBegun(): boolean {
    return this.#starting !== undefined;
  }

  get views(): Iterable<View> {
    return this.#views.values();
  }

  view(token: string): View {
    let view = this.#views.get(token);
    if (view === undefined) {
      const { time, beginning } = this.#session;
      const [room, rowRoom] = [this.#room, this.#rowRoom];
      const surroundings = { now: () => time.now(), initial: beginning, room, rowRoom };
      const isWhole = this.#messages !== undefined && !this.#unread.has(token);
      view = new View(token, surroundings, isWhole);
      this.#views.set(token, view);
    }
    return view;
  }

  /** What a subject says; `undefined`: it is none of ours. */
  seen(token: string): View | undefined {
    return this.#views.has(token) || isToken(token) ? this.view(token) : undefined;
  }

  viewOf(applicationId: string): View {
    return this.view(tokenOf(applicationId));
  }

  place(view: View): void {
    // Before the feeds have begun nobody asks whose turn it is.
    if (this.#starting !== undefined) this.turns.place(view, this.#session.time.now());
  }

  /** All that is there is known, and what this process has brought in. */
  async ready(): Promise<void> {
    this.#starting ??= this.#start();
    try {
      await this.#starting;
    } catch (error) {
      this.#starting = undefined;
      throw error;
    }
    const sequence = this.#ownSequence;
    const hasCome = await this.#messages?.reached(sequence, OWN_MS);
    // Others have removed it: it is not waited for again.
    if (hasCome === false && this.#ownSequence === sequence) this.#ownSequence = 0;
  }

  /** All that is there by now is known. */
  async caughtUp(): Promise<void> {
    await this.ready();
    const { store, names } = this.#session;
    const { last_seq } = await store.state(names.messages);
    await this.#messages?.reached(last_seq, OWN_MS);
  }

  /** All rows that are there by now are known; rejects where they are not after `ms`. */
  async rowsCaughtUp(ms: number): Promise<void> {
    await this.ready();
    const { store, names } = this.#session;
    const last = (await store.last(names.rows, names.rowSubjects))?.sequence ?? 0;
    if (!(await this.#rows?.insisted(last, ms))) throw new Lagging('a server lags behind');
  }

  /** It was stored by this process. */
  brought(sequence: number): void {
    this.#ownSequence = Math.max(this.#ownSequence, sequence);
  }

  get surrounding(): Surrounding {
    const { link, clock, newId, stamped, time, callTimeoutMs } = this.#session;
    const newInbox = (): string => `_INBOX.${newId()}`;
    const stamp = (stampMs: number): number => {
      stamped(stampMs);
      return time.of(stampMs);
    };
    return { nats: link.nats, manager: link.manager, clock, newInbox, stamp, callTimeoutMs };
  }

  async #start(): Promise<void> {
    const { names, store } = this.#session;
    await this.#end();
    const state = await store.state(names.messages, names.messageSubjects);
    this.#unread.clear();
    for (const subject of Object.keys(state.subjects ?? {})) this.#unread.add(lastToken(subject));
    for (const view of this.#views.values()) {
      const isWhole = !this.#unread.has(view.token);
      view.looked({ messages: [], isWhole, ended: new Set() });
    }
    const onResumed = (): void => this.#news();
    this.#rows = new Feed({
      ...this.surrounding,
      stream: names.rows,
      subjects: names.rowSubjects,
      headersOnly: false,
      lastOfEach: true,
      onMessage: (kept) => this.#rowRead(kept),
      onResumed,
    });
    this.#messages = new Feed({
      ...this.surrounding,
      stream: names.messages,
      subjects: names.messageSubjects,
      headersOnly: true,
      lastOfEach: false,
      onMessage: (kept) => this.#messageCame(kept),
      onResumed,
    });
    await Promise.all([this.#rows.start(0), this.#messages.start(state.last_seq)]);
    await this.#mustBeWhole();
    for (const token of this.#unread) this.seen(token);
    for (const view of this.#views.values()) this.place(view);
    // What came in while the feeds began was told by neither.
    if (this.#views.size > 0) this.#news();
  }

  #messageCame(kept: Kept): void {
    const view = this.seen(lastToken(kept.subject));
    const message = messageIn(kept);
    if (view === undefined || message === undefined) return;
    const hadSome = view.fresh.length > 0;
    const isSeen = view.came(message);
    // It keeps its turn, or its time: only who waits for company may be ready by it, be it kept or not.
    const { lingerMs } = this.#session.beginning();
    if (!isSeen && (lingerMs === 0 || view.isWhole)) return;
    if (!hadSome || lingerMs > 0 || kept.told.includes('"b":')) this.place(view);
    this.#news();
  }

  /**
   * A stream that lost its end gives sequences anew: what comes in would lie before the cursors, and
   * never be sent. Refused, where the leader says so twice.
   */
  async #mustBeWhole(): Promise<void> {
    const { store, names, clock } = this.#session;
    let cursor = 0;
    for (const view of this.#views.values()) cursor = Math.max(cursor, view.cursor);
    if (cursor <= (await store.state(names.messages)).last_seq) return;
    await clock.idle(LAG_MS);
    const { last_seq } = await store.state(names.messages);
    if (cursor <= last_seq) return;
    const detail = `the stream ${names.messages} ends at ${last_seq}, and ${cursor} was read of it before: it lost messages, or was made anew`;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }

  #rowRead(kept: Kept): void {
    const view = this.seen(lastToken(kept.subject));
    if (view === undefined || kept.sequence <= view.revision) return;
    this.rowCame(view, kept);
    this.#news();
  }

  /** As the stream has it. */
  rowCame(view: View, { sequence, body }: Kept): void {
    try {
      view.written(decodeRow(body), sequence, body);
    } catch (error) {
      if (!(error instanceof SecurityEventError)) throw error;
      view.unreadable = error;
    }
    this.place(view);
  }

  /** Once, however much comes in at once. */
  #news(): void {
    if (this.#isRinging) return;
    this.#isRinging = true;
    queueMicrotask(() => {
      this.#isRinging = false;
      this.#ring();
    });
  }

  /** Reads what lies behind the cursor, until so much of it is known or all. */
  async look(view: View, wanted: Partial<Wanted>): Promise<void> {
    const { messages = 1, bytes = Number.POSITIVE_INFINITY } = wanted;
    await this.#looks.look(view, { messages: Math.min(messages, MAX_FRESH), bytes });
  }

  async #end(): Promise<void> {
    await Promise.all([this.#messages?.end(), this.#rows?.end()]);
  }

  async end(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#end();
  }
}
