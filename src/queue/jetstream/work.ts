/**
 * Which applications have something to do, as far as this process knows: their rows and what lies
 * behind them, from one feed of each stream. Begun when it is needed: who only enqueues has none.
 */
import { Turns } from '../in-process/turns.ts';
import { messageOf } from './envelope.ts';
import { Feed } from './feed.ts';
import { lastToken, tokenOf } from './names.ts';
import { listed, type Surrounding } from './reading.ts';
import { decodeRow } from './row-code.ts';
import type { Session } from './session.ts';
import type { Kept } from './store.ts';
import { MAX_FRESH, View } from './view.ts';

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
    await this.#messages?.reached(this.#ownSequence, OWN_MS);
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
      onMessage: (kept) => this.#rowCame(kept),
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
    for (const token of this.#unread) this.view(token);
    for (const view of this.#views.values()) this.place(view);
    // What came in while the feeds began was told by neither.
    if (this.#views.size > 0) this.#news();
  }

  #messageCame(kept: Kept): void {
    // Not one of ours.
    if (kept.told === '') return;
    const view = this.view(lastToken(kept.subject));
    const hadSome = view.fresh.length > 0;
    if (!view.came(messageOf(kept))) return;
    // It keeps its turn, or its time: only who waits for company may be ready by it.
    const { lingerMs } = this.#session.beginning();
    if (!hadSome || lingerMs > 0 || kept.told.includes('"b":')) this.place(view);
    this.#news();
  }

  #rowCame({ subject, sequence, body }: Kept): void {
    const view = this.view(lastToken(subject));
    if (sequence <= view.revision) return;
    view.written(decodeRow(body), sequence, body.length);
    this.place(view);
    this.#news();
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
    const { names } = this.#session;
    let after = view.state.cursor;
    do {
      view.looking();
      const found = await listed(this.surrounding, {
        stream: names.messages,
        subjects: names.messagesOf(view.token),
        after,
        limit: MAX_FRESH,
        headersOnly: true,
      }).catch((error: unknown) => {
        view.lookedAway();
        throw error;
      });
      this.#unread.delete(view.token);
      after = found.at(-1)?.sequence ?? after;
      view.looked(found.filter(({ told }) => told !== '').map(messageOf), found.length < MAX_FRESH);
      // All of a page may be what the row knows.
    } while (!view.isWhole && view.fresh.length === 0);
    this.place(view);
  }

  async #end(): Promise<void> {
    await Promise.all([this.#messages?.end(), this.#rows?.end()]);
  }

  async end(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#end();
  }
}
