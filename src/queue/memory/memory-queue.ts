import { SecurityEventError } from '../../errors.ts';
import { type GiveWay, givingWay } from '../../system/giving-way.ts';
import type {
  ApplicationItem,
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  EnqueueResult,
  ExpiredMessage,
  KeyedItem,
  MessageItem,
  MessageQueue,
  MessageResult,
  NothingDue,
  QueueClosing,
  QueueEntry,
  QueueStats,
  ReturnedMessage,
  SequenceRange,
} from '../queue.ts';
import type { Application, LiveClaim } from './application.ts';
import { addSizes, SLICE_MESSAGES, sizesOf, slicesOf } from './batch.ts';
import { Content } from './content.ts';
import type { PageRequest } from './dead-letters.ts';
import { itemsOf, storeItems } from './items.ts';
import type { MemoryQueueOptions } from './memory-options.ts';
import { type Moment, momentOf, type QueueClock } from './moment.ts';
import { within } from './taken.ts';

/**
 * Each method but `enqueue` and `close`, and what has to wait for an `enqueue`, does all it does in
 * one go, so that none sees half of another. There is no timer: what time changes is noticed by the next call.
 */
export class MemoryQueue implements MessageQueue {
  readonly durability = 'memory';
  readonly #clock: QueueClock;
  readonly #content: Content;
  readonly #giveWay: GiveWay;
  readonly #listeners = new Set<() => void>();
  #initialState: ApplicationState | undefined;
  /** Calls of `enqueue` that are not over. */
  readonly #entering = new Set<Promise<unknown>>();
  #closing: Promise<QueueClosing> | undefined;
  #lastClaim = 0;

  constructor(options: Required<MemoryQueueOptions>, clock: QueueClock) {
    this.#clock = clock;
    this.#giveWay = givingWay(clock);
    this.#content = new Content(options);
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#initialState = initialState;
    const { nowMs } = momentOf(this.#clock);
    const { lastSequence } = this.#content;
    return { dueMessages: this.#content.countDue(nowMs), lastSequence };
  }

  /** Room is taken for all of it first; a large batch then comes in in slices (D80). */
  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    this.#begin();
    if (entries.length <= SLICE_MESSAGES) {
      const { open, closed } = this.#admit(entries, addSizes(new Map(), entries));
      const sequences = this.#accept(open, delayMs);
      if (open.length > 0) this.#tellListeners();
      return { sequences, closed };
    }
    const entering = this.#takeInSlices(entries, delayMs);
    this.#entering.add(entering);
    return await entering.finally(() => this.#entering.delete(entering));
  }

  async #takeInSlices(entries: readonly QueueEntry[], delayMs: number): Promise<EnqueueResult> {
    const { open, closed } = this.#admit(entries, await sizesOf(entries, this.#giveWay));
    const sequences: number[] = [];
    for (const slice of slicesOf(open)) {
      const pause = this.#giveWay();
      if (pause !== undefined) {
        // Not slice by slice: whoever listens would claim a hundred at a time.
        this.#tellListeners();
        await pause;
      }
      for (const sequence of this.#accept(slice, delayMs)) sequences.push(sequence);
    }
    if (open.length > 0) this.#tellListeners();
    return { sequences, closed };
  }

  /** Takes room for the entries of open applications. */
  #admit(entries: readonly QueueEntry[], sizes: Map<string, number>) {
    const isClosed = (id: string): boolean => this.#content.find(id)?.isClosed === true;
    const closed = [...sizes.keys()].filter(isClosed);
    const isAllOpen = closed.length === 0;
    const open = isAllOpen ? entries : entries.filter((one) => !isClosed(one.applicationId));
    const taken = isAllOpen ? sizes : addSizes(new Map(), open);
    const bytes = [...taken.values()].reduce((sum, size) => sum + size, 0);
    this.#content.room.take(open.length, bytes);
    return { open, closed };
  }

  #accept(entries: readonly QueueEntry[], delayMs: number): number[] {
    const at = momentOf(this.#clock);
    this.#content.wake(at);
    const initialState = this.#initialState as ApplicationState;
    const first = this.#content.accept(entries, { initialState, delayMs, at });
    return Array.from(entries, (_, index) => first + index);
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const { at } = this.#begin();
    const { turns } = this.#content;
    const application = turns.next(request.tiers);
    if (application === undefined) {
      const nextAtMs = turns.nextAtMs(request.tiers);
      return nextAtMs === undefined ? {} : { dueInMs: nextAtMs - at.nowMs };
    }
    const { id: applicationId, state, waiting } = application;
    const taken = waiting.take(within(state, request), at.nowMs);
    this.#lastClaim += 1;
    const id = String(this.#lastClaim);
    const endsAtMs = at.after(request.leaseMs);
    application.claim = { id, application, taken, endsAtMs };
    turns.place(application, at.nowMs);
    const messages = taken.claimed(at.nowMs);
    return { id, applicationId, format: taken.format, state, nowMs: at.nowMs, messages };
  }

  async settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    const { at } = this.#begin();
    const held = this.#held(claim);
    if (held === undefined) return 'lost';
    const { application, taken } = held;
    if (results.length !== taken.size) {
      const detail = `${results.length} results for ${taken.size} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    this.#content.settle(held, results, at);
    this.#endClaim(application, state, at);
    return 'settled';
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const { at } = this.#begin();
    const held = this.#held(claim);
    if (held === undefined) return 'lost';
    this.#content.release(held);
    this.#endClaim(held.application, state, at);
    return 'released';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const { at } = this.#begin();
    const held = this.#held(claim);
    if (held === undefined) return 'lost';
    held.endsAtMs = at.after(leaseMs);
    this.#content.turns.place(held.application, at.nowMs);
    return 'extended';
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    const { at } = this.#begin();
    const expired: ExpiredMessage[] = [];
    for (const application of this.#content.all()) {
      const left = maxMessages - expired.length;
      if (left <= 0) break;
      const messages = application.waiting.takeOlder(at.nowMs - olderThanMs, left);
      const expiry = { application, messages, reason: 'horizon-passed' } as const;
      for (const message of this.#content.expire(expiry, at)) expired.push(message);
    }
    return expired;
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    this.#begin();
    return this.#content.countPending(ranges);
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    this.#begin();
    return this.#content.find(applicationId)?.state;
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    const application = this.#content.ensure(applicationId, this.#begin().initialState);
    application.close();
    // What was admitted before it was closed comes in yet, and is not to wait for nobody.
    if (this.#entering.size > 0) await Promise.allSettled(this.#entering);
    const { at } = this.#begin();
    const messages = application.waiting.takeFirst(maxMessages);
    return this.#content.expire({ application, messages, reason: 'destination-closed' }, at);
  }

  async reopenApplication(applicationId: string): Promise<void> {
    const { at, initialState } = this.#begin();
    const application = this.#content.find(applicationId);
    if (application === undefined) return;
    application.reopen(initialState);
    this.#content.place(application, at.nowMs);
    this.#tellListeners();
  }

  async listDeadLetters(page: PageRequest): Promise<DeadLetterPage> {
    this.#begin();
    return this.#content.dead.page(page);
  }

  /** As many as there is room for: the oldest of them. */
  async replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    const { at } = this.#begin();
    const revived = this.#content.revive(filter, at);
    if (revived > 0) this.#tellListeners();
    return revived;
  }

  async purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    this.#begin();
    return this.#content.purge(filter);
  }

  async *exportItems(): AsyncGenerator<ApplicationItem | MessageItem> {
    yield* itemsOf(this.#content, this.#begin().at);
  }

  async importItems(items: readonly KeyedItem[]): Promise<number> {
    const stored = storeItems(this.#content, items, this.#begin());
    this.#tellListeners();
    return stored;
  }

  /** Also after `close`: it tells what was handed back. */
  async stats(): Promise<QueueStats> {
    const at = momentOf(this.#clock);
    this.#content.wake(at);
    return this.#content.stats(at);
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  /** What was being accepted is accepted first (law 8). */
  async #end(): Promise<QueueClosing> {
    await Promise.allSettled(this.#entering);
    this.#listeners.clear();
    const returned: ReturnedMessage[] = [];
    for (const slice of this.#content.empty(SLICE_MESSAGES)) {
      for (const message of slice) returned.push(message);
      await this.#giveWay();
    }
    return { returned, left: 0 };
  }

  /** What every call begins with: it sees no lease that is over. */
  #begin(): { readonly at: Moment; readonly initialState: ApplicationState } {
    const initialState = this.#initialState;
    if (initialState === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const at = momentOf(this.#clock);
    this.#content.wake(at);
    return { at, initialState };
  }

  /** The claim as it is kept, while it is live. */
  #held({ id, applicationId }: Claim): LiveClaim | undefined {
    const held = this.#content.find(applicationId)?.claim;
    return held?.id === id ? held : undefined;
  }

  /** Its messages have gone where they belong. */
  #endClaim(application: Application, state: ApplicationUpdate | undefined, at: Moment): void {
    application.claim = undefined;
    if (state !== undefined) application.write(state, at.after(state.pauseMs));
    this.#content.place(application, at.nowMs);
    this.#tellListeners();
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }
}
