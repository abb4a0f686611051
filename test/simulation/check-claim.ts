/** What is checked when something is claimed, and when it is given back unsent. */
import type { ApplicationUpdate, Tier } from '../../src/queue/queue.ts';
import type { BookedClaim } from './book.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

interface SlotUse {
  /** Of destinations that work, by what is surely still in their slots. */
  readonly healthy: number;
  readonly failing: number;
  /** Of those that work, but so late that they may have moved. */
  readonly late: number;
}

/** Whether there surely is one: what is late has moved where there was room enough for all. */
export function hasFreeSlot(world: World, process: SenderProcess, tier: Tier): boolean {
  const { healthySlots, failingSlots } = world.scenario.policy;
  const { healthy, failing, late } = slotUse(world, process);
  if (tier === 'failing') return failing + late < failingSlots;
  const hasMoved = failingSlots > MANY_SLOTS && failing + late < failingSlots;
  return healthy + (hasMoved ? 0 : late) < healthySlots;
}

const MANY_SLOTS = 12;

/** By the claims that a process holds. */
function slotUse(world: World, process: SenderProcess): SlotUse {
  const use = { healthy: 0, failing: 0, late: 0 };
  const { lateHeadersMs } = world.scenario.policy;
  for (const { claim: held } of world.book.applications.values()) {
    if (held?.heldBy !== process.key || held.isUnheard) continue;
    const attempt = world.attempts.get(held.claim.id);
    // What asking for the settings takes too long moves over, too, and stays there.
    const startedAt = attempt?.startedAt ?? world.now;
    const isLate =
      startedAt >= held.claimedAt + lateHeadersMs ||
      (attempt?.hasHeaders === true
        ? (attempt.reaction.headersMs ?? 0) >= lateHeadersMs
        : world.now >= startedAt + lateHeadersMs);
    if (held.claim.state.tier === 'failing') use.failing += 1;
    else if (isLate) use.late += 1;
    else use.healthy += 1;
  }
  return use;
}

export function checkClaim(world: World, held: BookedClaim, process: SenderProcess): void {
  const { healthySlots, failingSlots } = world.scenario.policy;
  const { healthy, failing, late } = slotUse(world, process);
  const { claim, messages } = held;
  world.tell(
    () =>
      `claim ${claim.applicationId} by ${process.key}: ${messages.length} (${claim.state.tier})`,
  );
  world.check(
    healthy <= healthySlots &&
      failing <= failingSlots &&
      healthy + failing + late <= healthySlots + failingSlots,
    'slots',
    () => `${healthy} of ${healthySlots}, failing ${failing} of ${failingSlots}, late ${late}`,
  );
  for (const [index, message] of messages.entries()) {
    const sends = claim.messages[index]?.sends;
    world.check(
      sends === message.sends - 1 && (message.dueAt <= world.now || message.isDelayOver),
      'ledger',
      () =>
        `${message.key} was claimed with ${sends} sends, due at ${message.dueAt - world.startedAt}`,
    );
  }
}

export function checkRelease(
  world: World,
  held: BookedClaim,
  {
    state,
    process,
  }: { readonly state: ApplicationUpdate | undefined; readonly process: SenderProcess },
): void {
  const { claim } = held;
  const { applicationId } = claim;
  world.check(
    !held.isPosted,
    'missing',
    () => `${applicationId} was sent, and given back as unsent`,
  );
  if (state === undefined) {
    world.check(
      process.isClosing,
      'missing',
      () => `${applicationId} was given back for no reason`,
    );
    return;
  }
  const { fault, url } = world.settingsOf(applicationId);
  if (state.circuitBreaker === null && url !== held.destination.url) {
    // Claimed by what another URL was good for (D75).
    const { cautiousMaxMessages } = world.scenario.policy;
    world.check(
      held.messages.length > cautiousMaxMessages && state.maxMessages <= cautiousMaxMessages,
      'cautious',
      () => `${applicationId}: ${held.messages.length} messages were given back for another URL`,
    );
    world.newDestination(applicationId);
    return;
  }
  if (fault !== undefined) for (const message of held.messages) message.met.add(fault);
  const bounds = held.destination.waitOfMissing();
  world.destinations.set(applicationId, held.destination);
  const isSlow = world.slowSettingsMs > 0 || world.now - held.claimedAt > 0;
  world.tell(
    () => `give back ${applicationId}: ${fault ?? 'nothing'} is wrong, waits ${state.pauseMs} ms`,
  );
  world.check(
    fault !== undefined || isSlow,
    'missing',
    () => `${applicationId} has a destination, and was given back`,
  );
  world.check(
    state.pauseMs >= bounds.atLeastMs && state.pauseMs <= bounds.atMostMs,
    'wait-of-destination',
    () => `${applicationId} is missing and waits ${state.pauseMs} ms: ${JSON.stringify(bounds)}`,
  );
}
