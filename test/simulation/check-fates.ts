/** What is checked when a world has come to its end: what became of every message, and why. */
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

/** What is always refused may wait for as long as the schedule goes on. */
export const isSettledForGood = ({ state, isPoison }: Tracked): boolean =>
  isPoison || (state !== 'waiting' && state !== 'claimed');

export function checkEnd(world: World, processes: readonly SenderProcess[]): void {
  for (const message of world.book.messages.values()) {
    checkFate(world, message);
    cover(world, message);
  }
  checkFlushes(world, processes);
  checkEvents(world, processes);
}

function checkFate(world: World, message: Tracked): void {
  const { key, state, confirmed, deadReason, discardReason } = message;
  world.check(
    state !== 'delivered' || confirmed > 0,
    'delivered-was-confirmed',
    () => `${key} counts as delivered, and nobody has confirmed it`,
  );
  world.check(
    (state === 'dead') === (deadReason !== undefined && state !== 'discarded') ||
      state === 'discarded',
    'one-fate',
    () => `${key}: ${state}, ${deadReason}`,
  );
  world.check(
    state !== 'discarded' || discardReason !== undefined,
    'one-fate',
    () => `${key} was discarded for no reason`,
  );
  const { healedAt } = world;
  // An attempt that was under way may still have failed.
  const isLate = healedAt !== undefined && message.diedAt > healedAt + 20_000;
  const { horizonMs } = world.scenario.policy.schedule;
  const isOld = message.diedAt - message.acceptedAt >= horizonMs;
  world.check(
    state !== 'dead' || message.isPoison || !isLate || isOld || deadReason === 'destination-closed',
    'all-delivered',
    () => `${key} died of ${deadReason} although nothing failed`,
  );
}

function cover(world: World, { state, met, deadReason, discardReason }: Tracked): void {
  const fate =
    state === 'dead'
      ? `died: ${deadReason}`
      : state === 'discarded'
        ? `discarded: ${discardReason}`
        : state;
  for (const fault of met) world.coverage.hit(fault, `in the end ${fate}`);
}

/** Where nobody else has settled anything of its messages, it must know of all. */
function checkFlushes(world: World, processes: readonly SenderProcess[]): void {
  if (processes.length > 1 || world.healedAt === undefined || world.troubledUntil > 0) return;
  const waits = [...world.book.messages.values()].some(
    ({ state }) => state === 'waiting' || state === 'claimed',
  );
  for (const { flushes, key } of processes) {
    world.check(
      flushes.size === 0 || waits,
      'flush',
      () => `${key} still waits, though nothing is pending`,
    );
  }
}

/** A process that died, or whose queue failed, may have told less. */
function checkEvents(world: World, processes: readonly SenderProcess[]): void {
  const { observed, attemptCount, deathCount, troubledUntil } = world;
  const started = observed.count('attempt-started');
  const settled = observed.count('attempt-settled');
  const isWhole = processes.every(({ isAlive }) => isAlive) && troubledUntil === 0;
  const open = world.inFlight.size;
  world.check(
    started === attemptCount && (!isWhole || settled === attemptCount - open),
    'events',
    () => `${started} attempts were told, ${settled} of them as settled, of ${attemptCount}`,
  );
  const dead = observed.count('dead');
  world.check(
    !isWhole || dead === deathCount,
    'events',
    () => `${dead} deaths were told of ${deathCount}`,
  );
}
