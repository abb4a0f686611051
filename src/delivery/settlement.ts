/** What follows from one attempt for its messages, its destination and the queue. Pure. */
import type { ApplicationUpdate, Json, MessageResult } from '../queue/queue.ts';
import type { Random } from '../runtime/random.ts';
import {
  type AttemptResult,
  blamesContent,
  judgeAttempt,
  type Outcome,
} from '../webhook/outcome.ts';
import {
  afterAttempt,
  type BreakerChange,
  type BreakerStep,
  type CircuitBreaker,
  updateOf,
} from './circuit-breaker.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import {
  type MessageHistory,
  progressOf,
  type RequestEnd,
  resultsOf,
  type Verdict,
} from './verdicts.ts';

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
  const size = { messageCount, bytes: attempted.bodyBytes };
  const judgement = judgeAttempt(result, { ...size, largeBodyBytes: policy.largeBodyBytes });
  const isContent = blamesContent(result);
  const isBisection = messages.some(isBisecting);
  const [first] = messages;
  const failedAlone = messageCount === 1 && first !== undefined && progressOf(first).failedAlone;
  const step = afterAttempt(
    breaker,
    {
      outcome: judgement.outcome,
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
    ...judgement,
    blamesContent: isContent,
    retryAfterMs: attempted.retryAfterMs,
    isBisectionOver: step.breaker.bisectionFailures >= policy.bisectionMaxFailures,
    lastAttempt: lastAttemptOf(result),
  };
  const aged =
    end.outcome === 'delivered'
      ? messages
      : agedBy(messages, attempted.now - attempted.claimedAtMs);
  return {
    outcome: judgement.outcome,
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
const isBisecting = (message: MessageHistory): boolean =>
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

/** For the dead letters: a status or a word of ours. */
function lastAttemptOf(result: AttemptResult): Json {
  return result.kind === 'response' ? { status: result.status } : { failure: result.code };
}
