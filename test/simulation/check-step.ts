/** Checks the world after every step of the clock. */
import { hasFreeSlot } from './check-claim.ts';
import { checkLedger } from './check-ledger.ts';
import { checkReady, SLACK_MS } from './check-ready.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

const IDLE_STEPS = 16;

export function checkStep(world: World, processes: readonly SenderProcess[]): void {
  world.expected.expireLeases(world.now);
  // Also checks now and then without expected changes, to find unexpected ones.
  if (world.expected.changes !== world.changesChecked || world.stepCount % IDLE_STEPS === 0) {
    world.changesChecked = world.expected.changes;
    checkLedger(world, world.backend.view());
    checkHorizon(world, processes);
  }
  world.stepCount += 1;
  for (const process of processes) {
    if (process.isAlive) recordFreeSlots(world, process);
  }
  for (const application of world.expected.applications.values()) {
    checkReady(world, application, processes);
  }
  for (const process of processes) checkProcess(world, process);
}

/** Time after the horizon for the last attempt. A maintenance round comes on top. */
const GRACE_MS = 60_000;
/** A round may wait this long for settings. */
const SETTINGS_TIMEOUT_MS = 10_000;
/** Maintenance skips messages that are claimed while their settings are looked up, maybe several times. */
const ROUNDS = 2;
const ROUNDS_WHERE_SETTINGS_HANG = 8;

function checkHorizon(world: World, processes: readonly SenderProcess[]): void {
  const { schedule, maintenanceIntervalMs } = world.scenario.policy;
  const roundMs = maintenanceIntervalMs + SETTINGS_TIMEOUT_MS;
  const roundsMs = ROUNDS * roundMs + SLACK_MS;
  const isKept = processes.some(
    (process) => process.isDelivering && world.now - process.startedAt > roundsMs,
  );
  if (!isKept || world.now <= world.unstableUntil + roundsMs) return;
  const lateMs = GRACE_MS + roundsMs + world.setBackMs;
  const oldest = world.now - schedule.horizonMs - lateMs;
  const moreMs = (ROUNDS_WHERE_SETTINGS_HANG - ROUNDS) * roundMs;
  for (const { key, state, acceptedAt, hasMetHanging } of world.expected.messages.values()) {
    const oldestAt = hasMetHanging ? oldest - moreMs : oldest;
    world.check(
      state !== 'waiting' || acceptedAt >= oldestAt,
      'horizon',
      () => `${key} has waited ${world.now - acceptedAt} ms`,
    );
  }
}

function recordFreeSlots(world: World, process: SenderProcess): void {
  for (const health of ['untried', 'healthy', 'failing'] as const) {
    process.recordFreeSlot(health, hasFreeSlot(world, process, health));
  }
}

function checkProcess(world: World, process: SenderProcess): void {
  if (!process.isAlive) return;
  const { policy } = world.scenario;
  const isBusy = process.callCount > 0 || world.now <= world.unstableUntil;
  const hasInFlight = [...world.inFlight].some(({ sentBy }) => sentBy === process.key);
  world.check(
    isBusy || hasInFlight || process.keepAliveCount === 0,
    'process-can-exit',
    () => `${process.key} is kept alive by ${process.keepAliveCount} timers (${policy.leaseMs})`,
  );
  world.check(
    !process.isClosed || process.timerCount === 0,
    'nothing-after-close',
    () => `${process.key} was closed and has ${process.timerCount} timers`,
  );
}
