/** What is checked when an attempt has been settled: each message's verdict, and the destination's row. */
import type { RowUpdate, Verdict } from '../../src/queue/queue.ts';
import type { Attempt, AttemptEnd } from './attempt.ts';
import type { BookedClaim } from './book.ts';
import { checkVerdict, kindOf } from './check-verdict.ts';
import type { Destination } from './destination.ts';
import type { World } from './world.ts';

interface Settling {
  readonly verdicts: readonly Verdict[];
  readonly row: RowUpdate;
}

export function checkSettling(world: World, held: BookedClaim, { verdicts, row }: Settling): void {
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
  checkRow(world, { attempt, end, destination, row });
  const kind = kindOf(world, attempt, end);
  for (const [index, message] of attempt.messages.entries()) {
    const verdict = verdicts[index];
    if (verdict === undefined) continue;
    const outcome = checkVerdict(world, { attempt, end, kind, message, verdict, destination });
    cover(world, attempt, outcome);
  }
  for (const change of changesOf({ attempt, end, destination, wasOpen })) {
    world.coverage.hit(attempt.fault, `destination ${change}`);
    world.expectEvent(`destination-${change}`);
  }
  world.tell(
    () =>
      `     ${attempt.number} settled: ${kind}, ${applicationId} waits ${row.waitMs} ms, ${row.tier}, ${row.maxMessages} messages, ${row.maxBytes} B`,
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

interface RowChecked {
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  readonly destination: Destination;
  readonly row: RowUpdate;
}

function checkRow(world: World, { attempt, end, destination, row }: RowChecked): void {
  const { applicationId } = attempt;
  const { atLeastMs, atMostMs } = destination.waitAfter(attempt, end);
  world.check(
    row.waitMs >= atLeastMs && row.waitMs <= atMostMs,
    'wait-of-destination',
    () => `${applicationId} waits ${row.waitMs} ms instead of ${atLeastMs} to ${atMostMs}`,
  );
  world.check(
    row.tier === destination.tier,
    'tier-of-slots',
    () => `${applicationId} is written as ${row.tier}, it is ${destination.tier}`,
  );
}
