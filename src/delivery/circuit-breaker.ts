/**
 * The delivery state of a destination and its transitions (D72, D73, D75). Pure: times are the queue's, and randomness
 * is an argument. The state is plain JSON, since it is stored in the queue.
 */
import type { ApplicationState, ApplicationUpdate, Health } from '../queue/queue.ts';
import { BRACKET_BYTES } from '../webhook/encoder.ts';
import type { Outcome } from '../webhook/outcome.ts';
import { jittered } from '../webhook/retry.ts';
import { afterPassed, afterTooLarge, type Budget, startBudget } from './budget.ts';
import type { DeliveryPolicy, RetryContext } from './retry-policy.ts';

/** How a destination behaves. Stored as JSON in the state of its application. */
export type CircuitBreaker = {
  readonly health: Health;
  /** Identifies the URL that this state is about. */
  readonly urlHash: string;
  /** Failed requests in a row that count towards opening (D75). */
  readonly failures: number;
  /** While open, the destination is only probed: one message at a time, with long pauses. */
  readonly isOpen: boolean;
  /** Failed requests since it opened. Also counts the one that opened it, which was no probe. */
  readonly probes: number;
  /** Requests of bisections that failed in a row, without a success of any kind (D74). */
  readonly bisectionFailures: number;
  /** Time of the first 410 since the last success (D72). */
  readonly goneAt: number | null;
  /** Time of the recovery; `null` when slow start is over. */
  readonly recoveredAt: number | null;
  /** Number of claims in a row for which there was no URL or secret. */
  readonly missing: number;
  /** Time before which a rate limit allows no request; `null` without one. */
  readonly nextRequestAt: number | null;
  /** Size of a body in bytes, learned from 413 (D73). */
  readonly bytes: Budget;
  /** Number of messages of a request, learned from timeouts. */
  readonly messages: Budget;
};

/** Returns the circuit breaker of a destination to which nothing was sent yet. */
export function newCircuitBreaker(urlHash: string, policy: DeliveryPolicy): CircuitBreaker {
  return {
    health: 'untried',
    urlHash,
    failures: 0,
    isOpen: false,
    probes: 0,
    bisectionFailures: 0,
    goneAt: null,
    recoveredAt: null,
    missing: 0,
    nextRequestAt: null,
    bytes: startBudget(policy.maxBodyBytes),
    messages: startBudget(policy.maxMessages),
  };
}

/** Returns the state of an application to which nothing was sent yet. */
export function initialState(policy: DeliveryPolicy): ApplicationState {
  return {
    health: 'untried',
    maxMessages: policy.cautiousMaxMessages,
    maxBytes: policy.maxBodyBytes,
    circuitBreaker: null,
  };
}

/**
 * Reads the circuit breaker of a stored state. Returns a new one if none is stored, if the URL differs, or if the
 * destination was reopened: that resets only the health of the state. The rate limit continues.
 */
export function circuitBreakerOf(
  { circuitBreaker, health }: ApplicationState,
  urlHash: string,
  policy: DeliveryPolicy,
): CircuitBreaker {
  const fresh = newCircuitBreaker(urlHash, policy);
  const stored = circuitBreaker as Partial<CircuitBreaker> | null;
  if (stored === null) return fresh;
  const isReset = stored.health !== undefined && stored.health !== health;
  if (stored.urlHash === urlHash && !isReset) return { ...fresh, ...stored };
  return { ...fresh, nextRequestAt: stored.nextRequestAt ?? null };
}

/** Returns whether the state is about another URL. */
export const isOfAnotherUrl = (state: ApplicationState, urlHash: string): boolean =>
  state.circuitBreaker !== null && urlHashOf(state) !== urlHash;

/** Returns the hash of the URL that a stored state is about; `undefined` or empty before the first request. */
export const urlHashOf = (state: ApplicationState | undefined): string | undefined =>
  (state?.circuitBreaker as Partial<CircuitBreaker> | null | undefined)?.urlHash;

/** What a request says about its destination. */
export interface BreakerInput {
  readonly outcome: Outcome;
  readonly bodyBytes: number;
  readonly messageCount: number;
  /** Whether the request timed out; with fewer messages it might not. */
  readonly isTimeout: boolean;
  /** Whether a failure may be the fault of the destination: then it counts towards opening (D75). */
  readonly blamesDestination: boolean;
  /** Whether it was a request of a bisection (D74). */
  readonly isBisection: boolean;
  readonly retryAfterMs: number | undefined;
  /** When it ended, in the queue's time. */
  readonly now: number;
}

export type BreakerChange = 'paused' | 'opened' | 'recovered' | 'closed';

/** The transition of a circuit breaker after a request. */
export interface BreakerStep {
  readonly breaker: CircuitBreaker;
  /** Time for which nothing goes to the destination. */
  readonly pauseMs: number;
  readonly changes: readonly BreakerChange[];
}

export function afterAttempt(
  breaker: CircuitBreaker,
  attempt: BreakerInput,
  context: RetryContext,
): BreakerStep {
  const { policy } = context;
  const { outcome, bodyBytes } = attempt;
  if (outcome === 'delivered') return afterSuccess(breaker, attempt, policy);
  if (outcome === 'smaller' || outcome === 'dead') {
    // The receiver answers, but only a success ends probing or slow start.
    const bytes = afterTooLarge(breaker.bytes, bodyBytes);
    const probes = breaker.isOpen ? breaker.probes + 1 : 0;
    const probeMs = breaker.isOpen ? jittered(probeWait(probes, policy), context.random) : 0;
    const pauseMs = Math.max(probeMs, slowStartWait(breaker.recoveredAt, attempt.now, policy));
    return { breaker: { ...breaker, missing: 0, probes, bytes }, pauseMs, changes: [] };
  }
  return afterFailure(breaker, attempt, context);
}

function afterSuccess(
  breaker: CircuitBreaker,
  attempt: BreakerInput,
  policy: DeliveryPolicy,
): BreakerStep {
  const recoveredAt = breaker.isOpen ? attempt.now : breaker.recoveredAt;
  const pauseMs = slowStartWait(recoveredAt, attempt.now, policy);
  return {
    breaker: {
      ...newCircuitBreaker(breaker.urlHash, policy),
      health: 'healthy',
      ...budgetsAfterSuccess(breaker, attempt, policy),
      recoveredAt: pauseMs === 0 ? null : recoveredAt,
    },
    pauseMs,
    changes: breaker.isOpen ? ['recovered'] : [],
  };
}

/** A byte budget grows slowly, since each refusal costs a request. A message budget recovers fast after an outage. */
const BYTE_GROWTH = 0.1;
const MESSAGE_GROWTH = 1;

function budgetsAfterSuccess(
  { bytes, messages }: CircuitBreaker,
  { bodyBytes, messageCount }: BreakerInput,
  policy: DeliveryPolicy,
): Pick<CircuitBreaker, 'bytes' | 'messages'> {
  const { growAfterSuccesses } = policy;
  const ofBytes = { max: policy.maxBodyBytes, growAfterSuccesses, growth: BYTE_GROWTH };
  const ofMessages = { max: policy.maxMessages, growAfterSuccesses, growth: MESSAGE_GROWTH };
  return {
    bytes: afterPassed(bytes, bodyBytes, ofBytes),
    messages: afterPassed(messages, messageCount, ofMessages),
  };
}

/** If a single message times out, the number of messages is not the cause. */
function messagesAfterFailure(
  { messages }: CircuitBreaker,
  { isTimeout, messageCount }: BreakerInput,
  policy: DeliveryPolicy,
): Budget {
  if (!isTimeout) return messages;
  return messageCount === 1
    ? startBudget(policy.maxMessages)
    : afterTooLarge(messages, messageCount);
}

/** Slow start ends when the wait between its requests falls below this. */
const MIN_SPACING_MS = 2;

/** Allows one request in the first step after a recovery, two in the second, four in the third, and so on (D75). */
function slowStartWait(
  recoveredAt: number | null,
  now: number,
  { slowStartStepMs }: DeliveryPolicy,
): number {
  if (recoveredAt === null) return 0;
  const doublings = Math.floor(Math.max(0, now - recoveredAt) / slowStartStepMs);
  const spacingMs = slowStartStepMs / 2 ** doublings;
  return spacingMs < MIN_SPACING_MS ? 0 : Math.ceil(spacingMs);
}

function afterFailure(
  breaker: CircuitBreaker,
  attempt: BreakerInput,
  { policy, random }: RetryContext,
): BreakerStep {
  const { outcome, blamesDestination, isBisection, retryAfterMs = 0, now } = attempt;
  const goneAt = outcome === 'close' ? (breaker.goneAt ?? now) : breaker.goneAt;
  if (outcome === 'close' && now - (goneAt ?? now) >= policy.goneConfirmMs) {
    return {
      breaker: { ...breaker, goneAt, health: 'closed', failures: breaker.failures + 1 },
      pauseMs: 0,
      changes: ['closed'],
    };
  }
  const failures = breaker.failures + (blamesDestination ? 1 : 0);
  const isOpen = breaker.isOpen || failures >= policy.openAfterFailures;
  const probes = isOpen ? breaker.probes + 1 : 0;
  const askedMs = outcome === 'pause' ? retryAfterMs : 0;
  const probeMs = isOpen ? probeWait(probes, policy) : 0;
  // A failure during slow start restarts it at one request.
  const recoveredAt = breaker.recoveredAt === null ? null : now;
  const slowMs = slowStartWait(recoveredAt, now, policy);
  const changes: BreakerChange[] = isOpen && !breaker.isOpen ? ['opened'] : [];
  if (askedMs > 0) changes.push('paused');
  return {
    breaker: {
      ...breaker,
      // Even if the destination is not to blame: until the next success, requests have at most `cautiousMaxMessages`.
      health: 'failing',
      failures,
      isOpen,
      probes,
      bisectionFailures: breaker.bisectionFailures + (isBisection ? 1 : 0),
      messages: messagesAfterFailure(breaker, attempt, policy),
      goneAt,
      recoveredAt,
      missing: 0,
    },
    pauseMs: jittered(Math.max(askedMs, probeMs, slowMs), random),
    changes,
  };
}

/** Returns the wait before a probe: that of the schedule, within `minProbeWaitMs` and `maxProbeWaitMs` (D75). */
function probeWait(probes: number, policy: DeliveryPolicy): number {
  const { schedule, minProbeWaitMs, maxProbeWaitMs } = policy;
  const { delaysMs } = schedule;
  const delayMs = delaysMs[probes - 1] ?? delaysMs.at(-1) ?? maxProbeWaitMs;
  return Math.min(Math.max(delayMs, minProbeWaitMs), maxProbeWaitMs);
}

/** Pauses a destination without a URL or secret, so that its settings are read again later (D72). */
export function afterMissing(
  state: ApplicationState,
  { policy, random }: RetryContext,
): ApplicationUpdate {
  const breaker = circuitBreakerOf(state, urlHashOf(state) ?? '', policy);
  const missing = breaker.missing + 1;
  const pauseMs = jittered(probeWait(missing, policy), random);
  return { ...state, circuitBreaker: { ...breaker, missing }, pauseMs };
}

/** Returns the limits of the next request. */
export function limitsOf(
  { health, isOpen, messages, bytes }: CircuitBreaker,
  policy: DeliveryPolicy,
): Pick<ApplicationUpdate, 'maxMessages' | 'maxBytes'> {
  const most = health === 'healthy' ? policy.maxMessages : policy.cautiousMaxMessages;
  return {
    maxMessages: isOpen ? 1 : Math.min(messages.max, most),
    // The budget counts the brackets of the body; `maxBytes` does not.
    maxBytes: Math.max(1, bytes.max - BRACKET_BYTES),
  };
}

/** Returns what the queue stores of a step. */
export function updateOf(
  { breaker, pauseMs }: Pick<BreakerStep, 'breaker' | 'pauseMs'>,
  policy: DeliveryPolicy,
): ApplicationUpdate {
  const { health } = breaker;
  return { health, ...limitsOf(breaker, policy), pauseMs, circuitBreaker: breaker };
}
