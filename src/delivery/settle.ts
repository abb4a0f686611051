/** What follows from one attempt for its messages, its destination and the queue (D71-D75). Pure. */
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
  /** Ages are measured at `claimedAtMs`. One stands for all where all have the same history. */
  readonly messages: readonly MessageHistory[];
  /** Number of messages in the request. */
  readonly messageCount: number;
  /** In the queue's time. */
  readonly claimedAtMs: number;
  readonly breaker: CircuitBreaker;
  readonly result: AttemptResult;
  readonly bodyBytes: number;
  /** What the receiver asked for. */
  readonly retryAfterMs: number | undefined;
  /** When it ended, in the queue's time. */
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
    return { ...notSent(attempted, { breaker, pauseMs: 0 }, policy), outcome: 'aborted' };
  }
  if (result.kind === 'failure' && result.code === 'undici-missing') {
    return notSent(attempted, { breaker, pauseMs: policy.maxProbeWaitMs }, policy);
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

/** As old as they are now: an attempt takes time, and the horizon is measured from its end (D71). */
function agedBy(messages: readonly MessageHistory[], elapsedMs: number): MessageHistory[] {
  return messages.map(({ ageMs, progress }) => ({ ageMs: ageMs + elapsedMs, progress }));
}

const isTimeout = (result: AttemptResult): boolean =>
  result.kind === 'failure' && (result.code === 'headers-timeout' || result.code === 'deadline');

/** Most have nothing behind them yet. */
const hasFailedAlone = (message: MessageHistory | undefined): boolean =>
  message !== undefined && message.progress !== null && progressOf(message).failedAlone;

const isWithinBisection = (message: MessageHistory): boolean =>
  message.progress !== null && progressOf(message).isBisecting;

/**
 * We ended the attempt, or could not begin it: that says nothing about the destination. The messages stay
 * counted as sent, since the receiver may have taken them (D24).
 */
function notSent(
  { messages, messageCount }: Attempted,
  step: Pick<BreakerStep, 'breaker' | 'pauseMs'>,
  policy: DeliveryPolicy,
): Settlement {
  const results = messages.map((message): MessageResult => {
    const progress = progressOf(message);
    const isAlone = progress.failedAlone || progress.isBisecting;
    const company = isAlone ? { maxMessages: messageCount } : {};
    return { kind: 'retry', afterMs: 0, ...company, progress };
  });
  const state = updateOf({ ...step, changes: [] }, policy);
  return { outcome: 'later', results, state, changes: [] };
}

/** For dead letters and events: a status, or a word for why there is none. */
export function lastAttemptOf(
  result: AttemptResult,
): { readonly status: number } | { readonly failure: FailureCode } {
  return result.kind === 'response' ? { status: result.status } : { failure: result.code };
}

/** What a message has behind it; stored with it, so plain JSON. */
export type Progress = {
  /** Failures that count as steps of the schedule. */
  readonly failures: number;
  /** Those that count towards the attempts which its status allows (D72, D74). */
  readonly refusals: number;
  /** It is within a bisection (D74). */
  readonly isBisecting: boolean;
  /** It failed in a request of its own: it goes alone, and says nothing about its destination (D75). */
  readonly failedAlone: boolean;
};

const START: Progress = { failures: 0, refusals: 0, isBisecting: false, failedAlone: false };

/** What decides about a message: how old it is, and what it has behind it. */
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

/** Why a message was given up, in the words of a report; a queue stores its `reason` alone. */
export interface GaveUp {
  readonly reason: GiveUpReason | 'too-large';
  /** The wait that was due, in ms. */
  readonly waitMs: number | undefined;
}

export type Verdict = MessageResult & { readonly gaveUp?: GaveUp };

/** One for all: a request has up to a thousand messages, and this is how most of them end. */
const DELIVERED: Verdict = Object.freeze({ kind: 'delivered' });

/** Returns a result for each history, in order. What failed together is due again together: one chance for all. */
export function resultsOf(
  messages: readonly MessageHistory[],
  end: RequestEnd,
  { policy, random, messageCount }: Decision & { readonly messageCount: number },
): Verdict[] {
  if (end.outcome === 'delivered') return messages.map(() => DELIVERED);
  const chance = random();
  const context = { end, policy, count: messageCount, random: () => chance };
  return messages.map((message) => resultOf(message, context));
}

interface Context {
  readonly end: RequestEnd;
  readonly policy: DeliveryPolicy;
  /** Of the request. */
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
      const isShared = end.blamesContent && count > 1 && !end.isBisectionOver;
      if (isShared && (progress.isBisecting || progress.failures > 0)) {
        return smaller(message, { ...progress, isBisecting: true }, context);
      }
      return later(message, progress, { ...context, isShared });
    }
  }
}

/** Due again at once, or when the receiver said, with half of the company (D73, D74). */
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

/** By the schedule (D71), as often as the status allows (D72). */
function later(
  message: MessageHistory,
  progress: Progress,
  context: Context & { readonly isShared: boolean },
): Verdict {
  const { end, policy, count, isShared, random } = context;
  // A failure that may be another message's fault is not held against this one (D74).
  const isRefusal = end.maxAttempts !== undefined && !isShared;
  const refusals = progress.refusals + (isRefusal ? 1 : 0);
  if (isRefusal && refusals >= policy.refusedMaxAttempts)
    return dead({ reason: 'attempts-exhausted', waitMs: undefined }, end);
  const failed = {
    step: progress.failures,
    maxAttempts: undefined,
    retryAfterMs: end.retryAfterMs,
    acceptedAt: -message.ageMs,
    now: 0,
  };
  const next = nextAttempt(policy.schedule, failed, random);
  if (next.kind === 'dead') return dead(next, end);
  const failedAlone = progress.failedAlone || (count === 1 && end.blamesContent);
  const isBisecting = progress.isBisecting && !end.blamesContent;
  return {
    kind: 'retry',
    // Even where the schedule says at once, others have their turn first (D72).
    afterMs: Math.max(1, next.at),
    ...companyOf({ failedAlone, isBisecting }, count),
    progress: { failures: progress.failures + 1, refusals, isBisecting, failedAlone },
  };
}

/** A message that may spoil a request goes alone, or with those it was with. */
function companyOf(
  { failedAlone, isBisecting }: Pick<Progress, 'failedAlone' | 'isBisecting'>,
  count: number,
): { readonly maxMessages: number | undefined } {
  if (failedAlone) return { maxMessages: 1 };
  return { maxMessages: isBisecting ? count : undefined };
}

function dead({ reason, waitMs }: GaveUp, { lastAttempt, retryAfterMs }: RequestEnd): Verdict {
  return {
    kind: 'dead',
    reason: reason === 'wait-too-long' ? 'horizon-passed' : reason,
    lastAttempt,
    gaveUp: { reason, waitMs: waitMs ?? retryAfterMs },
  };
}
