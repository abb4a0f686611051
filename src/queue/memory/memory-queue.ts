import { SecurityEventError } from '../../errors.ts';
import { CallsInProgress } from '../../runtime/calls-in-progress.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createYield, type YieldToEventLoop } from '../../runtime/yield-to-event-loop.ts';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  DeadLetteredMessage,
  MessageQueue,
  QueueClosing,
  QueueEntry,
  ReturnedMessage,
} from '../queue.ts';
import {
  type Application,
  countBacklog,
  countPending,
  type LiveClaim,
  statsOf,
} from './application.ts';
import { type MemoryBounds, MemoryStore, type QueueTime } from './store.ts';

/** The part of a clock that the queue needs. It sets no timers. */
export type QueueClock = Pick<Clock, 'now' | 'monotonicMs'>;

/** Large work yields to the event loop between slices of this size. */
const SLICE_MESSAGES = 100;

/**
 * Every method except `enqueue` and `close` does its work synchronously, so that no call sees half of
 * another. There are no timers: each call first ends claims whose lease has expired, and
 * updates which applications are ready.
 */
export class MemoryQueue implements MessageQueue {
  readonly durability = 'memory';
  readonly #clock: QueueClock;
  readonly #store: MemoryStore;
  readonly #yieldToEventLoop: YieldToEventLoop;
  readonly #listeners = new Set<() => void>();
  readonly #runningEnqueues = new CallsInProgress();
  #initialState: ApplicationState | undefined = undefined;
  #closing: Promise<QueueClosing> | undefined = undefined;
  #lastClaimId = 0;

  constructor(bounds: MemoryBounds, clock: QueueClock) {
    this.#clock = clock;
    this.#yieldToEventLoop = createYield(clock);
    this.#store = new MemoryStore(bounds);
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#initialState = initialState;
    const { nowMs } = this.#time();
    return { ...countBacklog(this.#store.all(), nowMs), lastSequence: this.#store.lastSequence };
  }

  readonly enqueue: MessageQueue['enqueue'] = async (entries, delayMs = 0) => {
    this.#begin();
    const { open, closed } = this.#store.reserve(entries);
    if (open.length <= SLICE_MESSAGES) {
      const sequences = this.#accept(open, delayMs);
      if (sequences.length > 0) this.#notify();
      return { sequences, closed };
    }
    const accepting = this.#acceptInSlices(open, delayMs);
    return { sequences: await this.#runningEnqueues.track(accepting), closed };
  };

  async #acceptInSlices(entries: readonly QueueEntry[], delayMs: number): Promise<number[]> {
    const sequences: number[] = [];
    for (let start = 0; start < entries.length; start += SLICE_MESSAGES) {
      const pause = this.#yieldToEventLoop();
      if (pause !== undefined) {
        // Only before a pause, not after each slice: otherwise a claim would have only one slice of messages.
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
    const at = this.#time();
    this.#store.advance(at.nowMs);
    const initialState = this.#initialState as ApplicationState;
    return this.#store.accept(entries, { initialState, delayMs, at });
  }

  readonly claim: MessageQueue['claim'] = async (request) => {
    const { at } = this.#begin();
    const { schedule } = this.#store;
    const application = schedule.next(request.ofHealth);
    if (application === undefined) {
      const nextAtMs = schedule.nextAtMs(request.ofHealth);
      return nextAtMs === undefined ? {} : { dueInMs: nextAtMs - at.nowMs };
    }
    this.#lastClaimId += 1;
    const times = {
      id: String(this.#lastClaimId),
      nowMs: at.nowMs,
      endsAtMs: at.after(request.leaseMs),
    };
    const claim = application.startClaim(request, times);
    schedule.update(application, at.nowMs);
    return claim;
  };

  readonly settle: MessageQueue['settle'] = async (claim, results, state) => {
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
    this.#finishClaim(application, state, at);
    return 'settled';
  };

  readonly release: MessageQueue['release'] = async (claim, state) => {
    const { at } = this.#begin();
    const live = this.#liveClaim(claim);
    if (live === undefined) return 'lost';
    live.application.releaseClaim();
    this.#finishClaim(live.application, state, at);
    return 'released';
  };

  readonly extend: MessageQueue['extend'] = async (claim, leaseMs) => {
    const { at } = this.#begin();
    const live = this.#liveClaim(claim);
    if (live === undefined) return 'lost';
    live.endsAtMs = at.after(leaseMs);
    this.#store.schedule.update(live.application, at.nowMs);
    return 'extended';
  };

  readonly deadLetterOlderThan: MessageQueue['deadLetterOlderThan'] = async (
    olderThanMs,
    maxMessages,
  ) => {
    const { at } = this.#begin();
    const expired: DeadLetteredMessage[] = [];
    for (const application of this.#store.all()) {
      const left = maxMessages - expired.length;
      if (left <= 0) break;
      const messages = application.waiting.takeOlder(at.nowMs - olderThanMs, left);
      const reason = 'horizon-passed';
      for (const message of this.#store.deadLetter(application, { messages, reason }, at)) {
        expired.push(message);
      }
    }
    return expired;
  };

  readonly countPending: MessageQueue['countPending'] = async (ranges) => {
    this.#begin();
    return countPending(this.#store.all(), ranges);
  };

  readonly applicationState: MessageQueue['applicationState'] = async (applicationId) => {
    this.#begin();
    return this.#store.find(applicationId)?.state;
  };

  readonly deadLetterClosed: MessageQueue['deadLetterClosed'] = async (
    applicationId,
    maxMessages,
  ) => {
    const { at } = this.#begin();
    const application = this.#store.find(applicationId);
    if (application?.isClosed !== true) return [];
    const messages = application.waiting.takeFirst(maxMessages);
    return this.#store.deadLetter(application, { messages, reason: 'destination-closed' }, at);
  };

  readonly reopenApplication: MessageQueue['reopenApplication'] = async (applicationId) => {
    const { at, initialState } = this.#begin();
    const application = this.#store.find(applicationId);
    if (application === undefined || application.state.health === 'healthy') return;
    const { circuitBreaker } = application.state;
    application.setState({ ...initialState, circuitBreaker }, Number.NEGATIVE_INFINITY);
    this.#store.reschedule(application, at.nowMs);
    this.#notify();
  };

  readonly listDeadLetters: MessageQueue['listDeadLetters'] = async (page) => {
    this.#begin();
    return this.#store.dead.page(page);
  };

  readonly replayDeadLetters: MessageQueue['replayDeadLetters'] = async (filter) => {
    const { at } = this.#begin();
    const replayed = this.#store.replay(filter, at);
    if (replayed > 0) this.#notify();
    return replayed;
  };

  readonly purgeDeadLetters: MessageQueue['purgeDeadLetters'] = async (filter) => {
    this.#begin();
    return this.#store.dead.purge(filter);
  };

  /** Also works after `close`: the ledger then counts the returned messages. */
  readonly stats: MessageQueue['stats'] = async () => {
    const { nowMs } = this.#time();
    this.#store.advance(nowMs);
    const { pendingBytes } = this.#store;
    return { ...statsOf(this.#store.all(), nowMs), pendingBytes };
  };

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#close();
    return await this.#closing;
  }

  /** Waits for calls of `enqueue` in progress, to return their messages too. */
  async #close(): Promise<QueueClosing> {
    await this.#runningEnqueues.waitForAll();
    this.#listeners.clear();
    const returned: ReturnedMessage[] = [];
    for (const slice of this.#store.empty(SLICE_MESSAGES)) {
      for (const message of slice) returned.push(message);
      await this.#yieldToEventLoop();
    }
    return { returned, remaining: 0 };
  }

  /** Begins a call: checks that the queue is open, and ends claims whose lease has expired. */
  #begin(): { readonly at: QueueTime; readonly initialState: ApplicationState } {
    const initialState = this.#initialState;
    if (initialState === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const at = this.#time();
    this.#store.advance(at.nowMs);
    return { at, initialState };
  }

  #time(): QueueTime {
    const exactMs = this.#clock.monotonicMs();
    const nowMs = Math.floor(exactMs);
    const epochMs = this.#clock.now();
    return { nowMs, epochMs, after: (ms) => (ms > 0 ? Math.ceil(exactMs + ms) : nowMs) };
  }

  #liveClaim({ id, applicationId }: Claim): LiveClaim | undefined {
    const claim = this.#store.find(applicationId)?.claim;
    return claim?.id === id ? claim : undefined;
  }

  #finishClaim(
    application: Application,
    state: ApplicationUpdate | undefined,
    at: QueueTime,
  ): void {
    if (state !== undefined) application.setState(state, at.after(state.pauseMs));
    this.#store.reschedule(application, at.nowMs);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
