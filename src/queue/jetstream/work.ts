/**
 * Which applications have something to do, as far as this process knows: their rows and what lies
 * behind them, from one feed of each stream. Begun when it is needed: who only enqueues has none.
 */

import { SecurityEventError } from '../../errors.ts';
import { Turns } from '../in-process/turns.ts';
import { type Message, messageIn } from './envelope.ts';
import { Feed } from './feed.ts';
import { Unanswered } from './jetstream-failure.ts';
import { isToken, lastToken, tokenOf } from './names.ts';
import { patiently } from './patience.ts';
import { listed, type Surrounding } from './reading.ts';
import { decodeRow } from './row-code.ts';
import type { Session } from './session.ts';
import type { Kept } from './store.ts';
import { MAX_FRESH, View } from './view.ts';

/** So long a claim waits for what this process itself has brought in: others may have taken it away. */
const OWN_MS = 500;

/** So long a new leader may take to come as far as the one before it. */
const LAG_MS = 1000;

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
  /** One look at a view at a time: a second one would not know what came during the first. */
  readonly #looks = new Map<View, Promise<void>>();
  #ownSequence = 0;
  #isRinging = false;

  constructor(session: Session, ring: () => void) {
    this.#session = session;
    this.#ring = ring;
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
      const surroundings = { now: () => time.now(), initial: beginning };
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
    for (const view of this.#views.values()) view.looked([], !this.#unread.has(view.token));
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
    if (!view.came(message)) return;
    // It keeps its turn, or its time: only who waits for company may be ready by it.
    const { lingerMs } = this.#session.beginning();
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
    for (const { state } of this.#views.values()) cursor = Math.max(cursor, state.cursor);
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
      view.written(decodeRow(body), sequence, body.length);
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

  /** Reads what lies behind the cursor, where that is not known. */
  async look(view: View): Promise<void> {
    if (view.isWhole || view.fresh.length > 0) return;
    let look = this.#looks.get(view);
    if (look === undefined) {
      look = this.#look(view).finally(() => this.#looks.delete(view));
      this.#looks.set(view, look);
    }
    await look;
  }

  async #look(view: View): Promise<void> {
    let after = view.state.cursor;
    do {
      view.looking();
      const found = await this.#page(view, after).catch((error: unknown) => {
        view.lookedAway();
        throw error;
      });
      this.#unread.delete(view.token);
      after = found.at(-1)?.sequence ?? after;
      const messages = found.map(messageIn).filter((one): one is Message => one !== undefined);
      view.looked(messages, found.length < MAX_FRESH);
      // All of a page may be what the row knows.
    } while (!view.isWhole && view.fresh.length === 0);
    this.place(view);
  }

  async #page(view: View, after: number): Promise<Kept[]> {
    const { names, store } = this.#session;
    let isCountBelieved = true;
    return await patiently(this.#session, async () => {
      const last = await store.last(names.messages, names.messagesOf(view.token));
      const least = Math.max(last?.sequence ?? 0, view.seen);
      const found = await listed(this.surrounding, {
        stream: names.messages,
        subjects: names.messagesOf(view.token),
        after,
        limit: MAX_FRESH,
        headersOnly: true,
        isCountBelieved,
      });
      isCountBelieved = false;
      const end = found.at(-1)?.sequence ?? after;
      if (found.length < MAX_FRESH && end < least) await this.#mustBeGone(least);
      return found;
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

  async #end(): Promise<void> {
    await Promise.all([this.#messages?.end(), this.#rows?.end()]);
  }

  async end(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#end();
  }
}
