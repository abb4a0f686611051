/** What is checked after every step of the clock. */
import { hasFreeSlot } from './check-claim.ts';
import { checkLedger } from './check-ledger.ts';
import { checkReady, SLACK_MS } from './check-ready.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

const IDLE_STEPS = 16;

export function checkStep(world: World, processes: readonly SenderProcess[]): void {
  world.book.wake(world.now);
  // Also now and then where nothing should have changed.
  if (world.book.changes !== world.changesChecked || world.stepCount % IDLE_STEPS === 0) {
    world.changesChecked = world.book.changes;
    checkLedger(world);
    checkHorizon(world, processes);
  }
  world.stepCount += 1;
  for (const process of processes) {
    if (process.isAlive) noteSlots(world, process);
  }
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

function noteSlots(world: World, process: SenderProcess): void {
  for (const tier of ['healthy', 'failing'] as const) {
    process.noteSlot(tier, hasFreeSlot(world, process, tier));
  }
}

function checkProcess(world: World, process: SenderProcess): void {
  if (!process.isAlive) return;
  const { policy } = world.scenario;
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
