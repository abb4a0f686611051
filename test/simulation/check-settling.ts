/** What is checked when an attempt has been settled: each message's result, and the application's state. */
import type { ApplicationUpdate, MessageResult } from '../../src/queue/queue.ts';
import type { Attempt, AttemptEnd } from './attempt.ts';
import type { BookedClaim } from './book.ts';
import { checkResult, kindOf } from './check-result.ts';
import type { Destination } from './destination.ts';
import type { World } from './world.ts';

interface Settling {
  readonly results: readonly MessageResult[];
  readonly state: ApplicationUpdate;
}

export function checkSettling(world: World, held: BookedClaim, { results, state }: Settling): void {
  const { applicationId } = held.claim;
  const attempt = world.attempts.get(held.claim.id);
  const end = attempt?.end;
  if (attempt === undefined || end === undefined) {
    world.check(false, 'claimed-messages', () => `${applicationId} was settled without an attempt`);
    return;
  }
  const { destination } = attempt;
  // What is settled is what the queue knows from now on.
  world.destinations.set(applicationId, destination);
  const wasOpen = destination.isOpen;
  destination.settle(attempt, end);
  checkState(world, { attempt, end, destination, state });
  const kind = kindOf(world, attempt, end);
  for (const [index, message] of attempt.messages.entries()) {
    const result = results[index];
    if (result === undefined) continue;
    const outcome = checkResult(world, { attempt, end, kind, message, result, destination });
    cover(world, attempt, outcome);
  }
  for (const change of changesOf({ attempt, end, destination, wasOpen })) {
    world.coverage.hit(attempt.fault, `destination ${change}`);
    world.expectEvent(`destination-${change}`);
  }
  world.tell(
    () =>
      `     ${attempt.number} settled: ${kind}, ${applicationId} waits ${state.pauseMs} ms, ${state.tier}, ${state.maxMessages} messages, ${state.maxBytes} B`,
  );
}

interface Change {
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly destination: Destination;
  readonly wasOpen: boolean;
}

function changesOf({ attempt, end, destination, wasOpen }: Change) {
  const { tier, isOpen } = destination;
  const isPause = end.status === 429 || end.status === 503;
  return [
    ...(tier === 'closed' ? (['closed'] as const) : []),
    ...(isOpen && !wasOpen ? (['opened'] as const) : []),
    ...(!isOpen && wasOpen ? (['recovered'] as const) : []),
    ...(isPause && (attempt.retryAfter.waitMs ?? 0) > 0 ? (['paused'] as const) : []),
  ];
}

function cover(world: World, { fault, retryAfter, phase }: Attempt, outcome: string): void {
  world.coverage.hit(fault, outcome);
  const isAsked = retryAfter.header !== undefined && phase !== undefined;
  if (isAsked) world.coverage.hit(`retry-after-${phase.retryAfter}`, outcome);
}

interface StateChecked {
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly destination: Destination;
  readonly state: ApplicationUpdate;
}

function checkState(world: World, { attempt, end, destination, state }: StateChecked): void {
  const { applicationId } = attempt;
  const { atLeastMs, atMostMs } = destination.waitAfter(attempt, end);
  world.check(
    state.pauseMs >= atLeastMs && state.pauseMs <= atMostMs,
    'wait-of-destination',
    () => `${applicationId} waits ${state.pauseMs} ms instead of ${atLeastMs} to ${atMostMs}`,
  );
  world.check(
    state.tier === destination.tier,
    'tier-of-slots',
    () => `${applicationId} is written as ${state.tier}, it is ${destination.tier}`,
  );
}
