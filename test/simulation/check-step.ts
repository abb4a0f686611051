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
    checkLedger(world, world.backing.look());
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

/** After the horizon the last attempt has this time, and maintenance its round. */
const GRACE_MS = 60_000;
/** A round may ask settings that do not answer. */
const ASKING_MS = 10_000;
/** What is claimed while its settings are asked is passed over, by some rounds in a row. */
const ROUNDS = 2;
const ROUNDS_WHERE_SETTINGS_HANG = 8;

function checkHorizon(world: World, processes: readonly SenderProcess[]): void {
  const { schedule, maintenanceIntervalMs } = world.scenario.policy;
  const roundMs = maintenanceIntervalMs + ASKING_MS;
  const roundsMs = ROUNDS * roundMs + SLACK_MS;
  const isKept = processes.some(
    (process) => process.isDelivering && world.now - process.startedAt > roundsMs,
  );
  if (!isKept || world.now <= world.troubledUntil + roundsMs) return;
  const lateMs = GRACE_MS + roundsMs + world.setBackMs;
  const oldest = world.now - schedule.horizonMs - lateMs;
  const moreMs = (ROUNDS_WHERE_SETTINGS_HANG - ROUNDS) * roundMs;
  for (const { key, state, acceptedAt, met } of world.book.messages.values()) {
    const oldestAt = met.has('settings-hang') ? oldest - moreMs : oldest;
    world.check(
      state !== 'waiting' || acceptedAt >= oldestAt,
      'horizon',
      () => `${key} has waited ${world.now - acceptedAt} ms`,
    );
  }
}

function noteSlots(world: World, process: SenderProcess): void {
  for (const tier of ['untried', 'healthy', 'failing'] as const) {
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
