/** What is reported about an attempt once the queue was given its result. */
import type { Claim, ClaimedMessage, MessageResult } from '../queue/queue.ts';
import type { BreakerChange, CircuitBreaker } from './circuit-breaker.ts';
import type { DeliveryEvents, Observe } from './events.ts';
import { attemptEnd, type LastFailures } from './report.ts';
import { KeptMessage } from './sender.ts';
import { type Attempted, lastAttemptOf, type Settlement } from './settle.ts';
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
  readonly attempted: Attempted;
  readonly settlement: Settlement;
  readonly started: DeliveryEvents['attempt-started'];
  /** Whether the lease expired: then another process has the messages. */
  readonly isLost: boolean;
}

interface MessageReport {
  readonly message: ClaimedMessage;
  readonly result: MessageResult;
}

/** Reports an attempt after its claim was settled: to events, to the tracker and to the last failures. */
export function reportAttempt(report: AttemptReport, parts: ReportParts): void {
  const { claim, attempted, settlement, started, isLost } = report;
  const { observe, lastFailures } = parts;
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
  if (outcome === 'delivered') lastFailures.succeeded(applicationId);
  else if (outcome !== 'aborted') {
    lastFailures.failed({ applicationId, ...attemptEnd(result) });
  }
  // The process that has the messages now reports what becomes of them.
  if (isLost) return;
  for (const change of settlement.changes) reportChange(change, report, parts);
  const { messages } = claim;
  const { results } = settlement;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index] as ClaimedMessage;
    reportMessage(report, { message, result: results[index] as MessageResult }, parts);
  }
}

function reportChange(
  change: BreakerChange,
  { claim, attempted, settlement }: AttemptReport,
  { observe, onClosed }: ReportParts,
): void {
  const { applicationId, messages } = claim;
  const { pauseMs: waitMs, circuitBreaker } = settlement.state;
  const failing = () => {
    const { failures } = circuitBreaker as CircuitBreaker;
    const oldestMs = Math.max(...messages.map(({ ageMs }) => ageMs));
    const ageMs = oldestMs + attempted.now - claim.nowMs;
    return { applicationId, failures, ageMs };
  };
  if (change === 'opened') {
    const last = lastAttemptOf(attempted.result);
    observe('destination-opened', () => ({ waitMs, ...failing(), ...last }));
  } else if (change === 'closed') observe('destination-closed', failing);
  else if (change === 'paused') observe('destination-paused', () => ({ applicationId, waitMs }));
  else observe('destination-recovered', () => ({ applicationId }));
  if (change === 'closed') onClosed(applicationId);
}

function reportMessage(
  { claim, attempted }: AttemptReport,
  { message, result }: MessageReport,
  { tracker, observe }: ReportParts,
): void {
  const { sequence, stored, sends, ageMs } = message;
  if (result.kind === 'delivered') tracker.settled(sequence, 'delivered');
  if (result.kind !== 'dead') return;
  const { reason } = result;
  tracker.settled(sequence, 'dead', reason);
  const { applicationId } = claim;
  observe('dead', () => {
    const { content } = new KeptMessage({ applicationId, stored, sends });
    return {
      applicationId,
      message_id: stored.messageId,
      message_type: (content['message_type'] ?? content['svc_payload_type']) as string,
      reason,
      attempts: sends + 1,
      ageMs: ageMs + attempted.now - claim.nowMs,
      ...lastAttemptOf(attempted.result),
    };
  });
}
