/**
 * The expected state of a destination by D72, D73 and D75, derived from its receiver's behaviour. An
 * independent implementation of those decisions, to compare with the engine's.
 */
import { type RetryState, retryStateOf } from '../../src/delivery/settlement.ts';
import type { Claim, Health } from '../../src/queue/queue.ts';
import { type Attempt, type AttemptEnd, blamesContent, isSuccess, isTooLarge } from './attempt.ts';
import type { Policy } from './profiles.ts';
import type { FixedSettings } from './scenario.ts';

/** Bounds of the destination's wait after a settlement, in milliseconds. */
export interface WaitBounds {
  readonly atLeastMs: number;
  readonly atMostMs: number;
}

/** After these steps requests are less than 2 ms apart. */
const SLOW_START_STEPS = 9;
const MAX_JITTER = 1.25;
/** Waits are whole milliseconds. */
const ROUNDING_MS = 1;

export class Destination {
  readonly #policy: Policy;
  readonly #limits: FixedSettings;
  /** Minimum time between the starts of the last request and the next one. */
  intervalMs = 0;
  /** When the last request started, by the queue's clock: earlier after the clock jumped forward. */
  lastRequestAt = Number.NEGATIVE_INFINITY;
  /** The same by the monotonic clock of its sender, which does not jump. */
  ownLastRequestAt = Number.NEGATIVE_INFINITY;
  url = '';
  health: Health = 'untried';
  /** Whether an attempt was settled since the URL was set or reopened. */
  isKnown = false;
  failures = 0;
  isOpen = false;
  probes = 0;
  goneAt: number | undefined;
  /** When slow start began. Undefined without slow start. */
  recoveredAt: number | undefined;
  missing = 0;
  /** Requested by the receiver. */
  pausedUntil = 0;
  /** Requests started in each second of slow start. */
  #slowStarts = new Map<number, number>();

  constructor(policy: Policy, limits: FixedSettings) {
    this.#policy = policy;
    this.#limits = limits;
  }

  /** The messages of one second, at least 1. */
  get maxMessagesAtOnce(): number {
    const { maxMessagesPerSecond = Number.POSITIVE_INFINITY } = this.#limits;
    return Math.max(1, maxMessagesPerSecond);
  }

  intervalAfter(messageCount: number): number {
    const { maxRequestsPerSecond, maxMessagesPerSecond } = this.#limits;
    const requestMs = maxRequestsPerSecond === undefined ? 0 : 1000 / maxRequestsPerSecond;
    const messageMs = maxMessagesPerSecond === undefined ? 0 : 1000 / maxMessagesPerSecond;
    return Math.max(requestMs, messageCount * messageMs);
  }

  recordRequest(now: number, messageCount: number): void {
    this.lastRequestAt = now;
    this.ownLastRequestAt = now;
    this.intervalMs = this.intervalAfter(messageCount);
  }

  /** Neither a reopening nor a new URL restarts the rate limit. */
  continueRateOf({ lastRequestAt, ownLastRequestAt, intervalMs }: Destination): void {
    Object.assign(this, { lastRequestAt, ownLastRequestAt, intervalMs });
  }

  /** Counts a request. Returns the allowed and actual number of requests in this second of slow start. */
  start(now: number): { readonly allowed: number; readonly count: number } | undefined {
    if (this.recoveredAt === undefined) return undefined;
    const second = this.#slowStartStep(now);
    const count = (this.#slowStarts.get(second) ?? 0) + 1;
    this.#slowStarts.set(second, count);
    return { allowed: 2 ** Math.min(second, 20), count };
  }

  /** Adjusts all times after the queue's clock jumped. */
  shift(byMs: number): void {
    if (this.goneAt !== undefined) this.goneAt -= byMs;
    if (this.recoveredAt !== undefined) this.recoveredAt -= byMs;
    this.pausedUntil -= byMs;
    this.lastRequestAt -= byMs;
  }

  settle(attempt: Attempt, end: AttemptEnd, claimed: Claim['messages']): void {
    this.isKnown = true;
    if (end.isAborted) return;
    this.missing = 0;
    const { bytes, messages } = attempt;
    const { largeBodyBytes } = this.#policy;
    if (isSuccess(end)) this.#succeed(end.at);
    else if (!isTooLarge(end, { count: messages.length, bytes, largeBodyBytes })) {
      this.#fail(attempt, end, claimed.map(retryStateOf));
    }
    // Neither a failure of the destination nor its recovery.
    else if (this.isOpen) this.probes += 1;
  }

  #succeed(now: number): void {
    if (this.isOpen) this.#recover(now);
    else if (this.#slowStartStep(now) >= SLOW_START_STEPS) this.recoveredAt = undefined;
    this.health = 'healthy';
    this.failures = 0;
    this.isOpen = false;
    this.probes = 0;
    this.goneAt = undefined;
  }

  #slowStartStep(now: number): number {
    return Math.floor((now - (this.recoveredAt ?? now)) / this.#policy.slowStartStepMs);
  }

  #recover(now: number): void {
    this.recoveredAt = now;
    this.#slowStarts = new Map();
  }

  #fail({ retryAfter }: Attempt, end: AttemptEnd, states: readonly RetryState[]): void {
    const { goneConfirmMs, openAfterFailures } = this.#policy;
    const { status, at } = end;
    if (status === 410) {
      this.goneAt ??= at;
      if (at - this.goneAt >= goneConfirmMs) {
        this.health = 'closed';
        return;
      }
    }
    const isOfOne = states.length === 1 && states[0]?.failedAlone === true;
    const isBisection = blamesContent(end) && states.some(({ isBisecting }) => isBisecting);
    if (!isOfOne && !isBisection) this.failures += 1;
    if (this.failures >= openAfterFailures) this.isOpen = true;
    if (this.isOpen) this.probes += 1;
    this.health = 'failing';
    if (this.recoveredAt !== undefined) this.#recover(at);
    if (status === 429 || status === 503) this.pausedUntil = at + (retryAfter.waitMs ?? 0);
  }

  /** Returns how long the destination waits after this attempt. */
  waitAfter({ bytes, messages }: Attempt, end: AttemptEnd): WaitBounds {
    const { largeBodyBytes, slowStartStepMs } = this.#policy;
    const slowMs = this.recoveredAt === undefined ? 0 : slowStartStepMs;
    const isFailure = !end.isAborted && !isSuccess(end) && this.health !== 'closed';
    const isForSize = isTooLarge(end, { count: messages.length, bytes, largeBodyBytes });
    const probeMs = this.isOpen && isFailure ? this.probeMs(this.probes) : 0;
    const pauseMs = isFailure && !isForSize ? Math.max(0, this.pausedUntil - end.at) : 0;
    // A failure restarts slow start. Otherwise `start` checks its pace.
    const restartMs = isFailure && !isForSize ? slowMs : 0;
    const atLeastMs = Math.max(probeMs, pauseMs, restartMs);
    return {
      atLeastMs,
      atMostMs: Math.max(atLeastMs * MAX_JITTER, slowMs, this.intervalMs) + ROUNDING_MS,
    };
  }

  /** D72: returns how long the destination waits after its settings were missing. */
  waitOfMissing(): WaitBounds {
    this.missing += 1;
    const ms = this.probeMs(this.missing);
    return { atLeastMs: ms, atMostMs: ms * MAX_JITTER + ROUNDING_MS };
  }

  /** D75: follows the schedule, within the policy's minimum and maximum. */
  probeMs(probes: number): number {
    const { schedule, minProbeWaitMs, maxProbeWaitMs } = this.#policy;
    const { delaysMs } = schedule;
    const delayMs = delaysMs[probes - 1] ?? delaysMs.at(-1) ?? maxProbeWaitMs;
    return Math.min(Math.max(delayMs, minProbeWaitMs), maxProbeWaitMs);
  }
}
