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
import type { Decision, DeliveryPolicy } from './retry-policy.ts';

export interface Attempted {
  /**
   * One for each message, or a single one if all have the same history: `results` has as many. Ages are measured at
   * `claimedAtMs`.
   */
  readonly messages: readonly MessageHistory[];
  /** Number of messages in the request. */
  readonly messageCount: number;
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

export function settle(attempted: Attempted, policy: DeliveryPolicy, random: Random): Settlement {
  const { messages, messageCount, breaker, result } = attempted;
  if (result.kind === 'failure' && result.code === 'aborted') {
    return {
      ...settleInconclusive(attempted, { breaker, pauseMs: 0 }, policy),
      outcome: 'aborted',
    };
  }
  if (result.kind === 'failure' && result.code === 'undici-missing') {
    return settleInconclusive(attempted, { breaker, pauseMs: policy.maxProbeWaitMs }, policy);
  }
  const { outcome, maxAttempts } = judgeAttempt(result, {
    messageCount,
    bytes: attempted.bodyBytes,
    largeBodyBytes: policy.largeBodyBytes,
  });
  const isContent = blamesContent(result);
  const isBisection = messages.some(isWithinBisection);
  const [first] = messages;
  const failedAlone = messageCount === 1 && hasFailedAlone(first);
  const step = afterAttempt(
    breaker,
    {
      outcome,
      bodyBytes: attempted.bodyBytes,
      messageCount,
      isTimeout: isTimeout(result),
      counts: !failedAlone && !(isBisection && isContent),
      isBisection: isBisection && isContent,
      retryAfterMs: attempted.retryAfterMs,
      now: attempted.now,
    },
    { policy, random },
  );
  const end: RequestEnd = {
    outcome,
    maxAttempts,
    blamesContent: isContent,
    retryAfterMs: attempted.retryAfterMs,
    isBisectionOver: step.breaker.bisectionFailures >= policy.bisectionMaxFailures,
    lastAttempt: lastAttemptOf(result),
  };
  const aged =
    outcome === 'delivered' ? messages : agedBy(messages, attempted.now - attempted.claimedAtMs);
  return {
    outcome,
    results: resultsOf(aged, end, { policy, random, messageCount }),
    state: updateOf(step, policy),
    changes: step.changes,
  };
}

/** Adds the duration of the attempt to the ages: the horizon is compared with its end (D71). */
function agedBy(messages: readonly MessageHistory[], elapsedMs: number): MessageHistory[] {
  return messages.map(({ ageMs, progress }) => ({ ageMs: ageMs + elapsedMs, progress }));
}

const isTimeout = (result: AttemptResult): boolean =>
  result.kind === 'failure' && (result.code === 'headers-timeout' || result.code === 'deadline');

/** Most messages have no progress, which saves reading it. */
const hasFailedAlone = (message: MessageHistory | undefined): boolean =>
  message !== undefined && message.progress !== null && progressOf(message).failedAlone;

const isWithinBisection = (message: MessageHistory): boolean =>
  message.progress !== null && progressOf(message).isBisecting;

/**
 * Settles an attempt that this library ended or could not begin, which says nothing about the destination. The messages
 * still count as sent, since the receiver may have read them (D24).
 */
function settleInconclusive(
  { messages, messageCount }: Attempted,
  step: Pick<BreakerStep, 'breaker' | 'pauseMs'>,
  policy: DeliveryPolicy,
): Settlement {
  const results = messages.map((message): MessageResult => {
    const progress = progressOf(message);
    const isAlone = progress.failedAlone || progress.isBisecting;
    const limit = isAlone ? { maxMessages: messageCount } : {};
    return { kind: 'retry', afterMs: 0, ...limit, progress };
  });
  const state = updateOf({ ...step, changes: [] }, policy);
  return { outcome: 'later', results, state, changes: [] };
}

/** Returns what dead letters and events keep of the last attempt: a status or a failure code. */
export function lastAttemptOf(
  result: AttemptResult,
): { readonly status: number } | { readonly failure: FailureCode } {
  return result.kind === 'response' ? { status: result.status } : { failure: result.code };
}

/** What happened to a message in earlier attempts. Stored with it, so plain JSON. */
export type Progress = {
  /** Failures that count as steps of the schedule. */
  readonly failures: number;
  /** Refusals, which are limited by `refusedMaxAttempts` (D72, D74). */
  readonly refusals: number;
  /** Whether a bisection is looking for the message that makes its requests fail (D74). */
  readonly isBisecting: boolean;
  /** Whether it failed alone: then it is sent alone, and its failures say nothing about the destination (D75). */
  readonly failedAlone: boolean;
};

const START: Progress = { failures: 0, refusals: 0, isBisecting: false, failedAlone: false };

/** What decides about a message: its age and its progress. */
export type MessageHistory = Pick<ClaimedMessage, 'ageMs' | 'progress'>;

export function progressOf({ progress }: Pick<ClaimedMessage, 'progress'>): Progress {
  return { ...START, ...(progress as Partial<Progress> | null) };
}

export interface RequestEnd extends Judgement {
  readonly blamesContent: boolean;
  readonly retryAfterMs: number | undefined;
  /** Whether the requests of this destination's bisections failed too often in a row (D74). */
  readonly isBisectionOver: boolean;
  /** How the attempt ended, for the dead letters. */
  readonly lastAttempt: Json;
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

/** Returns a result for each history, in order. Messages that failed together get the same jitter, so they stay together. */
export function resultsOf(
  messages: readonly MessageHistory[],
  end: RequestEnd,
  { policy, random, messageCount }: Decision & { readonly messageCount: number },
): Verdict[] {
  if (end.outcome === 'delivered') return messages.map(() => DELIVERED);
  const jitter = random();
  const context = { end, policy, count: messageCount, random: () => jitter };
  return messages.map((message) => resultOf(message, context));
}

interface Context {
  readonly end: RequestEnd;
  readonly policy: DeliveryPolicy;
  /** Number of messages in the request. */
  readonly count: number;
  readonly random: Random;
}

function resultOf(message: MessageHistory, context: Context): Verdict {
  const { end, count } = context;
  const progress = progressOf(message);
  switch (end.outcome) {
    case 'dead':
      return dead({ reason: 'too-large', waitMs: undefined }, end);
    case 'smaller':
      return smaller(message, progress, context);
    default: {
      const mayBeAnothersFault = end.blamesContent && count > 1 && !end.isBisectionOver;
      if (mayBeAnothersFault && (progress.isBisecting || progress.failures > 0)) {
        return smaller(message, { ...progress, isBisecting: true }, context);
      }
      return later(message, progress, { ...context, mayBeAnothersFault });
    }
  }
}

/** Retries the message in a request of half the size, at once or after the receiver's Retry-After (D73, D74). */
function smaller(message: MessageHistory, progress: Progress, context: Context): Verdict {
  const { end, policy, count, random } = context;
  const maxMessages = Math.max(1, Math.floor(count / 2));
  const { retryAfterMs } = end;
  if (retryAfterMs === undefined) return { kind: 'retry', afterMs: 0, maxMessages, progress };
  const wait = { waitMs: retryAfterMs, acceptedAt: -message.ageMs, now: 0 };
  const next = nextTime(policy.schedule, wait, random);
  if (next.kind === 'dead') return dead(next, end);
  return { kind: 'retry', afterMs: next.at, maxMessages, progress };
}

/** Retries the message by the schedule (D71), as often as the status allows (D72). */
function later(
  message: MessageHistory,
  progress: Progress,
  context: Context & { readonly mayBeAnothersFault: boolean },
): Verdict {
  const { end, policy, count, mayBeAnothersFault, random } = context;
  // A refusal that another message of the request may have caused does not count (D74).
  const isRefusal = end.maxAttempts !== undefined && !mayBeAnothersFault;
  const refusals = progress.refusals + (isRefusal ? 1 : 0);
  if (isRefusal && refusals >= policy.refusedMaxAttempts)
    return dead({ reason: 'attempts-exhausted', waitMs: undefined }, end);
  const failed = {
    step: progress.failures,
    maxAttempts: undefined,
    retryAfterMs: end.retryAfterMs,
    // Times are relative to the end of the attempt.
    acceptedAt: -message.ageMs,
    now: 0,
  };
  const next = nextAttempt(policy.schedule, failed, random);
  if (next.kind === 'dead') return dead(next, end);
  const failedAlone = progress.failedAlone || (count === 1 && end.blamesContent);
  const isBisecting = progress.isBisecting && !end.blamesContent;
  return {
    kind: 'retry',
    // At least 1 ms, so that other messages go first even if the schedule has no wait (D72).
    afterMs: Math.max(1, next.at),
    ...messageLimit({ failedAlone, isBisecting }, count),
    progress: { failures: progress.failures + 1, refusals, isBisecting, failedAlone },
  };
}

/** A message that may make a request fail is sent alone, or in a request no larger than the last one. */
function messageLimit(
  { failedAlone, isBisecting }: Pick<Progress, 'failedAlone' | 'isBisecting'>,
  count: number,
): { readonly maxMessages: number | undefined } {
  if (failedAlone) return { maxMessages: 1 };
  return { maxMessages: isBisecting ? count : undefined };
}

function dead({ reason, waitMs }: GiveUp, { lastAttempt, retryAfterMs }: RequestEnd): Verdict {
  return {
    kind: 'dead',
    reason: reason === 'wait-too-long' ? 'horizon-passed' : reason,
    lastAttempt,
    gaveUp: { reason, waitMs: waitMs ?? retryAfterMs },
  };
}
