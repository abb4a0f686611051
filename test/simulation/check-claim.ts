/** What is checked when something is claimed, and when it is given back unsent. */
import type { ApplicationUpdate, Tier } from '../../src/queue/queue.ts';
import type { BookedClaim } from './book.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

/** Of the requests of one process, by what is known of their destinations. */
interface SlotUse {
  /** Surely being made. */
  readonly active: { readonly healthy: number; readonly others: number };
  /** So late that they may be waiting; those of destinations that are not healthy surely are. */
  readonly late: { readonly healthy: number; readonly others: number };
}

/** Whether there surely is a slot for a destination of the tier. */
export function hasFreeSlot(world: World, process: SenderProcess, tier: Tier): boolean {
  const { maxActiveRequests, maxWaitingRequests } = world.scenario.policy;
  const { active, late } = slotUse(world, process);
  // Those that are not healthy have a place to wait from the beginning.
  const isRoomLeft = late.healthy + late.others + active.others < maxWaitingRequests;
  const mayBeActive = active.healthy + active.others + (isRoomLeft ? 0 : late.healthy);
  return mayBeActive < maxActiveRequests && (tier === 'healthy' || isRoomLeft);
}

/** By the claims that a process holds. */
function slotUse(world: World, process: SenderProcess): SlotUse {
  const active = { healthy: 0, others: 0 };
  const late = { healthy: 0, others: 0 };
  const { lateAfterMs } = world.scenario.policy;
  for (const { claim: held } of world.book.applications.values()) {
    if (held?.heldBy !== process.key || held.isUnheard) continue;
    const attempt = world.attempts.get(held.claim.id);
    // A request waits while its settings are late, and while its response is.
    const isLate =
      attempt?.hasHeaders === true
        ? (attempt.reaction.headersMs ?? 0) >= lateAfterMs
        : world.now >= (attempt?.startedAt ?? held.claimedAt) + lateAfterMs;
    const use = isLate ? late : active;
    if (held.claim.state.tier === 'healthy') use.healthy += 1;
    else use.others += 1;
  }
  return { active, late };
}

export function checkClaim(world: World, held: BookedClaim, process: SenderProcess): void {
  const { maxActiveRequests, maxWaitingRequests } = world.scenario.policy;
  const { active, late } = slotUse(world, process);
  const { claim, messages } = held;
  world.tell(
    () =>
      `claim ${claim.applicationId} by ${process.key}: ${messages.length} (${claim.state.tier})`,
  );
  const inFlight = active.healthy + active.others + late.healthy + late.others;
  world.check(
    active.healthy + active.others <= maxActiveRequests &&
      active.others + late.others <= maxWaitingRequests &&
      inFlight <= maxActiveRequests + maxWaitingRequests,
    'slots',
    () =>
      `active ${JSON.stringify(active)} of ${maxActiveRequests}, late ${JSON.stringify(late)} of ${maxWaitingRequests}`,
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
