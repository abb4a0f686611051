/** What could be sent: it is sent at once, and in its turn. */
import type { BookedApplication } from './book.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

/** Timers are whole ms, and a wait of none is one. */
export const SLACK_MS = 3;

/** Whatever may be sent is sent at once. */
export function checkReady(
  world: World,
  application: BookedApplication,
  processes: readonly SenderProcess[],
): void {
  const { id, tier } = application;
  if (!isReady(world, application) || tier === 'closed') {
    application.readySince = undefined;
    return;
  }
  application.readySince ??= world.now;
  const { readySince } = application;
  const slackMs = SLACK_MS + world.backing.hearsLateMs + world.setBackMs;
  if (world.now - readySince <= slackMs) return;
  for (const process of processes) {
    const isAble = process.isDelivering && world.now - process.startedAt > slackMs;
    const isTroubled = world.now <= world.troubledUntil + slackMs;
    const freeSince = process.slotFreeSince(tier) ?? world.now;
    if (!isAble || isTroubled || world.now - freeSince <= slackMs) continue;
    world.check(
      false,
      'held-up',
      () => `${id} could be sent for ${world.now - readySince} ms (${tier})`,
    );
  }
}

function isReady(
  world: World,
  { waiting, claim, notBefore, maxMessages }: BookedApplication,
): boolean {
  if (claim !== undefined || waiting.size === 0 || notBefore > world.now) return false;
  const isFull = waiting.size >= maxMessages;
  for (const { dueAt, sends } of waiting) {
    // Not once it was full: of real queues the books may see calls in another order.
    if (dueAt <= world.now || (isFull && sends === 0)) return true;
  }
  return false;
}

/** When an application is claimed: no other of its tier could have been for longer (law 4). */
export function checkTurn(world: World, applicationId: string): void {
  const { tier, readySince = world.now } = world.book.application(applicationId);
  for (const other of world.book.applications.values()) {
    const isFirst = other.readySince !== undefined && other.readySince < readySince - SLACK_MS;
    if (other.id === applicationId || other.tier !== tier || !isFirst) continue;
    world.check(
      !isReady(world, other),
      'turns',
      () =>
        `${applicationId} was claimed, and not ${other.id} (${tier}), which could be for longer`,
    );
  }
}
