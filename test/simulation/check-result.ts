/** What is checked of the result on a message when its attempt has been settled (D71 to D74). */
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

/** By D72 to D74: what an end like this means for the messages. */
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

interface Judged {
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly kind: Kind;
  readonly message: Tracked;
  readonly result: MessageResult;
  readonly destination: Destination;
}

/** The outcome, for the table. */
export function checkResult(world: World, judged: Judged): string {
  const { kind, message, result, destination, attempt } = judged;
  const { key } = message;
  const waitMs = attempt.retryAfter.waitMs;
  message.maxCompany = Number.POSITIVE_INFINITY;
  if (waitMs !== undefined && kind !== 'delivered') message.notBefore = world.now + waitMs;
  world.check(
    (result.kind === 'delivered') === (kind === 'delivered'),
    'delivered-was-confirmed',
    () => `${key}: ${result.kind} after ${kind}`,
  );
  switch (kind) {
    case 'delivered':
      return 'delivered';
    case 'aborted':
      expectAgain(world, judged, [0, 0]);
      return 'aborted';
    case 'too-large':
      expectDeath(world, judged, 'too-large');
      return 'too large';
    case 'halved':
      return halve(world, judged);
    case 'content':
      if (destination.isBisectionOver || (message.steps === 0 && !message.isBisecting)) {
        return postpone(world, judged);
      }
      message.isBisecting = true;
      return `bisected, ${halve(world, judged)}`;
    default:
      return postpone(world, judged);
  }
}

/** At once, or when the receiver said, in half the company (D73, D74). */
function halve(world: World, judged: Judged): string {
  const { message, attempt, result } = judged;
  const { waitMs = 0 } = attempt.retryAfter;
  const isAsked = attempt.retryAfter.waitMs !== undefined;
  if (isAsked && isPastHorizon(world, message, waitMs))
    return expectDeath(world, judged, 'horizon-passed');
  expectAgain(world, judged, [waitMs, waitMs * 1.25]);
  const most = Math.max(1, Math.floor(attempt.messages.length / 2));
  message.maxCompany = most;
  world.check(
    result.kind === 'retry' && (result.maxMessages ?? Number.POSITIVE_INFINITY) <= most,
    'halving',
    () => `${message.key}: ${JSON.stringify(result)}, at most ${most} together`,
  );
  return 'halved';
}

/** By the schedule, as often as the status allows (D71, D72). */
function postpone(world: World, judged: Judged): string {
  const { message, attempt, end, kind, destination } = judged;
  const { schedule, refusedMaxAttempts } = world.scenario.policy;
  const isShared = kind === 'content' && !destination.isBisectionOver;
  if (isRefusal(end) && !isShared) message.refusals += 1;
  if (message.refusals >= refusedMaxAttempts && isRefusal(end) && !isShared) {
    return expectDeath(world, judged, 'attempts-exhausted');
  }
  const { delaysMs, repeatLast } = schedule;
  const delayMs = delaysMs[message.steps] ?? (repeatLast ? delaysMs.at(-1) : undefined);
  if (delayMs === undefined) return expectDeath(world, judged, 'attempts-exhausted');
  const waitMs = Math.max(delayMs, attempt.retryAfter.waitMs ?? 0);
  if (isPastHorizon(world, message, waitMs)) return expectDeath(world, judged, 'horizon-passed');
  message.steps += 1;
  message.isBisecting &&= !blamesContent(end);
  message.failedAlone ||= blamesContent(end) && attempt.messages.length === 1;
  if (message.failedAlone) message.maxCompany = 1;
  expectAgain(world, judged, [waitMs, Math.max(1, waitMs * 1.25)]);
  return 'postponed';
}

function isPastHorizon(world: World, { acceptedAt }: Tracked, waitMs: number): boolean {
  const { horizonMs } = world.scenario.policy.schedule;
  return world.now + waitMs > acceptedAt + horizonMs;
}

function expectAgain(
  world: World,
  { message, result }: Judged,
  [from, to]: readonly [number, number],
): void {
  const isWithin = result.kind === 'retry' && result.afterMs >= from && result.afterMs <= to;
  world.check(
    isWithin,
    result.kind === 'dead' ? 'attempts' : 'schedule',
    () => `${message.key}: ${JSON.stringify(result)} instead of retry in ${from} to ${to} ms`,
  );
}

function expectDeath(world: World, { message, result }: Judged, reason: string): string {
  world.check(
    result.kind === 'dead' && result.reason === reason,
    result.kind === 'dead' ? 'dead-reason' : 'attempts',
    () => `${message.key}: ${JSON.stringify(result)} instead of dead, ${reason}`,
  );
  return `dead: ${reason}`;
}
