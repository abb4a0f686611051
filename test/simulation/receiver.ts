/** Simulated receivers. A response depends on the time and on the messages of the request. */
import { FAULTS, type FaultName, type Reaction } from './faults.ts';
import type { Phase, RetryAfterForm } from './scenario.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

export interface Answer {
  readonly fault: FaultName;
  readonly reaction: Reaction;
  readonly phase: Phase | undefined;
}

export function answerOf(
  world: World,
  request: {
    readonly applicationId: string;
    readonly messages: readonly Tracked[];
    readonly bytes: number;
  },
): Answer {
  const { applicationId, messages, bytes } = request;
  const { plan } = world.settingsOf(applicationId);
  const { random, sinceStartMs, scenario } = world;
  const phase =
    sinceStartMs < scenario.healedMs
      ? plan.phases.findLast(({ fromMs }) => fromMs <= sinceStartMs)
      : undefined;
  const isPoisoned = messages.some(({ isPoison }) => isPoison);
  const base = phase?.fault ?? 'none';
  // A receiver that does not read the body cannot refuse it for its content.
  const readsBody = FAULTS_THAT_READ.has(base);
  const fault =
    isPoisoned && readsBody && plan.poisonStatus !== undefined
      ? (`poison-${plan.poisonStatus}` as const)
      : base;
  const facts = { bytes, limitBytes: phase?.limitBytes ?? 0, latencyMs: plan.latencyMs, random };
  return { fault, reaction: FAULTS[fault](facts), phase };
}

const FAULTS_THAT_READ: ReadonlySet<FaultName> = new Set([
  'none',
  'accepted',
  'slow',
  'endless-body',
  'flaky',
]);

/** D71 */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

const FORMS: Readonly<Record<RetryAfterForm, (waitMs: number, now: number) => string | undefined>> =
  {
    none: () => undefined,
    seconds: (waitMs) => String(Math.floor(waitMs / 1000)),
    date: (waitMs, now) => new Date(now + waitMs).toUTCString(),
    garbage: () => 'in a while',
  };

export interface RetryAfter {
  readonly header: string | undefined;
  /** The wait that a sender should derive from the header. */
  readonly waitMs: number | undefined;
}

export function retryAfterOf(phase: Phase | undefined, status: number, now: number): RetryAfter {
  const sendsHeader = phase !== undefined && (status < 200 || status > 299);
  if (!sendsHeader) return { header: undefined, waitMs: undefined };
  const header = FORMS[phase.retryAfter](phase.retryAfterMs, now);
  if (header === undefined || phase.retryAfter === 'garbage') return { header, waitMs: undefined };
  const waitMs = phase.retryAfter === 'date' ? Date.parse(header) - now : Number(header) * 1000;
  return { header, waitMs: Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS) };
}
