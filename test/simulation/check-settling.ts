/**
 * Checks the application's state when an attempt is settled, and which messages were delivered. Unit tests
 * check how long each of the others waits.
 */
import type { ApplicationUpdate, MessageResult } from '../../src/queue/queue.ts';
import { type Attempt, type AttemptEnd, isSuccess } from './attempt.ts';
import { checkRatePause, type SettledAttempt } from './check-rate.ts';
import type { Destination } from './destination.ts';
import type { ExpectedClaim } from './expected-state.ts';
import type { World } from './world.ts';

interface Settling {
  readonly results: readonly MessageResult[];
  readonly state: ApplicationUpdate;
}

export function checkSettling(
  world: World,
  held: ExpectedClaim,
  { results, state }: Settling,
): void {
  const { applicationId } = held.claim;
  const attempt = world.attempts.get(held.claim.id);
  const end = attempt?.end;
  if (attempt === undefined || end === undefined) {
    world.check(false, 'claimed-messages', () => `${applicationId} was settled without an attempt`);
    return;
  }
  const destination = destinationAfter(world, attempt, end);
  // From now on the queue has the state of this attempt's destination.
  world.destinations.set(applicationId, destination);
  const wasOpen = destination.isOpen;
  destination.settle(attempt, end, held.claim.messages);
  const settled = { attempt, end, destination, state };
  checkState(world, settled);
  checkRatePause(world, settled);
  for (const [index, message] of attempt.messages.entries()) {
    const result = results[index];
    world.check(
      (result?.kind === 'delivered') === isSuccess(end),
      'delivered-is-confirmed',
      () => `${message.key}: ${result?.kind} after ${end.status}`,
    );
    const { waitMs } = attempt.retryAfter;
    if (waitMs !== undefined && !isSuccess(end)) message.notBefore = world.now + waitMs;
  }
  for (const change of changesOf(settled, wasOpen)) world.expectEvent(`destination-${change}`);
  world.log(
    () =>
      `     ${attempt.number} settled: ${applicationId} waits ${state.pauseMs} ms, ${state.health}, ${state.maxMessages} messages, ${state.maxBytes} B`,
  );
}

/** A failure of a destination that was reopened during the attempt counts as its first. */
function destinationAfter(world: World, attempt: Attempt, end: AttemptEnd): Destination {
  const { applicationId, destination, isReopened } = attempt;
  if (!isReopened || destination.health !== 'failing' || isSuccess(end)) return destination;
  const { url } = destination;
  return Object.assign(world.newDestination(applicationId), { url });
}

function changesOf({ attempt, end, destination }: SettledAttempt, wasOpen: boolean) {
  const { health, isOpen } = destination;
  const isPause = end.status === 429 || end.status === 503;
  return [
    ...(health === 'closed' ? (['closed'] as const) : []),
    ...(isOpen && !wasOpen ? (['opened'] as const) : []),
    ...(!isOpen && wasOpen ? (['recovered'] as const) : []),
    ...(isPause && (attempt.retryAfter.waitMs ?? 0) > 0 ? (['paused'] as const) : []),
  ];
}

function checkState(world: World, { attempt, end, destination, state }: SettledAttempt): void {
  const { applicationId } = attempt;
  const { atLeastMs, atMostMs } = destination.waitAfter(attempt, end);
  world.check(
    state.pauseMs >= atLeastMs && state.pauseMs <= atMostMs,
    'destination-wait',
    () => `${applicationId} waits ${state.pauseMs} ms instead of ${atLeastMs} to ${atMostMs}`,
  );
  world.check(
    state.health === destination.health,
    'health',
    () => `${applicationId} is stored as ${state.health} instead of ${destination.health}`,
  );
}
