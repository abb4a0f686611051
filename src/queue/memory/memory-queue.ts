import { SecurityEventError } from '../../errors.ts';
import { createYield, type YieldToEventLoop } from '../../runtime/yield-to-event-loop.ts';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  EnqueueResult,
  ExpiredMessage,
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
import type { PageRequest } from './dead-letters.ts';
import { type QueueClock, type QueueTime, readTime } from './queue-time.ts';
import { countDue, countPending, statsOf } from './stats.ts';
import { type MemoryBounds, MemoryStore } from './store.ts';

/** Large work yields to the event loop between slices of this size. */
const SLICE_MESSAGES = 100;

/**
 * Every method except `enqueue` and `close` does its work synchronously, so that no call sees half of
 * another. There are no timers: each call first applies what time has changed.
 */
export class MemoryQueue implements MessageQueue {
  readonly durability = 'memory';
  readonly #clock: QueueClock;
  readonly #store: MemoryStore;
  readonly #yieldToEventLoop: YieldToEventLoop;
  readonly #listeners = new Set<() => void>();
  /** Enqueues in progress. */
  readonly #entering = new Set<Promise<unknown>>();
  #initialState: ApplicationState | undefined = undefined;
  #closing: Promise<QueueClosing> | undefined = undefined;
  #lastClaim = 0;

  constructor(bounds: MemoryBounds, clock: QueueClock) {
    this.#clock = clock;
    this.#yieldToEventLoop = createYield(clock);
    this.#store = new MemoryStore(bounds);
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#initialState = initialState;
    const { nowMs } = readTime(this.#clock);
    return { ...countDue(this.#store.all(), nowMs), lastSequence: this.#store.lastSequence };
  }

  async enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    this.#begin();
    const { open, closed } = this.#store.reserve(entries);
    if (open.length <= SLICE_MESSAGES) {
      const sequences = this.#accept(open, delayMs);
      if (sequences.length > 0) this.#notify();
      return { sequences, closed };
    }
    const entering = this.#acceptInSlices(open, delayMs);
    this.#entering.add(entering);
    const sequences = await entering.finally(() => this.#entering.delete(entering));
    return { sequences, closed };
  }

  async #acceptInSlices(entries: readonly QueueEntry[], delayMs: number): Promise<number[]> {
    const sequences: number[] = [];
    for (let start = 0; start < entries.length; start += SLICE_MESSAGES) {
      const pause = this.#yieldToEventLoop();
      if (pause !== undefined) {
        // Once a turn, not once a slice: otherwise claims would have a hundred messages each.
        this.#notify();
        await pause;
      }
      const slice = entries.slice(start, start + SLICE_MESSAGES);
      for (const sequence of this.#accept(slice, delayMs)) sequences.push(sequence);
    }
    this.#notify();
    return sequences;
  }

  #accept(entries: readonly QueueEntry[], delayMs: number): number[] {
    const at = readTime(this.#clock);
    this.#store.advance(at.nowMs);
    const initialState = this.#initialState as ApplicationState;
    return this.#store.accept(entries, { initialState, delayMs, at });
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const { at } = this.#begin();
    const { schedule } = this.#store;
    const application = schedule.next(request.tiers);
    if (application === undefined) {
      const nextAtMs = schedule.nextAtMs(request.tiers);
      return nextAtMs === undefined ? {} : { dueInMs: nextAtMs - at.nowMs };
    }
    this.#lastClaim += 1;
    const claim = application.lease(String(this.#lastClaim), request, at);
    schedule.update(application, at.nowMs);
    return claim;
  }

  async settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    const { at } = this.#begin();
    const live = this.#liveClaim(claim);
    if (live === undefined) return 'lost';
    const { application, messages } = live;
    if (results.length !== messages.length) {
      const detail = `${results.length} results for ${messages.length} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    this.#store.settle(live, results, at);
    application.claim = undefined;
    this.#afterClaim(application, state, at);
    return 'settled';
  }

  async release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    const { at } = this.#begin();
    const live = this.#liveClaim(claim);
    if (live === undefined) return 'lost';
    live.application.putBackClaim(1);
    this.#afterClaim(live.application, state, at);
    return 'released';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const { at } = this.#begin();
    const live = this.#liveClaim(claim);
    if (live === undefined) return 'lost';
    live.endsAtMs = at.after(leaseMs);
    this.#store.schedule.update(live.application, at.nowMs);
    return 'extended';
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    const { at } = this.#begin();
    const expired: ExpiredMessage[] = [];
    for (const application of this.#store.all()) {
      const left = maxMessages - expired.length;
      if (left <= 0) break;
      const messages = application.waiting.takeOlder(at.nowMs - olderThanMs, left);
      const reason = 'horizon-passed';
      for (const message of this.#store.expire(application, { messages, reason }, at)) {
        expired.push(message);
      }
    }
    return expired;
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    this.#begin();
    return countPending(this.#store.all(), ranges);
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    this.#begin();
    return this.#store.find(applicationId)?.state;
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    const application = this.#store.ensure(applicationId, this.#begin().initialState);
    application.close();
    // Messages that were admitted before the close still come in.
    if (this.#entering.size > 0) await Promise.allSettled(this.#entering);
    const { at } = this.#begin();
    const messages = application.waiting.takeFirst(maxMessages);
    return this.#store.expire(application, { messages, reason: 'destination-closed' }, at);
  }

  async reopenApplication(applicationId: string): Promise<void> {
    const { at, initialState } = this.#begin();
    const application = this.#store.find(applicationId);
    if (application === undefined || application.state.tier === 'healthy') return;
    application.reopen(initialState);
    this.#store.update(application, at.nowMs);
    this.#notify();
  }

  async listDeadLetters(page: PageRequest): Promise<DeadLetterPage> {
    this.#begin();
    return this.#store.dead.page(page);
  }

  async replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    const { at } = this.#begin();
    const replayed = this.#store.replay(filter, at);
    if (replayed > 0) this.#notify();
    return replayed;
  }

  async purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    this.#begin();
    return this.#store.dead.purge(filter);
  }

  /** Answers after `close` too: the ledger shows what was returned. */
  async stats(): Promise<QueueStats> {
    const { nowMs } = readTime(this.#clock);
    this.#store.advance(nowMs);
    const { pendingBytes } = this.#store;
    return { ...statsOf(this.#store.all(), nowMs), pendingBytes };
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

  /** Enqueues in progress end first, so that their messages are returned too. */
  async #end(): Promise<QueueClosing> {
    await Promise.allSettled(this.#entering);
    this.#listeners.clear();
    const returned: ReturnedMessage[] = [];
    for (const slice of this.#store.empty(SLICE_MESSAGES)) {
      for (const message of slice) returned.push(message);
      await this.#yieldToEventLoop();
    }
    return { returned, left: 0 };
  }

  /** Begins a call: it sees no expired lease. */
  #begin(): { readonly at: QueueTime; readonly initialState: ApplicationState } {
    const initialState = this.#initialState;
    if (initialState === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const at = readTime(this.#clock);
    this.#store.advance(at.nowMs);
    return { at, initialState };
  }

  #liveClaim({ id, applicationId }: Claim): LiveClaim | undefined {
    const claim = this.#store.find(applicationId)?.claim;
    return claim?.id === id ? claim : undefined;
  }

  #afterClaim(application: Application, state: ApplicationUpdate | undefined, at: QueueTime): void {
    if (state !== undefined) application.update(state, at.after(state.pauseMs));
    this.#store.update(application, at.nowMs);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
