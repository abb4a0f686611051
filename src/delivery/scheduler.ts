/**
 * Claims due messages while there are free slots, and starts a delivery for each claim. Fair, because applications
 * take turns in the queue.
 */
import type { Claim, MessageQueue, NothingDue } from '../queue/queue.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import type { Clock } from '../runtime/clock.ts';
import { onAbort } from '../runtime/on-abort.ts';
import type { Random } from '../runtime/random.ts';
import { WakeableTimer } from '../runtime/timers.ts';
import { nextTurn, type YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { BRACKET_BYTES } from '../webhook/encoder.ts';
import { queueRetryMs } from './claim-calls.ts';
import { errorCodeOf, nextTry, type Observe } from './events.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { Reservation, Slot, Slots } from './slots.ts';

/** A claim of this process. */
export interface HeldClaim {
  readonly claim: Claim;
  readonly slot: Slot;
  /** When the queue was asked for the claim, on the monotonic clock. */
  readonly requestedAt: number;
  /** The same moment on the wall clock. */
  readonly requestedAtWall: number;
  /** When it answered, on the monotonic clock. The lease began, and the queue read its clock, between the two times. */
  readonly answeredAt: number;
}

export interface SchedulerParts {
  readonly queue: MessageQueue;
  readonly slots: Slots;
  /** Resolves when the queue can be used. */
  readonly ready: () => Promise<void> | undefined;
  readonly policy: DeliveryPolicy;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: Observe;
  /** Awaited between two claims, so that starting many attempts does not hold the event loop. */
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Rejects only if the claim cannot be read. */
  readonly deliver: (held: HeldClaim) => Promise<void>;
}

const MAX_CLAIMS_AT_ONCE = 16;

/** Longest time between two polls of the queue, in ms: a notification may get lost. */
const MAX_WAIT_MS = 30_000;

export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #claims = new CallsInProgress();
  readonly #stop = new AbortController();
  readonly #timer: WakeableTimer;
  /** When the next message is due, on the monotonic clock. Undefined while a message may be due now. */
  #nextDueAt: number | undefined;
  /** Doubles while messages are due: a queue on a disk or a server can handle concurrent claims. */
  #claimsAtOnce = 1;
  #roundWaiters: (() => void)[] = [];
  #loop: Promise<void> | undefined;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#timer = new WakeableTimer(parts.clock);
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  get isInFlight(): boolean {
    return this.#claims.count > 0;
  }

  /** Makes it poll the queue now: a message may be due, or a slot is free. */
  wake(): void {
    this.#nextDueAt = undefined;
    this.#timer.wake();
  }

  /**
   * Resolves when nothing is in flight and no message is due before `untilMs` on the monotonic clock, or when `signal`
   * is aborted.
   */
  async drain(untilMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isDrained(untilMs)) {
      await new Promise<void>((resolve) => {
        const stopListening = onAbort(signal, resolve);
        this.#roundWaiters.push(() => {
          stopListening();
          resolve();
        });
      });
    }
  }

  /** Stops claiming. Resolves when nothing is in flight. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.wake();
    await this.#loop;
    await this.#claims.waitForAll();
  }

  #isDrained(untilMs: number): boolean {
    const isWaiting = this.#nextDueAt !== undefined && this.#nextDueAt > untilMs;
    return this.#claims.count === 0 && isWaiting;
  }

  async #run(): Promise<void> {
    const { clock, random, ready } = this.#parts;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      this.#timer.begin();
      try {
        await ready();
        const waitMs = await this.#claimAll();
        failures = 0;
        this.#notifyRoundEnd();
        await this.#timer.wait(Math.min(waitMs, MAX_WAIT_MS));
        // The requests that end in one turn share a round: with a round for each, they took a tenth more CPU.
        await nextTurn();
      } catch (error) {
        const retryInMs = queueRetryMs(failures, random);
        failures += 1;
        this.#reportFailure(error, retryInMs);
        // `wake` does not end this wait: a failing queue is not asked more often because messages become due.
        await clock.sleepUnref(retryInMs, this.#stop.signal);
      }
    }
    this.#timer.end();
  }

  /** Claims until no message is due or no slot is free. Resolves to the time until the next poll, in ms. */
  async #claimAll(): Promise<number> {
    const { slots, clock } = this.#parts;
    // A message may be due until the queue has answered.
    this.#nextDueAt = undefined;
    while (!this.#stop.signal.aborted) {
      const reserved = slots.reserve(this.#claimsAtOnce);
      if (reserved.count === 0) return MAX_WAIT_MS;
      const dueInMs = await this.#claimSome(reserved);
      const more = Math.min(2 * reserved.count, MAX_CLAIMS_AT_ONCE);
      this.#claimsAtOnce = dueInMs === undefined ? more : 1;
      if (dueInMs === undefined) continue;
      if (!this.#timer.isWoken) this.#nextDueAt = clock.monotonicMs() + dueInMs;
      return dueInMs;
    }
    return 0;
  }

  /**
   * Makes one claim for each reserved slot, and starts the delivery of each claim. Resolves to `undefined` if all
   * claims got messages, since more may be due. Otherwise resolves to the time until the next one is due, in ms.
   */
  async #claimSome(reserved: Reservation): Promise<number | undefined> {
    const calls = Array.from({ length: reserved.count }, () => this.#claimOne(reserved));
    const answers = await Promise.allSettled(calls);
    reserved.end();
    const errors = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (errors.length === answers.length) throw errors[0];
    for (const error of errors) this.#reportFailure(error, 0);
    const waits = answers.flatMap((one) =>
      one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
    );
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** Makes a claim and starts its delivery, or resolves to the time until a message is due, in ms. */
  async #claimOne(reserved: Reservation): Promise<number | undefined> {
    const { queue, policy, leaseMs, clock, yieldToEventLoop } = this.#parts;
    const { maxMessages, maxBodyBytes } = policy;
    const { ofHealth } = reserved;
    const requestedAt = clock.monotonicMs();
    const requestedAtWall = clock.now();
    const maxBytes = maxBodyBytes - BRACKET_BYTES;
    const answer = await queue.claim({ ofHealth, maxMessages, maxBytes, leaseMs });
    const answeredAt = clock.monotonicMs();
    if (!isClaim(answer)) return answer.dueInMs ?? Number.POSITIVE_INFINITY;
    // Read before the slot is taken: the answer of a host's own queue may be damaged.
    const { health } = answer.state;
    const slot = reserved.take(health);
    await yieldToEventLoop();
    void this.#deliver({ claim: answer, slot, requestedAt, requestedAtWall, answeredAt });
    return undefined;
  }

  async #deliver(held: HeldClaim): Promise<void> {
    const { deliver, leaseMs } = this.#parts;
    const number = this.#claims.begin();
    try {
      await deliver(held);
    } catch (error) {
      // A damaged claim must not end the host's process. Its messages are due again after the lease.
      this.#reportFailure(error, leaseMs);
    }
    held.slot.release();
    this.#claims.end(number);
    this.wake();
  }

  #reportFailure(error: unknown, retryInMs: number): void {
    const next = nextTry(retryInMs, this.#stop.signal);
    this.#parts.observe('queue-failed', () => ({
      operation: 'claim',
      ...next,
      ...errorCodeOf(error),
    }));
  }

  #notifyRoundEnd(): void {
    const waiting = this.#roundWaiters;
    this.#roundWaiters = [];
    for (const resume of waiting) resume();
  }
}

/** Own properties only: a polluted prototype may have an `id`. */
const isClaim = (answer: Claim | NothingDue): answer is Claim => Object.hasOwn(answer, 'id');
