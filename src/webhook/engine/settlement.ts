/** What follows from one attempt for its messages, its destination and the queue. Pure. */
import type { Claim, ClaimedMessage, Json, RowUpdate, Verdict } from '../../queue/queue.ts';
import type { Random } from '../../system/random.ts';
import { type AttemptResult, blamesContent, judgeAttempt, type Outcome } from '../outcome.ts';
import { afterAttempt, type Lane, type LaneChange, rowOf } from './lane.ts';
import type { DeliveryPolicy } from './policy.ts';
import { progressOf, type RequestEnd, verdictsOf } from './verdicts.ts';

export interface Attempted {
  readonly claim: Claim;
  readonly lane: Lane;
  readonly result: AttemptResult;
  readonly bodyBytes: number;
  /** What the receiver asked for. */
  readonly retryAfterMs: number | undefined;
  /** When it ended, in the queue's time. */
  readonly now: number;
}

export interface Settlement {
  readonly outcome: Outcome | 'aborted';
  readonly verdicts: readonly Verdict[];
  readonly row: RowUpdate;
  readonly changes: readonly LaneChange[];
}

export function settle(attempted: Attempted, policy: DeliveryPolicy, random: Random): Settlement {
  const { claim, lane, result } = attempted;
  if (result.kind === 'failure' && result.code === 'aborted') return stopped(claim, lane, policy);
  const { messages } = claim;
  const size = { messageCount: messages.length, bytes: attempted.bodyBytes };
  const judgement = judgeAttempt(result, { ...size, largeBodyBytes: policy.largeBodyBytes });
  const isContent = blamesContent(result);
  const isBisection = messages.some(isBisecting);
  const [first] = messages;
  const failedAlone = messages.length === 1 && first !== undefined && progressOf(first).failedAlone;
  const step = afterAttempt(
    lane,
    {
      outcome: judgement.outcome,
      bodyBytes: attempted.bodyBytes,
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
    isBisectionOver: step.lane.bisectionFailures >= policy.bisectionMaxFailures,
    end: endOf(result),
  };
  const aged = end.outcome === 'delivered' ? messages : agedBy(messages, attempted.now - claim.now);
  return {
    outcome: judgement.outcome,
    verdicts: verdictsOf(aged, end, { policy, random }),
    row: rowOf(step, policy),
    changes: step.changes,
  };
}

/** As old as they are now: an attempt takes time, and the horizon is measured from its end (D71). */
function agedBy(messages: readonly ClaimedMessage[], elapsedMs: number): ClaimedMessage[] {
  return messages.map((message) => ({ ...message, ageMs: message.ageMs + elapsedMs }));
}

/** Most have nothing behind them yet. */
const isBisecting = (message: ClaimedMessage): boolean =>
  message.progress !== null && progressOf(message).isBisecting;

/**
 * We ended it: the receiver may have taken it, so it stays counted as sent (D24), and says nothing
 * about the destination.
 */
function stopped({ messages }: Claim, lane: Lane, policy: DeliveryPolicy): Settlement {
  const verdicts = messages.map((message): Verdict => {
    const progress = progressOf(message);
    const isAlone = progress.failedAlone || progress.isBisecting;
    const company = isAlone ? { maxMessages: messages.length } : {};
    return { kind: 'again', afterMs: 0, ...company, progress };
  });
  const row = rowOf({ lane, waitMs: 0, changes: [] }, policy);
  return { outcome: 'aborted', verdicts, row, changes: [] };
}

/** For the dead letters: a status or a word of ours. */
function endOf(result: AttemptResult): Json {
  return result.kind === 'response' ? { status: result.status } : { failure: result.code };
}
