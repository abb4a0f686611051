/**
 * Claims due messages while there are free slots, and starts a delivery for each claim. Fair, because applications
 * take turns in the queue.
 */
import type { Claim, ClaimRequest, MessageQueue, NothingDue } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import { onAbort } from '../runtime/on-abort.ts';
import type { Random } from '../runtime/random.ts';
import { WakeableTimer } from '../runtime/timers.ts';
import { Underway } from '../runtime/underway.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { BRACKET_BYTES } from '../webhook/encoder.ts';
import { jittered } from '../webhook/retry.ts';
import { errorCodeOf, type Observe } from './events.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { Slot, Slots } from './slots.ts';

/** A claim of this process. */
export interface HeldClaim {
  readonly claim: Claim;
  readonly slot: Slot;
  /** Time on the monotonic clock before the claim was requested: its lease began no earlier. */
  readonly heldSince: number;
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

/** Waits between calls of a queue that keeps failing, in ms. */
const QUEUE_DELAYS_MS = [100, 500, 2000, 10_000, 30_000] as const;

const MAX_CLAIMS_AT_ONCE = 16;

/** Longest time between two looks into the queue, in ms: a notification may get lost. */
const MAX_WAIT_MS = 30_000;

export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #claims = new Underway();
  readonly #stop = new AbortController();
  readonly #timer: WakeableTimer;
  /** When the next message is due, on the monotonic clock; set while nothing can be claimed. */
  #nextDueAt: number | undefined;
  /** Doubles while messages are due, since a queue on a disk or a server can answer many calls at a time. */
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

  /** Whether a claim is not settled yet. */
  get isInFlight(): boolean {
    return this.#claims.count > 0;
  }

  /** Makes it look into the queue now: a message may be due, or a slot is free. */
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
    await this.#claims.over();
  }

  #isDrained(untilMs: number): boolean {
    const isWaiting = this.#nextDueAt !== undefined && this.#nextDueAt > untilMs;
    return this.#claims.count === 0 && isWaiting;
  }

  async #run(): Promise<void> {
    const { clock, random, observe, ready } = this.#parts;
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      this.#timer.begin();
      try {
        await ready();
        const waitMs = await this.#claimAll();
        failures = 0;
        this.#notifyRoundEnd();
        await this.#timer.wait(Math.min(waitMs, MAX_WAIT_MS));
      } catch (error) {
        const retryInMs = jittered(QUEUE_DELAYS_MS[failures] ?? MAX_WAIT_MS, random);
        failures += 1;
        observe('queue-failed', () => ({ operation: 'claim', retryInMs, ...errorCodeOf(error) }));
        // `wake` does not end this wait: a failing queue is not asked more often because messages become due.
        await clock.idle(retryInMs, this.#stop.signal);
      }
    }
    this.#timer.end();
  }

  /** Claims until no message is due or no slot is free. Resolves to the time until it should look again, in ms. */
  async #claimAll(): Promise<number> {
    const { slots, clock } = this.#parts;
    while (!this.#stop.signal.aborted) {
      const { tiers, count } = slots.room();
      if (count === 0) return MAX_WAIT_MS;
      const asked = Math.min(this.#claimsAtOnce, count);
      const dueInMs = await this.#claimSome(tiers, asked);
      this.#claimsAtOnce = dueInMs === undefined ? Math.min(2 * asked, MAX_CLAIMS_AT_ONCE) : 1;
      if (dueInMs === undefined) continue;
      if (!this.#timer.isWoken) this.#nextDueAt = clock.monotonicMs() + dueInMs;
      return dueInMs;
    }
    return 0;
  }

  /**
   * Makes up to `count` claims and starts their deliveries. If there were fewer due, resolves to the time until the next
   * message is due, in ms; otherwise to `undefined`: more may be due now.
   */
  async #claimSome(tiers: ClaimRequest['tiers'], count: number): Promise<number | undefined> {
    const { queue, slots, policy, leaseMs, clock, observe, yieldToEventLoop } = this.#parts;
    const { maxMessages, maxBodyBytes } = policy;
    const maxBytes = maxBodyBytes - BRACKET_BYTES;
    // Before the call, since the lease may begin at any time during it.
    const heldSince = clock.monotonicMs();
    let dueInMs: number | undefined;
    const request = { tiers, maxMessages, maxBytes, leaseMs };
    const { answers, errors } = await claims(queue, request, count);
    for (const error of errors) {
      observe('queue-failed', () => ({ operation: 'claim', retryInMs: 0, ...errorCodeOf(error) }));
    }
    for (const answer of answers) {
      if (!isClaim(answer)) {
        const { dueInMs: ms = Number.POSITIVE_INFINITY } = answer;
        dueInMs = dueInMs === undefined ? ms : Math.min(dueInMs, ms);
        continue;
      }
      void this.#deliver({ claim: answer, slot: slots.take(answer.state.tier), heldSince });
      const pause = yieldToEventLoop();
      if (pause !== undefined) await pause;
    }
    return dueInMs;
  }

  async #deliver(held: HeldClaim): Promise<void> {
    const { deliver, observe, leaseMs } = this.#parts;
    const number = this.#claims.begin();
    try {
      await deliver(held);
    } catch {
      // A damaged claim must not end the host's process. Its messages are due again after the lease.
      observe('queue-failed', () => ({ operation: 'claim', retryInMs: leaseMs }));
    }
    held.slot.release();
    this.#claims.end(number);
    this.wake();
  }

  #notifyRoundEnd(): void {
    const waiting = this.#roundWaiters;
    this.#roundWaiters = [];
    for (const resume of waiting) resume();
  }
}

interface Claims {
  readonly answers: readonly (Claim | NothingDue)[];
  readonly errors: readonly unknown[];
}

/** Makes `count` calls at the same time. Rejects if all of them failed. */
async function claims(queue: MessageQueue, request: ClaimRequest, count: number): Promise<Claims> {
  if (count === 1) return { answers: [await queue.claim(request)], errors: [] };
  const calls = Array.from({ length: count }, () => queue.claim(request));
  const answers: (Claim | NothingDue)[] = [];
  const errors: unknown[] = [];
  for (const call of await Promise.allSettled(calls)) {
    if (call.status === 'fulfilled') answers.push(call.value);
    else errors.push(call.reason);
  }
  // Messages that were claimed are delivered even if other calls failed.
  if (answers.length === 0) throw errors[0];
  return { answers, errors };
}

const isClaim = (answer: Claim | object): answer is Claim => Object.hasOwn(answer, 'id');
