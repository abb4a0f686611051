/** The modelled receivers: what one says to a request depends on the time and on what is in it. */
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
  // What does not get through is not judged by what it holds.
  const judges = FAULTS_THAT_READ.has(base);
  const fault =
    isPoisoned && judges && plan.poisonStatus !== undefined
      ? (`poison-${plan.poisonStatus}` as const)
      : base;
  const asked = { bytes, limitBytes: phase?.limitBytes ?? 0, latencyMs: plan.latencyMs, random };
  return { fault, reaction: FAULTS[fault](asked), phase };
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
  /** What a sender should make of it. */
  readonly waitMs: number | undefined;
}

export function retryAfterOf(phase: Phase | undefined, status: number, now: number): RetryAfter {
  const isAsked = phase !== undefined && (status < 200 || status > 299);
  if (!isAsked) return { header: undefined, waitMs: undefined };
  const header = FORMS[phase.retryAfter](phase.retryAfterMs, now);
  if (header === undefined || phase.retryAfter === 'garbage') return { header, waitMs: undefined };
  const waitMs = phase.retryAfter === 'date' ? Date.parse(header) - now : Number(header) * 1000;
  return { header, waitMs: Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS) };
}
