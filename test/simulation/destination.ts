/**
 * One destination's state as D72, D73 and D75 have it, kept from what its receiver was seen to do: a
 * second reading of those decisions, to hold the engine's against.
 */
import type { Tier } from '../../src/queue/queue.ts';
import { type Attempt, type AttemptEnd, blamesContent, isSuccess, isTooLarge } from './attempt.ts';
import type { Policy } from './scenario.ts';

/** Bounds of the wait that a settling writes, in ms. */
export interface WaitBounds {
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

/** Then requests are less than 2 ms apart. */
const SLOW_START_STEPS = 9;
const MAX_JITTER = 1.25;
/** A wait is in whole ms. */
const ROUNDING_MS = 1;

export class Destination {
  readonly #policy: Policy;
  url = '';
  tier: Tier = 'untried';
  /** Something was settled since it is the destination that it is. */
  isKnown = false;
  failures = 0;
  isOpen = false;
  probes = 0;
  bisectionFailures = 0;
  goneAt: number | undefined;
  /** When slow start began; absent where there is none. */
  recoveredAt: number | undefined;
  missing = 0;
  /** No request before. */
  pausedUntil = 0;
  /** Larger bodies were refused; growing with successes. */
  maxBytes = Number.POSITIVE_INFINITY;
  #passedBytes = 0;
  #successes = 0;
  /** Requests started in each second of slow start. */
  #slowStarts = new Map<number, number>();

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  /** How many requests are allowed in this second of slow start, this one counted: and how many there are. */
  start(now: number): { readonly allowed: number; readonly count: number } | undefined {
    if (this.recoveredAt === undefined) return undefined;
    const second = this.#slowStartStep(now);
    const count = (this.#slowStarts.get(second) ?? 0) + 1;
    this.#slowStarts.set(second, count);
    return { allowed: 2 ** Math.min(second, 20), count };
  }

  /** The clock of the queue jumped. */
  shift(byMs: number): void {
    if (this.goneAt !== undefined) this.goneAt -= byMs;
    if (this.recoveredAt !== undefined) this.recoveredAt -= byMs;
    this.pausedUntil -= byMs;
  }

  settle(attempt: Attempt, end: AttemptEnd): void {
    this.isKnown = true;
    if (end.isAborted) return;
    this.missing = 0;
    const { bytes, messages } = attempt;
    const { largeBodyBytes } = this.#policy;
    if (isSuccess(end)) this.#succeed(bytes, end.at);
    else if (isTooLarge(end, { count: messages.length, bytes, largeBodyBytes }))
      this.#shrink(bytes);
    else this.#fail(attempt, end);
  }

  #succeed(bytes: number, now: number): void {
    if (this.isOpen) this.#recover(now);
    else if (this.#slowStartStep(now) >= SLOW_START_STEPS) this.recoveredAt = undefined;
    this.tier = 'healthy';
    this.failures = 0;
    this.isOpen = false;
    this.probes = 0;
    this.bisectionFailures = 0;
    this.goneAt = undefined;
    this.#passedBytes = Math.max(this.#passedBytes, bytes);
    this.#successes += 1;
    if (this.#successes % this.#policy.growAfterSuccesses === 0) {
      this.maxBytes = Math.ceil(this.maxBytes * 1.1);
    }
  }

  #slowStartStep(now: number): number {
    return Math.floor((now - (this.recoveredAt ?? now)) / this.#policy.slowStartStepMs);
  }

  #recover(now: number): void {
    this.recoveredAt = now;
    this.#slowStarts = new Map();
  }

  #shrink(bytes: number): void {
    // Neither a failure of the destination's nor its recovery.
    if (this.isOpen) this.probes += 1;
    const passed = this.#passedBytes < bytes ? this.#passedBytes : 0;
    this.maxBytes = Math.max(1, Math.floor(bytes / 2), passed);
    this.#passedBytes = passed;
    this.#successes = 0;
  }

  #fail({ messages, retryAfter }: Attempt, end: AttemptEnd): void {
    const { goneConfirmMs, openAfterFailures } = this.#policy;
    const { status, at } = end;
    if (status === 410) {
      this.goneAt ??= at;
      if (at - this.goneAt >= goneConfirmMs) {
        this.tier = 'closed';
        return;
      }
    }
    const [first] = messages;
    const isOfOne = messages.length === 1 && first?.failedAlone === true;
    const isBisection = blamesContent(end) && messages.some(({ isBisecting }) => isBisecting);
    if (isBisection) this.bisectionFailures += 1;
    if (!isOfOne && !isBisection) this.failures += 1;
    if (this.failures >= openAfterFailures) this.isOpen = true;
    if (this.isOpen) this.probes += 1;
    this.tier = 'failing';
    if (this.recoveredAt !== undefined) this.#recover(at);
    if (status === 429 || status === 503) this.pausedUntil = at + (retryAfter.waitMs ?? 0);
  }

  get isBisectionOver(): boolean {
    return this.bisectionFailures >= this.#policy.bisectionMaxFailures;
  }

  /** How long nothing is to go to it after what was settled last. */
  waitAfter({ bytes, messages }: Attempt, end: AttemptEnd): WaitBounds {
    const { largeBodyBytes, slowStartStepMs } = this.#policy;
    const slowMs = this.recoveredAt === undefined ? 0 : slowStartStepMs;
    const isFailure = !end.isAborted && !isSuccess(end) && this.tier !== 'closed';
    const isForSize = isTooLarge(end, { count: messages.length, bytes, largeBodyBytes });
    const probeMs = this.isOpen && isFailure ? this.probeMs(this.probes) : 0;
    const pauseMs = isFailure && !isForSize ? Math.max(0, this.pausedUntil - end.at) : 0;
    // A failure begins slow start anew; how fast it goes on otherwise is counted by `start`.
    const restartMs = isFailure && !isForSize ? slowMs : 0;
    const atLeastMs = Math.max(probeMs, pauseMs, restartMs);
    return { atLeastMs, atMostMs: Math.max(atLeastMs * MAX_JITTER, slowMs) + ROUNDING_MS };
  }

  /** D72: likewise where it was missing when its turn came. */
  waitOfMissing(): WaitBounds {
    this.missing += 1;
    const ms = this.probeMs(this.missing);
    return { atLeastMs: ms, atMostMs: ms * MAX_JITTER + ROUNDING_MS };
  }

  /** D75: at the times of the schedule, but neither rarer nor more often than the policy says. */
  probeMs(probes: number): number {
    const { schedule, minProbeWaitMs, maxProbeWaitMs } = this.#policy;
    const { delaysMs } = schedule;
    const delayMs = delaysMs[probes - 1] ?? delaysMs.at(-1) ?? maxProbeWaitMs;
    return Math.min(Math.max(delayMs, minProbeWaitMs), maxProbeWaitMs);
  }
}
