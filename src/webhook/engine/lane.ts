/**
 * One destination's delivery state and its transitions (D72, D73, D75). Pure: times are the queue's,
 * chance is an argument. The state is plain JSON, since it is stored with the queue.
 */
import type { ApplicationRow, RowUpdate, Tier } from '../../queue/queue.ts';
import type { Random } from '../../system/random.ts';
import type { Outcome } from '../outcome.ts';
import { jittered } from '../retry.ts';
import { sign } from '../signature.ts';
import { BRACKET_BYTES } from '../split.ts';
import { afterPassed, afterTooLarge, type ByteBudget, startBudget } from './byte-budget.ts';
import type { Decision, DeliveryPolicy } from './policy.ts';

export type Lane = {
  readonly tier: Tier;
  /** Tells a new URL from the one that this state is about. */
  readonly urlHash: string;
  /** Whether it has taken a request: until then it is untried, whatever it has answered (D75). */
  readonly isProven: boolean;
  /** Failed requests in a row, those that count (D75). */
  readonly failures: number;
  /** No more than one message at a time, and rarely, to see whether the destination is back. */
  readonly isOpen: boolean;
  /** Failed probes since it opened. */
  readonly probes: number;
  /** Requests of bisections that failed in a row, without a success of any kind (D74). */
  readonly bisectionFailures: number;
  /** When 410 was first said, without a success since (D72). */
  readonly goneAt: number | null;
  /** When it recovered; `null` where slow start is over. */
  readonly recoveredAt: number | null;
  /** How often in a row there was no URL or secret when its turn came. */
  readonly missing: number;
  readonly budget: ByteBudget;
};

/** The lane that is kept must not hold the URL, which may have a token in it. */
export function hashOfUrl(url: URL): string {
  return sign(url.href, 'lane');
}

export function newLane(urlHash: string, policy: DeliveryPolicy): Lane {
  return {
    tier: 'healthy',
    urlHash,
    isProven: false,
    failures: 0,
    isOpen: false,
    probes: 0,
    bisectionFailures: 0,
    goneAt: null,
    recoveredAt: null,
    missing: 0,
    budget: startBudget(policy),
  };
}

/** The row of an application that nothing was sent to yet. */
export function untriedRow(policy: DeliveryPolicy): ApplicationRow {
  return {
    tier: 'healthy',
    maxMessages: policy.cautiousMaxMessages,
    maxBytes: policy.maxBodyBytes,
    lane: null,
  };
}

/** What the lane has left in its row; a new one where there is none, or where the URL is another. */
export function laneOf(row: ApplicationRow, urlHash: string, policy: DeliveryPolicy): Lane {
  const fresh = newLane(urlHash, policy);
  const stored = row.lane as Partial<Lane> | null;
  if (stored === null || stored.urlHash !== urlHash) return fresh;
  return { ...fresh, ...stored };
}

/** Whether the row is about a URL, and not this one. */
export function isOfAnotherUrl({ lane }: ApplicationRow, urlHash: string): boolean {
  return lane !== null && (lane as Partial<Lane>).urlHash !== urlHash;
}

/** What happened to a request, as far as its destination is concerned. */
export interface LaneAttempt {
  readonly outcome: Outcome;
  readonly bodyBytes: number;
  /** Whether a failure counts towards those that open the destination (D75). */
  readonly counts: boolean;
  /** Whether it was a request of a bisection (D74). */
  readonly isBisection: boolean;
  readonly retryAfterMs: number | undefined;
  /** When it ended, in the queue's time. */
  readonly now: number;
}

export type LaneChange = 'paused' | 'opened' | 'recovered' | 'closed';

export interface LaneStep {
  readonly lane: Lane;
  /** For how long nothing goes to the destination. */
  readonly waitMs: number;
  readonly changes: readonly LaneChange[];
}

export function afterAttempt(lane: Lane, attempt: LaneAttempt, decision: Decision): LaneStep {
  const { policy } = decision;
  const { outcome, bodyBytes } = attempt;
  if (outcome === 'delivered') return afterSuccess(lane, attempt, policy);
  if (outcome === 'smaller' || outcome === 'dead') {
    // 413, the answer of a receiver that works: no failure of the destination's, and no recovery.
    const budget = afterTooLarge(lane.budget, bodyBytes);
    const probes = lane.isOpen ? lane.probes + 1 : 0;
    const probeMs = lane.isOpen ? jittered(probeWait(probes, policy), decision.random) : 0;
    const waitMs = Math.max(probeMs, slowStartWait(lane.recoveredAt, attempt.now, policy));
    return { lane: { ...lane, missing: 0, probes, budget }, waitMs, changes: [] };
  }
  return afterFailure(lane, attempt, decision);
}

function afterSuccess(lane: Lane, attempt: LaneAttempt, policy: DeliveryPolicy): LaneStep {
  const recoveredAt = lane.isOpen ? attempt.now : lane.recoveredAt;
  const waitMs = slowStartWait(recoveredAt, attempt.now, policy);
  return {
    lane: {
      ...newLane(lane.urlHash, policy),
      isProven: true,
      budget: afterPassed(lane.budget, attempt.bodyBytes, policy),
      recoveredAt: waitMs === 0 ? null : recoveredAt,
    },
    waitMs,
    changes: lane.isOpen ? ['recovered'] : [],
  };
}

/** Slow start is over when its requests would be closer than this. */
const MIN_SPACING_MS = 2;

/** One request in the first step after a recovery, two in the second, four in the third … (D75) */
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

function afterFailure(lane: Lane, attempt: LaneAttempt, { policy, random }: Decision): LaneStep {
  const { outcome, counts, isBisection, retryAfterMs = 0, now } = attempt;
  const goneAt = outcome === 'close' ? (lane.goneAt ?? now) : lane.goneAt;
  if (outcome === 'close' && now - (goneAt ?? now) >= policy.goneConfirmMs) {
    return { lane: { ...lane, goneAt, tier: 'closed' }, waitMs: 0, changes: ['closed'] };
  }
  const failures = lane.failures + (counts ? 1 : 0);
  const isOpen = lane.isOpen || failures >= policy.openAfterFailures;
  const probes = isOpen ? lane.probes + 1 : 0;
  const pauseMs = outcome === 'pause' ? retryAfterMs : 0;
  const probeMs = isOpen ? probeWait(probes, policy) : 0;
  // What fails again while it is being brought back begins anew, at one request.
  const recoveredAt = lane.recoveredAt === null ? null : now;
  const slowMs = slowStartWait(recoveredAt, now, policy);
  const changes: LaneChange[] = isOpen && !lane.isOpen ? ['opened'] : [];
  if (pauseMs > 0) changes.push('paused');
  return {
    lane: {
      ...lane,
      tier: 'failing',
      failures,
      isOpen,
      probes,
      bisectionFailures: lane.bisectionFailures + (isBisection ? 1 : 0),
      goneAt,
      recoveredAt,
      missing: 0,
    },
    waitMs: jittered(Math.max(pauseMs, probeMs, slowMs), random),
    changes,
  };
}

/**
 * D75: probes come at the schedule's times, but never rarer than `maxProbeWaitMs`; nor, where it has no
 * waits, more often than `minProbeWaitMs`.
 */
function probeWait(probes: number, policy: DeliveryPolicy): number {
  const { schedule, minProbeWaitMs, maxProbeWaitMs } = policy;
  const { delaysMs } = schedule;
  const delayMs = delaysMs[probes - 1] ?? delaysMs.at(-1) ?? maxProbeWaitMs;
  return Math.min(Math.max(delayMs, minProbeWaitMs), maxProbeWaitMs);
}

/** No URL or secret when its turn came: nothing was sent, and it is asked again later (D72). */
export function afterMissing(lane: Lane, policy: DeliveryPolicy, random: Random): LaneStep {
  const missing = lane.missing + 1;
  return {
    lane: { ...lane, missing },
    waitMs: jittered(probeWait(missing, policy), random),
    changes: [],
  };
}

/** What the queue is told of a lane. */
export function rowOf({ lane, waitMs }: LaneStep, policy: DeliveryPolicy): RowUpdate {
  return { tier: lane.tier, maxMessages: maxMessages(lane, policy), waitMs, ...limits(lane) };
}

/** The budget is a body's, the row's limit is of what stands between its brackets. */
function limits(lane: Lane): Pick<ApplicationRow, 'maxBytes' | 'lane'> {
  return { maxBytes: Math.max(1, lane.budget.maxBytes - BRACKET_BYTES), lane };
}

function maxMessages({ isOpen, isProven, tier }: Lane, policy: DeliveryPolicy): number {
  if (isOpen) return 1;
  return tier === 'healthy' && isProven ? policy.maxMessages : policy.cautiousMaxMessages;
}
