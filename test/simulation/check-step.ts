/** What is checked after every step of the clock. */
import type { QueueStats } from '../../src/queue/queue.ts';
import type { BookedApplication } from './book.ts';
import { hasFreeSlot } from './check-claim.ts';
import type { SenderProcess } from './sender-process.ts';
import type { MessageState } from './tracked.ts';
import type { World } from './world.ts';

/** Timers are whole ms, and a wait of none is one. */
const SLACK_MS = 3;
const IDLE_STEPS = 16;

export function checkStep(world: World, processes: readonly SenderProcess[]): void {
  world.book.wake(world.now);
  // Also now and then where nothing should have changed.
  if (world.book.changes !== world.changesChecked || world.stepCount % IDLE_STEPS === 0) {
    world.changesChecked = world.book.changes;
    const counts = booked(world);
    void world.queue.stats().then((stats) => checkLedger(world, counts, stats));
    checkHorizon(world, processes);
  }
  world.stepCount += 1;
  for (const application of world.book.applications.values()) {
    checkReady(world, application, processes);
  }
  for (const process of processes) checkProcess(world, process);
}

/** After the horizon the last attempt has this time, and upkeep its round. */
const GRACE_MS = 60_000;

function checkHorizon(world: World, processes: readonly SenderProcess[]): void {
  const { schedule, upkeepMs } = world.scenario.policy;
  const roundsMs = 2 * upkeepMs + SLACK_MS;
  const isKept = processes.some(
    (process) => process.isDelivering && world.now - process.startedAt > roundsMs,
  );
  if (!isKept || world.now <= world.troubledUntil + roundsMs) return;
  const oldest = world.now - schedule.horizonMs - GRACE_MS - roundsMs;
  for (const { key, state, acceptedAt } of world.book.messages.values()) {
    world.check(
      state !== 'waiting' || acceptedAt >= oldest,
      'horizon',
      () => `${key} has waited ${world.now - acceptedAt} ms`,
    );
  }
}

interface Counts {
  accepted: number;
  delivered: number;
  pending: number;
  dead: number;
  discarded: number;
}

function booked(world: World): Map<string, Counts> {
  const counts = new Map<string, Counts>();
  for (const { id, accepted } of world.book.applications.values()) {
    counts.set(id, { accepted, delivered: 0, pending: 0, dead: 0, discarded: 0 });
  }
  for (const message of world.book.messages.values()) {
    const row = counts.get(message.applicationId);
    if (row !== undefined && message.state !== 'entering') row[columnOf(message.state)] += 1;
  }
  return counts;
}

const columnOf = (state: Exclude<MessageState, 'entering'>): Exclude<keyof Counts, 'accepted'> =>
  state === 'waiting' || state === 'claimed' ? 'pending' : state;

function checkLedger(world: World, counts: Map<string, Counts>, stats: QueueStats): void {
  for (const [id, ledger] of stats.applications) {
    const discarded = Object.values(ledger.discarded).reduce((sum, count) => sum + count, 0);
    const { accepted, delivered, pending, dead } = ledger;
    const told = { accepted, delivered, pending, dead, discarded };
    const ours = counts.get(id) ?? { accepted: 0, delivered: 0, pending: 0, dead: 0, discarded: 0 };
    const isEqual = (Object.keys(told) as (keyof Counts)[]).every(
      (name) => told[name] === ours[name],
    );
    world.check(
      isEqual && accepted === delivered + pending + dead + discarded,
      'ledger',
      () => `${id}: the queue has ${JSON.stringify(told)}, the books ${JSON.stringify(ours)}`,
    );
  }
}

/** Whatever may be sent is sent at once. */
function checkReady(
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
  if (world.now - readySince <= SLACK_MS) return;
  for (const process of processes) {
    const isAble = process.isDelivering && world.now - process.startedAt > SLACK_MS;
    const isTroubled = world.now <= world.troubledUntil + SLACK_MS;
    if (!isAble || isTroubled || !hasFreeSlot(world, process, tier)) continue;
    if (world.now - process.slotFreeSince(tier) <= SLACK_MS) continue;
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
  const lingerMs = waiting.size < maxMessages ? world.scenario.lingerMs : 0;
  for (const { dueAt } of waiting) if (dueAt + lingerMs <= world.now) return true;
  return false;
}

function checkProcess(world: World, process: SenderProcess): void {
  if (!process.isAlive) return;
  const { policy } = world.scenario;
  process.noteSlots({
    healthy: hasFreeSlot(world, process, 'healthy'),
    failing: hasFreeSlot(world, process, 'failing'),
    now: world.now,
  });
  const isBusy = process.callCount > 0 || world.now <= world.troubledUntil;
  const hasInFlight = [...world.inFlight].some(({ sentBy }) => sentBy === process.key);
  world.check(
    isBusy || hasInFlight || process.holds === 0,
    'not-held-open',
    () => `${process.key} is held open by ${process.holds} waits (${policy.leaseMs})`,
  );
  world.check(
    !process.isClosed || process.waits === 0,
    'nothing-after-end',
    () => `${process.key} was closed and has ${process.waits} waits`,
  );
}
