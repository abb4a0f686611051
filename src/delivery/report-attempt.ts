/** Reports of attempts: events, counts and last failures. */
import type { Claim, ClaimedMessage } from '../queue/queue.ts';
import type { BreakerChange, CircuitBreaker } from './circuit-breaker.ts';
import type { DeliveryEvents, Observe } from './events.ts';
import { attemptEnd, type LastFailures } from './report.ts';
import { QueuedMessage } from './sender.ts';
import { type FinishedAttempt, lastAttemptOf, type Settlement } from './settlement.ts';
import type { Tracker } from './tracker.ts';

export interface ReportParts {
  readonly observe: Observe;
  readonly tracker: Tracker;
  readonly lastFailures: LastFailures;
  /** Called when a destination is closed: its messages must become dead letters. */
  readonly onClosed: (applicationId: string) => void;
}

export interface AttemptReport {
  readonly claim: Claim;
  readonly attempted: FinishedAttempt;
  readonly settlement: Settlement;
  readonly started: DeliveryEvents['attempt-started'];
  /** Whether the claim was not settled: then another process may have the messages. */
  readonly isLost: boolean;
}

/** Reports an attempt after the queue was asked to settle its claim. */
export function reportAttempt(report: AttemptReport, parts: ReportParts): void {
  const { claim, attempted, settlement, started, isLost } = report;
  const { observe, lastFailures, tracker, onClosed } = parts;
  const { result, retryAfterMs } = attempted;
  const { applicationId } = claim;
  const { outcome } = settlement;
  const { reusedConnection } = result;
  observe('attempt-settled', () => ({
    ...started,
    outcome,
    ...lastAttemptOf(result),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    timings: result.timings,
    ...(reusedConnection === undefined ? {} : { reusedConnection }),
    ...(isLost ? { isLost } : {}),
  }));
  if (outcome === 'delivered') lastFailures.remove(applicationId);
  else if (outcome !== 'aborted') {
    lastFailures.record({ applicationId, ...attemptEnd(result) });
  }
  // The process that claims the messages next reports their results.
  if (isLost) return;
  const { changes, results } = settlement;
  for (let index = 0; index < results.length; index += 1) {
    const verdict = results[index];
    const { sequence } = claim.messages[index] as ClaimedMessage;
    if (verdict?.kind === 'delivered') tracker.recordSettled(sequence, 'delivered');
    else if (verdict?.kind === 'dead') tracker.recordSettled(sequence, 'dead', verdict.reason);
  }
  if (changes.includes('closed')) onClosed(applicationId);
  // Last, since these events parse the messages, and a damaged one throws.
  for (const change of changes) reportChange(change, report, parts);
  if (outcome !== 'delivered') reportDead(report, parts);
}

function reportChange(
  change: BreakerChange,
  report: AttemptReport,
  { observe }: ReportParts,
): void {
  const { claim, settlement } = report;
  const { applicationId, messages } = claim;
  const { pauseMs: waitMs, circuitBreaker } = settlement.state;
  const failing = () => {
    const { failures } = circuitBreaker as CircuitBreaker;
    const oldest = messages.reduce((one, other) => (other.ageMs > one.ageMs ? other : one));
    return { applicationId, failures, ...sentMessageFields(oldest, report) };
  };
  if (change === 'opened') observe('destination-opened', () => ({ waitMs, ...failing() }));
  else if (change === 'closed') observe('destination-closed', failing);
  else if (change === 'paused') observe('destination-paused', () => ({ applicationId, waitMs }));
  else observe('destination-recovered', () => ({ applicationId }));
}

function reportDead(report: AttemptReport, { observe }: ReportParts): void {
  const { claim, settlement } = report;
  const { applicationId } = claim;
  for (const [index, message] of claim.messages.entries()) {
    const result = settlement.results[index];
    if (result?.kind !== 'dead') continue;
    const { messageId: message_id } = message.stored;
    const { reason } = result;
    observe('dead', () => ({
      applicationId,
      message_id,
      reason,
      ...sentMessageFields(message, report),
    }));
  }
}

/** Returns the fields of events about a message and its last attempt. */
function sentMessageFields(message: ClaimedMessage, { claim, attempted }: AttemptReport) {
  const { stored, retryCount, ageMs } = message;
  const { content } = new QueuedMessage({
    applicationId: claim.applicationId,
    stored,
    sends: retryCount,
  });
  return {
    message_type: (content['message_type'] ?? content['svc_payload_type']) as string,
    attempts: retryCount + 1,
    // Clocks of databases have fractions.
    ageMs: Math.round(ageMs + attempted.now - claim.nowMs),
    ...lastAttemptOf(attempted.result),
  };
}
