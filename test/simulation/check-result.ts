/** Checks each message's result when its attempt is settled (D71 to D74). */
import type { MessageResult } from '../../src/queue/queue.ts';
import {
  type Attempt,
  type AttemptEnd,
  blamesContent,
  isRefusal,
  isSuccess,
  isTooLarge,
} from './attempt.ts';
import type { Destination } from './destination.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

/** The meaning of an attempt's result for its messages (D72 to D74). */
type Kind = 'delivered' | 'aborted' | 'too-large' | 'halved' | 'content' | 'failed';

export function kindOf(world: World, { messages, bytes }: Attempt, end: AttemptEnd): Kind {
  const { largeBodyBytes } = world.scenario.policy;
  const count = messages.length;
  if (end.isAborted) return 'aborted';
  if (isSuccess(end)) return 'delivered';
  if (isTooLarge(end, { count, bytes, largeBodyBytes }))
    return count === 1 ? 'too-large' : 'halved';
  return blamesContent(end) && count > 1 ? 'content' : 'failed';
}

interface CheckedResult {
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly kind: Kind;
  readonly message: Tracked;
  readonly result: MessageResult;
  readonly destination: Destination;
}

export function checkResult(world: World, checked: CheckedResult): void {
  const { kind, message, result, destination, attempt } = checked;
  const { key } = message;
  const waitMs = attempt.retryAfter.waitMs;
  message.maxBatchSize = Number.POSITIVE_INFINITY;
  if (waitMs !== undefined && kind !== 'delivered') message.notBefore = world.now + waitMs;
  world.check(
    (result.kind === 'delivered') === (kind === 'delivered'),
    'delivered-is-confirmed',
    () => `${key}: ${result.kind} after ${kind}`,
  );
  if (kind === 'aborted') expectRetry(world, checked, [0, 0]);
  else if (kind === 'too-large') expectDead(world, checked, 'too-large');
  else if (kind === 'halved') halve(world, checked);
  else if (kind === 'failed') reschedule(world, checked);
  else if (kind === 'content') {
    const isFirst = message.steps === 0 && !message.isBisecting;
    if (destination.isBisectionOver || isFirst) reschedule(world, checked);
    else {
      message.isBisecting = true;
      halve(world, checked);
    }
  }
}

/** Expects a retry in half the batch, at once or after Retry-After (D73, D74). */
function halve(world: World, checked: CheckedResult): void {
  const { message, attempt, result } = checked;
  const { waitMs = 0 } = attempt.retryAfter;
  const hasRetryAfter = attempt.retryAfter.waitMs !== undefined;
  if (hasRetryAfter && isPastHorizon(world, message, waitMs)) {
    expectDead(world, checked, 'horizon-passed');
    return;
  }
  expectRetry(world, checked, [waitMs, waitMs * 1.25]);
  const most = Math.max(1, Math.floor(attempt.messages.length / 2));
  message.maxBatchSize = most;
  world.check(
    result.kind === 'retry' && (result.maxMessages ?? Number.POSITIVE_INFINITY) <= most,
    'halving',
    () => `${message.key}: ${JSON.stringify(result)}, at most ${most} per request`,
  );
}

/** Expects a retry by the schedule, as often as the status allows (D71, D72). */
function reschedule(world: World, checked: CheckedResult): void {
  const { message, attempt, end, kind, destination } = checked;
  const { schedule, refusedMaxAttempts } = world.scenario.policy;
  const isShared = kind === 'content' && !destination.isBisectionOver;
  if (isRefusal(end) && !isShared) message.refusals += 1;
  if (message.refusals >= refusedMaxAttempts && isRefusal(end) && !isShared) {
    expectDead(world, checked, 'attempts-exhausted');
    return;
  }
  const { delaysMs, repeatLast } = schedule;
  const delayMs = delaysMs[message.steps] ?? (repeatLast ? delaysMs.at(-1) : undefined);
  if (delayMs === undefined) {
    expectDead(world, checked, 'attempts-exhausted');
    return;
  }
  const waitMs = Math.max(delayMs, attempt.retryAfter.waitMs ?? 0);
  if (isPastHorizon(world, message, waitMs)) {
    expectDead(world, checked, 'horizon-passed');
    return;
  }
  message.steps += 1;
  message.isBisecting &&= !blamesContent(end);
  message.failedAlone ||= blamesContent(end) && attempt.messages.length === 1;
  if (message.failedAlone) message.maxBatchSize = 1;
  expectRetry(world, checked, [waitMs, Math.max(1, waitMs * 1.25)]);
}

function isPastHorizon(world: World, { acceptedAt }: Tracked, waitMs: number): boolean {
  const { horizonMs } = world.scenario.policy.schedule;
  return world.now + waitMs > acceptedAt + horizonMs;
}

function expectRetry(
  world: World,
  { message, result }: CheckedResult,
  [from, to]: readonly [number, number],
): void {
  const isWithin = result.kind === 'retry' && result.afterMs >= from && result.afterMs <= to;
  world.check(
    isWithin,
    result.kind === 'dead' ? 'attempts' : 'schedule',
    () => `${message.key}: ${JSON.stringify(result)} instead of retry in ${from} to ${to} ms`,
  );
}

function expectDead(world: World, { message, result }: CheckedResult, reason: string): void {
  world.check(
    result.kind === 'dead' && result.reason === reason,
    result.kind === 'dead' ? 'dead-reason' : 'attempts',
    () => `${message.key}: ${JSON.stringify(result)} instead of dead, ${reason}`,
  );
}
