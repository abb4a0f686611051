/** Checks that rate limits hold, and that they are nearly reached while messages wait. */
import type { ApplicationUpdate } from '../../src/queue/queue.ts';
import { type Attempt, type AttemptEnd, isSuccess } from './attempt.ts';
import { SLACK_MS } from './check-ready.ts';
import type { Destination } from './destination.ts';
import type { ExpectedClaim } from './expected-state.ts';
import type { World } from './world.ts';

/** Rounding error of sums of fractional milliseconds. */
const ROUNDING_MS = 1e-6;
const REACHED = 0.9;

/** Checks a request when it is sent. */
export function checkRate(world: World, destination: Destination, held: ExpectedClaim): void {
  const { intervalMs, lastRequestAt, ownLastRequestAt, maxMessagesAtOnce } = destination;
  const { messages, claim, claimedAt } = held;
  const { applicationId } = claim;
  const sinceMs = world.now - lastRequestAt;
  world.check(
    sinceMs >= intervalMs - ROUNDING_MS && messages.length <= maxMessagesAtOnce,
    'rate-limit',
    () =>
      `${applicationId}: ${messages.length} messages after ${sinceMs} ms instead of ${intervalMs}`,
  );
  const sinceOwnMs = world.now - Math.max(ownLastRequestAt, claimedAt - intervalMs);
  world.check(
    !isSteady(world, held) || sinceOwnMs <= intervalMs / REACHED + SLACK_MS,
    'rate-reached',
    () => `${applicationId}: a request after ${sinceOwnMs} ms, where ${intervalMs} are enough`,
  );
  destination.recordRequest(world.now, messages.length);
}

/** Whether only the rate limit can delay the claim. */
function isSteady(world: World, { claimedAt }: ExpectedClaim): boolean {
  const { slowSettingsUntil, unstableUntil, scenario } = world;
  const hasSlots = scenario.policy.maxActiveRequests >= scenario.applications.length;
  return hasSlots && claimedAt > Math.max(slowSettingsUntil, unstableUntil + SLACK_MS);
}

/** Checks that a success delays the next claim by the rate limit at most. */
export function checkRatePause(
  world: World,
  { attempt, end, destination, state }: SettledAttempt,
): void {
  // A settle that failed is repeated with the pause of its first try.
  const isRepeated = world.unstableUntil >= end.at;
  if (!isSuccess(end) || destination.recoveredAt !== undefined || isRepeated) return;
  const allowedAt = attempt.startedAt + destination.intervalAfter(attempt.messages.length);
  const neededMs = Math.max(0, allowedAt - world.now);
  world.check(
    state.pauseMs <= neededMs + 1,
    'rate-reached',
    () => `${attempt.applicationId} waits ${state.pauseMs} ms, where ${neededMs} are enough`,
  );
}

export interface SettledAttempt {
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly destination: Destination;
  readonly state: ApplicationUpdate;
}
