/** Checks the outcome of every message when a world ends. */
import type { QueueView } from './queue-backend.ts';
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import { COUNTED_EVENTS, type World } from './world.ts';

/** Returns whether a message is settled. A poison message may wait until its schedule ends. */
export const isSettledForGood = ({ state, isPoison }: Tracked): boolean =>
  isPoison || (state !== 'waiting' && state !== 'claimed');

export function checkEnd(world: World, processes: readonly SenderProcess[]): void {
  const queue = world.backend.view();
  if (queue !== undefined) checkDeadLetters(world, queue);
  for (const message of world.expected.messages.values()) {
    checkOutcome(world, message);
  }
  checkFlushes(world, processes);
  checkEvents(world, processes);
}

/** More than any world has. */
const MAX_DEAD_LETTERS = 10_000;

/** Checks that the queue's dead letters are exactly the expected ones, with the same reasons. */
export function checkDeadLetters(world: World, queue: QueueView): void {
  const dead = [...world.expected.messages.values()].filter(({ state }) => state === 'dead');
  const expected = dead.map(
    ({ messageId, deadReason, sends }) => `${messageId} ${deadReason} ${sends}`,
  );
  void queue.listDeadLetters({ limit: MAX_DEAD_LETTERS }).then(({ items }) => {
    const listed = items.map(
      ({ stored, reason, sends }) => `${stored.messageId} ${reason} ${sends}`,
    );
    world.check(
      listed.toSorted().join() === expected.toSorted().join(),
      'one-outcome',
      () => `dead letters ${listed.toSorted().join()} instead of ${expected.toSorted().join()}`,
    );
  });
}

function checkOutcome(world: World, message: Tracked): void {
  const { key, state, deadReason } = message;
  const { healedAt } = world;
  // An attempt that started before the faults ended may still fail.
  const isLate = healedAt !== undefined && message.diedAt > healedAt + 20_000;
  const { horizonMs } = world.scenario.policy.schedule;
  const isOld = message.diedAt - message.acceptedAt >= horizonMs;
  world.check(
    state !== 'dead' || message.isPoison || !isLate || isOld || deadReason === 'destination-closed',
    'all-delivered',
    () => `${key} is a dead letter (${deadReason}) although nothing failed`,
  );
}

/** A sole process whose queue never failed knows of every settlement, so no flush may still wait. */
function checkFlushes(world: World, processes: readonly SenderProcess[]): void {
  if (processes.length > 1 || world.healedAt === undefined || world.unstableUntil > 0) return;
  const waits = [...world.expected.messages.values()].some(
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

/** A process that crashed, or whose queue failed, may have published fewer events. */
function checkEvents(world: World, processes: readonly SenderProcess[]): void {
  const { eventCounter, attemptCount, expectedEvents, unstableUntil } = world;
  const started = eventCounter.count('attempt-started');
  const settled = eventCounter.count('attempt-settled');
  const isComplete = processes.every(({ isAlive }) => isAlive) && unstableUntil === 0;
  const open = world.inFlight.size;
  world.check(
    started === attemptCount && (!isComplete || settled === attemptCount - open),
    'events',
    () => `${started} of ${attemptCount} attempts were published as started, ${settled} as settled`,
  );
  for (const name of COUNTED_EVENTS) {
    const [published, expected] = [eventCounter.count(name), expectedEvents.get(name) ?? 0];
    world.check(
      !isComplete || published === expected,
      'events',
      () => `${name} was published ${published} times instead of ${expected}`,
    );
  }
}
