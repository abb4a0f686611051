/** What is checked when a world has come to its end: what became of every message, and why. */
import type { Looked } from './backing.ts';
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import { TELLABLE, type World } from './world.ts';

/** What is always refused may wait for as long as the schedule goes on. */
export const isSettledForGood = ({ state, isPoison }: Tracked): boolean =>
  isPoison || (state !== 'waiting' && state !== 'claimed');

export function checkEnd(world: World, processes: readonly SenderProcess[]): void {
  const queue = world.backing.look();
  if (queue !== undefined) checkDeadLetters(world, queue);
  for (const message of world.book.messages.values()) {
    checkFate(world, message);
    cover(world, message);
  }
  checkFlushes(world, processes);
  checkEvents(world, processes);
}

/** More than die in any world. */
const ALL_LETTERS = 10_000;

/** Whatever died is a dead letter of the queue's, for the same reason, and nothing else is one. */
export function checkDeadLetters(world: World, queue: Looked): void {
  const dead = [...world.book.messages.values()].filter(({ state }) => state === 'dead');
  const seen = dead.map(
    ({ messageId, deadReason, sends }) => `${messageId} ${deadReason} ${sends}`,
  );
  void queue.listDeadLetters({ limit: ALL_LETTERS }).then(({ items }) => {
    const told = items.map(({ stored, reason, sends }) => `${stored.messageId} ${reason} ${sends}`);
    world.check(
      told.toSorted().join() === seen.toSorted().join(),
      'one-fate',
      () => `dead letters ${told.toSorted().join()} instead of ${seen.toSorted().join()}`,
    );
  });
}

function checkFate(world: World, message: Tracked): void {
  const { key, state, deadReason } = message;
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
  const finalState =
    state === 'dead'
      ? `died: ${deadReason}`
      : state === 'discarded'
        ? `discarded: ${discardReason}`
        : state;
  for (const fault of met) world.coverage.hit(fault, `in the end ${finalState}`);
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
  const { observed, attemptCount, toTell, troubledUntil } = world;
  const started = observed.count('attempt-started');
  const settled = observed.count('attempt-settled');
  const isWhole = processes.every(({ isAlive }) => isAlive) && troubledUntil === 0;
  const open = world.inFlight.size;
  world.check(
    started === attemptCount && (!isWhole || settled === attemptCount - open),
    'events',
    () => `${started} attempts were told, ${settled} of them as settled, of ${attemptCount}`,
  );
  for (const name of TELLABLE) {
    const [told, seen] = [observed.count(name), toTell.get(name) ?? 0];
    world.check(
      !isWhole || told === seen,
      'events',
      () => `${name} was told ${told} times, and seen ${seen} times`,
    );
  }
}
