/** Checks that ready applications are claimed at once and in turn. */
import type { ExpectedApplication } from './expected-state.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

/** Timers are whole milliseconds, and the shortest is 1 ms. */
export const SLACK_MS = 3;

/** Checks that a ready application does not wait while a process has a free slot. */
export function checkReady(
  world: World,
  application: ExpectedApplication,
  processes: readonly SenderProcess[],
): void {
  const { id, health } = application;
  if (!isReady(world, application) || health === 'closed') {
    application.readySince = undefined;
    return;
  }
  application.readySince ??= world.now;
  const { readySince } = application;
  const slackMs = SLACK_MS + world.setBackMs;
  if (world.now - readySince <= slackMs) return;
  for (const process of processes) {
    const isAble = process.isDelivering && world.now - process.startedAt > slackMs;
    const isUnstable = world.now <= world.unstableUntil + slackMs;
    const freeSince = process.slotFreeSince(health) ?? world.now;
    if (!isAble || isUnstable || world.now - freeSince <= slackMs) continue;
    world.check(
      false,
      'sent-at-once',
      () => `${id} has been ready for ${world.now - readySince} ms (${health})`,
    );
  }
}

function isReady(
  world: World,
  { waiting, claim, notBefore, maxMessages }: ExpectedApplication,
): boolean {
  if (claim !== undefined || waiting.size === 0 || notBefore > world.now) return false;
  const isFull = waiting.size >= maxMessages;
  for (const { dueAt, sends } of waiting) {
    // Not only at the moment it became full: a real queue may execute calls in another order.
    if (dueAt <= world.now || (isFull && sends === 0)) return true;
  }
  return false;
}

/** Checks that no other application of the same health was ready before the claimed one (law 4). */
export function checkTurn(world: World, applicationId: string): void {
  const { health, readySince = world.now, waiting } = world.expected.application(applicationId);
  // Its delay ended when a claim was full, which may have been earlier than others were ready.
  if ([...waiting].some(({ isDelayOver, dueAt }) => isDelayOver && dueAt > world.now)) return;
  for (const other of world.expected.applications.values()) {
    const isFirst = other.readySince !== undefined && other.readySince < readySince - SLACK_MS;
    if (other.id === applicationId || other.health !== health || !isFirst) continue;
    world.check(
      !isReady(world, other),
      'turns',
      () =>
        `${applicationId} was claimed instead of ${other.id} (${health}), which was ready earlier`,
    );
  }
}
