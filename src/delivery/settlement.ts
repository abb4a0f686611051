/** Decides what an attempt means for its messages and its destination (D71-D75). Pure. */
import type { ApplicationUpdate, ClaimedMessage, Json, MessageResult } from '../queue/queue.ts';
import type { Random } from '../runtime/random.ts';
import {
  type AttemptResult,
  blamesContent,
  type FailureCode,
  type Judgement,
  judgeAttempt,
  type Outcome,
} from '../webhook/outcome.ts';
import { type GiveUpReason, nextAttempt, nextTime } from '../webhook/retry.ts';
import {
  afterAttempt,
  type BreakerChange,
  type BreakerStep,
  type CircuitBreaker,
  updateOf,
} from './circuit-breaker.ts';
import type { DeliveryPolicy, RetryContext } from './retry-policy.ts';

/** One finished request, its result, and the circuit breaker that the result changes. */
export interface FinishedAttempt {
  /** One history for each message of the request. Ages are measured at `claimedAtMs`. */
  readonly messages: readonly MessageHistory[];
  /** In the queue's time. */
  readonly claimedAtMs: number;
  readonly breaker: CircuitBreaker;
  readonly result: AttemptResult;
  readonly bodyBytes: number;
  /** The wait that the receiver asked for. */
  readonly retryAfterMs: number | undefined;
  /** End of the attempt, in the queue's time. */
  readonly now: number;
}

export interface Settlement {
  readonly outcome: Outcome | 'aborted';
  readonly results: readonly Verdict[];
  readonly state: ApplicationUpdate;
  readonly changes: readonly BreakerChange[];
}

export function settlementOf(
  attempted: FinishedAttempt,
  policy: DeliveryPolicy,
  random: Random,
): Settlement {
  const { messages, breaker, result } = attempted;
  const messageCount = messages.length;
  const failure = failureOf(result);
  if (failure === 'aborted') {
    return settleInconclusive(attempted, { outcome: 'aborted', pauseMs: 0 }, policy);
  }
  if (failure === 'undici-missing') {
    const pauseMs = policy.maxProbeWaitMs;
    return settleInconclusive(attempted, { outcome: 'later', pauseMs }, policy);
  }
  const { outcome, isRefusal } = judgeAttempt(result, {
    messageCount,
    bytes: attempted.bodyBytes,
    largeBodyBytes: policy.largeBodyBytes,
  });
  const isContentBlamed = blamesContent(result);
  const isBisection = messages.some(isWithinBisection);
  const failedAlone = messageCount === 1 && messages.every(hasFailedAlone);
  const input = {
    ...attempted,
    outcome,
    messageCount,
    isTimeout: failure === 'headers-timeout' || failure === 'deadline',
    blamesDestination: !failedAlone && !(isBisection && isContentBlamed),
    isBisection: isBisection && isContentBlamed,
  };
  const step = afterAttempt(breaker, input, { policy, random });
  const end: RequestEnd = {
    outcome,
    isRefusal,
    blamesContent: isContentBlamed,
    retryAfterMs: attempted.retryAfterMs,
    mayBeAnothersFault:
      isContentBlamed &&
      messageCount > 1 &&
      step.breaker.bisectionFailures < policy.bisectionMaxFailures,
    lastAttempt: lastAttemptOf(result),
    messageCount,
    elapsedMs: attempted.now - attempted.claimedAtMs,
  };
  return {
    outcome,
    results: resultsOf(messages, end, { policy, random }),
    state: updateOf(step, policy),
    changes: step.changes,
  };
}

const failureOf = (result: AttemptResult): FailureCode | undefined =>
  result.kind === 'failure' ? result.code : undefined;

/** Most messages have no retry state, which saves reading it. */
const hasFailedAlone = (message: MessageHistory): boolean =>
  message.retryState !== null && retryStateOf(message).failedAlone;

const isWithinBisection = (message: MessageHistory): boolean =>
  message.retryState !== null && retryStateOf(message).isBisecting;

/**
 * Settles an attempt that this library ended or could not begin, which says nothing about the destination. The messages
 * still count as sent, since the receiver may have read them (D24).
 */
function settleInconclusive(
  { messages, breaker }: FinishedAttempt,
  { outcome, pauseMs }: Pick<Settlement, 'outcome'> & Pick<BreakerStep, 'pauseMs'>,
  policy: DeliveryPolicy,
): Settlement {
  const results = messages.map((message): MessageResult => {
    const retryState = retryStateOf(message);
    const mustStaySmall = retryState.failedAlone || retryState.isBisecting;
    const limit = mustStaySmall ? { maxMessages: messages.length } : {};
    return { kind: 'retry', afterMs: 0, ...limit, retryState };
  });
  return { outcome, results, state: updateOf({ breaker, pauseMs }, policy), changes: [] };
}

/** Returns what dead letters and events keep of the last attempt: a status or a failure code. */
export function lastAttemptOf(
  result: AttemptResult,
): { readonly status: number } | { readonly failure: FailureCode } {
  return result.kind === 'response' ? { status: result.status } : { failure: result.code };
}

/** What happened to a message in earlier attempts. Stored with it, so plain JSON. */
export type RetryState = {
  /** Failures that count as steps of the schedule. */
  readonly failures: number;
  /** Refusals, which are limited by `refusedMaxAttempts` (D72, D74). */
  readonly refusals: number;
  /** Whether a bisection is looking for the message that makes its requests fail (D74). */
  readonly isBisecting: boolean;
  /** Whether it failed alone: then it is sent alone, and its failures say nothing about the destination (D75). */
  readonly failedAlone: boolean;
};

const START: RetryState = { failures: 0, refusals: 0, isBisecting: false, failedAlone: false };

/** What decides about a message: its age and its retry state. */
export type MessageHistory = Pick<ClaimedMessage, 'ageMs' | 'retryState'>;

export function retryStateOf({ retryState }: Pick<ClaimedMessage, 'retryState'>): RetryState {
  return { ...START, ...(retryState as Partial<RetryState> | null) };
}

interface RequestEnd extends Judgement {
  readonly blamesContent: boolean;
  readonly retryAfterMs: number | undefined;
  /** Whether each message may have failed because of another one. False once bisections failed too often (D74). */
  readonly mayBeAnothersFault: boolean;
  /** How the attempt ended, for the dead letters. */
  readonly lastAttempt: Json;
  /** Number of messages in the request. */
  readonly messageCount: number;
  /** Time from the claim to the end of the attempt, which is compared with the horizon (D71). */
  readonly elapsedMs: number;
}

/** Why a message was given up, for reports; the queue stores only the `reason`. */
export interface GiveUp {
  readonly reason: GiveUpReason | 'too-large';
  /** The wait before the attempt that is not made, in ms. */
  readonly waitMs: number | undefined;
}

export type Verdict = MessageResult & { readonly gaveUp?: GiveUp };

/** Shared, since most messages end like this. */
const DELIVERED: Verdict = Object.freeze({ kind: 'delivered' });

/** Returns a result for each message, in order. Messages that failed together get the same jitter: they stay together. */
function resultsOf(
  messages: readonly MessageHistory[],
  end: RequestEnd,
  { policy, random }: RetryContext,
): Verdict[] {
  const { outcome, mayBeAnothersFault } = end;
  if (outcome === 'delivered') return messages.map(() => DELIVERED);
  const jitter = random();
  const context = { policy, random: () => jitter };
  return messages.map((message) => {
    if (outcome === 'dead') return giveUp({ reason: 'too-large', waitMs: undefined }, end);
    const retryState = retryStateOf(message);
    const failed = { ageMs: message.ageMs + end.elapsedMs, retryState };
    if (outcome === 'smaller') return retrySmaller(failed, end, context);
    if (mayBeAnothersFault && (retryState.isBisecting || retryState.failures > 0)) {
      const bisecting = { ...failed, retryState: { ...retryState, isBisecting: true } };
      return retrySmaller(bisecting, end, context);
    }
    return retryLater(failed, end, context);
  });
}

interface FailedMessage {
  readonly ageMs: number;
  readonly retryState: RetryState;
}

/** Retries the message in a request of half the size, at once or after the receiver's Retry-After (D73, D74). */
function retrySmaller(
  { ageMs, retryState }: FailedMessage,
  end: RequestEnd,
  { policy, random }: RetryContext,
): Verdict {
  const maxMessages = Math.max(1, Math.floor(end.messageCount / 2));
  const { retryAfterMs } = end;
  if (retryAfterMs === undefined) return { kind: 'retry', afterMs: 0, maxMessages, retryState };
  const wait = { waitMs: retryAfterMs, acceptedAt: -ageMs, now: 0 };
  const next = nextTime(policy.schedule, wait, random);
  if (next.kind === 'dead') return giveUp(next, end);
  return { kind: 'retry', afterMs: next.at, maxMessages, retryState };
}

/** Retries the message by the schedule (D71), as often as the status allows (D72). */
function retryLater(
  { ageMs, retryState }: FailedMessage,
  end: RequestEnd,
  { policy, random }: RetryContext,
): Verdict {
  const { messageCount } = end;
  // A refusal that another message of the request may have caused does not count (D74).
  const isCounted = end.isRefusal && !end.mayBeAnothersFault;
  const refusals = retryState.refusals + (isCounted ? 1 : 0);
  if (isCounted && refusals >= policy.refusedMaxAttempts)
    return giveUp({ reason: 'attempts-exhausted', waitMs: undefined }, end);
  const failed = {
    step: retryState.failures,
    retryAfterMs: end.retryAfterMs,
    // Times are relative to the end of the attempt.
    acceptedAt: -ageMs,
    now: 0,
  };
  const next = nextAttempt(policy.schedule, failed, random);
  if (next.kind === 'dead') return giveUp(next, end);
  const failedAlone = retryState.failedAlone || (messageCount === 1 && end.blamesContent);
  const isBisecting = retryState.isBisecting && !end.blamesContent;
  const bisectionLimit = isBisecting ? messageCount : undefined;
  return {
    kind: 'retry',
    // At least 1 ms, so that other messages go first even if the schedule has no wait (D72).
    afterMs: Math.max(1, next.at),
    // A message that may make a request fail is sent alone, or in a request no larger than the last one.
    maxMessages: failedAlone ? 1 : bisectionLimit,
    retryState: { failures: retryState.failures + 1, refusals, isBisecting, failedAlone },
  };
}

/** Ends the attempts of a message: it becomes a dead letter. */
function giveUp({ reason, waitMs }: GiveUp, { lastAttempt, retryAfterMs }: RequestEnd): Verdict {
  return {
    kind: 'dead',
    reason: reason === 'wait-too-long' ? 'horizon-passed' : reason,
    lastAttempt,
    gaveUp: { reason, waitMs: waitMs ?? retryAfterMs },
  };
}
