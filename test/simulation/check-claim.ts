/** Checks claims, and claims that are released unsent. */
import type { ApplicationUpdate, Health } from '../../src/queue/queue.ts';
import type { ExpectedClaim } from './expected-state.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

/** Longest time by which a claim may come too early for a rate limit. */
const MAX_LEAD_MS = 1000;

/** Requests of one process, by the health of their destinations. */
interface SlotUse {
  /** Certainly use an active slot. */
  readonly active: { readonly healthy: number; readonly others: number };
  /** Late. Requests to healthy destinations may use a waiting slot, the others certainly do. */
  readonly late: { readonly healthy: number; readonly others: number };
}

/** Returns whether a slot for destinations of this health is certainly free. */
export function hasFreeSlot(world: World, process: SenderProcess, health: Health): boolean {
  const { maxActiveRequests, maxWaitingRequests } = world.scenario.policy;
  const { active, late } = slotUse(world, process);
  // Requests to other tiers reserve a waiting slot from the start.
  const isRoomLeft = late.healthy + late.others + active.others < maxWaitingRequests;
  const mayBeActive = active.healthy + active.others + (isRoomLeft ? 0 : late.healthy);
  return mayBeActive < maxActiveRequests && (health === 'healthy' || isRoomLeft);
}

function slotUse(world: World, process: SenderProcess): SlotUse {
  const active = { healthy: 0, others: 0 };
  const late = { healthy: 0, others: 0 };
  const { lateAfterMs } = world.scenario.policy;
  for (const { claim: held } of world.expected.applications.values()) {
    if (held?.claimedBy !== process.key || held.isResultLost) continue;
    const attempt = world.attempts.get(held.claim.id);
    // A request is late while its settings or its response are late.
    const until = attempt?.end?.at ?? world.now;
    const isLate = until >= (attempt?.startedAt ?? held.claimedAt) + lateAfterMs;
    const use = isLate ? late : active;
    if (held.claim.state.health === 'healthy') use.healthy += 1;
    else use.others += 1;
  }
  return { active, late };
}

export function checkClaim(world: World, held: ExpectedClaim, process: SenderProcess): void {
  const { maxActiveRequests, maxWaitingRequests } = world.scenario.policy;
  const { active, late } = slotUse(world, process);
  const { claim, messages } = held;
  world.log(
    () =>
      `claim ${claim.applicationId} by ${process.key}: ${messages.length} (${claim.state.health})`,
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
    const sends = claim.messages[index]?.retryCount;
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
  held: ExpectedClaim,
  {
    state,
    process,
  }: { readonly state: ApplicationUpdate | undefined; readonly process: SenderProcess },
): void {
  const { claim } = held;
  const { applicationId } = claim;
  world.check(
    !held.isPosted,
    'release-unsent',
    () => `${applicationId} was sent, but released as unsent`,
  );
  if (state === undefined) {
    world.check(
      process.isClosing,
      'release-unsent',
      () => `${applicationId} was released for no reason`,
    );
    return;
  }
  const { fault, url } = world.settingsOf(applicationId);
  const isOfAnotherUrl = url !== held.destination.url;
  const maxMessagesAtOnce = Math.floor(held.destination.maxMessagesAtOnce);
  if (state.pauseMs === 0 && (isOfAnotherUrl || held.messages.length > maxMessagesAtOnce)) {
    // The claim was sized for the old URL (D75), or without the rate limit.
    const { cautiousMaxMessages } = world.scenario.policy;
    const limits = [cautiousMaxMessages, maxMessagesAtOnce];
    world.check(
      limits.some((limit) => held.messages.length > limit && state.maxMessages <= limit),
      'cautious',
      () => `${applicationId}: ${held.messages.length} messages were released for another URL`,
    );
    if (isOfAnotherUrl) world.newDestination(applicationId);
    return;
  }
  const { ownLastRequestAt, intervalMs } = world.destination(applicationId);
  const limitedUntil = ownLastRequestAt + intervalMs;
  if (fault === undefined && limitedUntil - world.now > MAX_LEAD_MS) {
    // Claimed too early for its rate limit, after a reopening or a jump of the queue's clock.
    world.check(
      world.now + state.pauseMs <= limitedUntil,
      'destination-wait',
      () => `${applicationId} waits ${state.pauseMs} ms, its rate limit until ${limitedUntil}`,
    );
    return;
  }
  if (fault !== undefined) world.occurredFaults.add(fault);
  if (fault === 'settings-hang') for (const message of held.messages) message.hasMetHanging = true;
  const bounds = held.destination.waitOfMissing();
  world.destinations.set(applicationId, held.destination);
  const isSlow = world.slowSettingsMs > 0 || world.now - held.claimedAt > 0;
  world.log(() => `release ${applicationId}: fault ${fault ?? 'none'}, waits ${state.pauseMs} ms`);
  world.check(
    fault !== undefined || isSlow,
    'release-unsent',
    () => `${applicationId} has a destination, but was released`,
  );
  world.check(
    state.pauseMs >= bounds.atLeastMs && state.pauseMs <= bounds.atMostMs,
    'destination-wait',
    () => `${applicationId} is missing and waits ${state.pauseMs} ms: ${JSON.stringify(bounds)}`,
  );
}
