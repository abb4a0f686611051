/** Runs one world from its beginning to its end. */
import { happen } from './actions.ts';
import { watchClose } from './check-ends.ts';
import { checkDeadLetters, checkEnd, isSettledForGood } from './check-fates.ts';
import { checkLedger } from './check-ledger.ts';
import { checkStep } from './check-step.ts';
import type { Coverage } from './coverage.ts';
import { liveness } from './liveness.ts';
import { SenderProcess } from './sender-process.ts';
import { mend } from './settings.ts';
import { sendBatch } from './traffic.ts';
import { type LiveSettings, type Violation, type Watching, World } from './world.ts';

export interface Outcome {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly coverage: Coverage;
  readonly attempts: number;
  readonly messages: number;
  readonly steps: number;
  readonly virtualMs: number;
  /** Of processes. */
  readonly crashes: number;
}

/** The same seed always does the same. */
export async function simulate(seed: number, watching: Watching = {}): Promise<Outcome> {
  const world = new World(seed, watching);
  await world.backing.begin?.();
  try {
    await new Simulation(world).run();
  } finally {
    world.observed.end();
    await world.backing.end?.();
  }
  const { violation, coverage, attemptCount, book, sinceStartMs } = world;
  return {
    seed,
    violation,
    coverage,
    attempts: attemptCount,
    messages: book.messages.size,
    steps: world.stepCount,
    virtualMs: sinceStartMs,
    crashes: world.crashCount,
  };
}

export class Simulation {
  readonly world: World;
  /** By place. */
  readonly running: (SenderProcess | undefined)[];
  /** Those of former lives, too. */
  readonly #processes: SenderProcess[] = [];
  #lives = 0;
  #isHealed = false;

  constructor(world: World) {
    this.world = world;
    this.running = world.scenario.processes.map(() => undefined);
  }

  readonly of = (place: number): LiveSettings =>
    this.world.settingsOf(this.world.scenario.applications[place]?.id ?? '');

  async run(): Promise<void> {
    const { world } = this;
    for (const place of this.running.keys()) this.#start(place);
    await this.#untilSettled(this.#timeline(), world.scenario.healedMs + 1000);
    if (world.scenario.endsEarly) {
      await this.#close(0);
      return;
    }
    this.#heal();
    const { withinMs } = liveness(world.scenario);
    await this.#until(this.#isDelivered, withinMs);
    await this.#close(10_000);
  }

  startLater(place: number, ms: number): void {
    const { world } = this;
    if (!world.scenario.isDurable) return;
    void world.clock.sleep(this.#isHealed ? 0 : ms).then(() => this.#start(place));
  }

  #start(place: number): void {
    const role = this.world.scenario.processes[place];
    const former = this.running[place];
    if (role === undefined || (former?.isAlive === true && !former.isClosed)) return;
    this.#lives += 1;
    const process = new SenderProcess(this.world, role, `${place}.${this.#lives}`);
    this.running[place] = process;
    this.#processes.push(process);
  }

  /** Batches and happenings, in the order of their times. */
  async #timeline(): Promise<void> {
    const { world } = this;
    const { batches, happenings, healedMs } = world.scenario;
    const events = [
      ...batches.map((batch) => ({ atMs: batch.atMs, run: () => this.#send(batch) })),
      ...happenings.map((happening) => ({
        atMs: happening.atMs,
        run: () => happen(this, happening),
      })),
      { atMs: healedMs, run: () => {} },
    ].toSorted((a, b) => a.atMs - b.atMs);
    for (const { atMs, run } of events) {
      if (atMs > world.sinceStartMs) await world.clock.sleep(atMs - world.sinceStartMs);
      run();
    }
  }

  #send(batch: Parameters<typeof sendBatch>[2]): void {
    const { world } = this;
    const accepting = this.running.filter((process) => process?.isAccepting === true);
    const process = accepting.length === 0 ? undefined : world.random.pick(accepting);
    if (process !== undefined) void sendBatch(world, process, batch);
  }

  #heal(): void {
    const { world } = this;
    this.#isHealed = true;
    world.tell(() => 'nothing fails any more');
    world.healedAt = world.now;
    world.queueFault = undefined;
    world.slowSettingsMs = 0;
    for (const settings of world.settings.values()) mend(settings);
    for (const process of this.#processes) {
      process.onNextClaim = undefined;
      process.onNextAttempt = undefined;
    }
    for (const place of this.running.keys()) this.#start(place);
    if (world.scenario.replaysAtEnd) void this.#replayAll();
  }

  async #replayAll(): Promise<void> {
    const { world, running } = this;
    const process = running.find((one) => one?.isAlive === true && !one.isClosing);
    if (process === undefined) return;
    for (const { id, tier } of world.book.applications.values()) {
      if (tier === 'closed') await process.call((sender) => sender.reopen(id));
    }
    await process.call((sender) => sender.replay());
  }

  /** Nothing deliverable waits. */
  readonly #isDelivered = (): boolean =>
    [...this.world.book.messages.values()].every(isSettledForGood);

  async #close(deadlineMs: number): Promise<void> {
    const { world } = this;
    if (world.violation !== undefined) return;
    checkEnd(world, this.#processes);
    const open = this.#processes.filter((process) => process.isAlive && !process.isClosing);
    await this.#untilSettled(
      Promise.all(open.map((process) => watchClose(world, process, deadlineMs))),
      deadlineMs + 1000,
    );
    checkStep(world, this.#processes);
    for (const process of this.#processes) process.crash();
    await this.#lookAfterwards();
  }

  /** Whoever comes after them finds what the books have. */
  async #lookAfterwards(): Promise<void> {
    const { world } = this;
    const { rest, lookAfterwards } = world.backing;
    if (rest === undefined || lookAfterwards === undefined) return;
    await rest();
    const queue = await lookAfterwards();
    checkLedger(world, queue);
    checkDeadLetters(world, queue);
    await rest();
  }

  async #untilSettled(promise: Promise<unknown>, withinMs: number): Promise<void> {
    let isOver = false;
    void promise.then(() => {
      isOver = true;
    });
    await this.#until(() => isOver, withinMs);
  }

  /** From step to step, until it is over or something is wrong. */
  async #until(isOver: () => boolean, usualMs: number): Promise<void> {
    const { world } = this;
    const withinMs = usualMs + world.setBackMs;
    const endsAt = world.now + withinMs;
    const isDone = (): boolean => {
      checkStep(world, this.#processes);
      return world.violation !== undefined || world.now > endsAt || isOver();
    };
    await this.#goOn(isDone, withinMs + 60_000);
    world.check(
      isOver(),
      this.#isHealed ? 'all-delivered' : 'no-standstill',
      () => `not over after ${withinMs} ms: ${this.#whatWaits()}`,
    );
  }

  /** A step only once what the last one set going in a real store has come to rest. */
  async #goOn(isDone: () => boolean, maxMs: number): Promise<void> {
    const { clock, backing } = this.world;
    const { rest } = backing;
    if (rest === undefined) {
      await clock.runUntil(isDone, maxMs).catch(() => {});
      return;
    }
    for (;;) {
      await rest();
      if (isDone()) return;
      // Of the check.
      await rest();
      let isFirst = true;
      const wasOne = (): boolean => {
        const isOver = !isFirst;
        isFirst = false;
        return isOver;
      };
      const { nextTimerInMs } = clock;
      if (nextTimerInMs === undefined) return;
      await clock.runUntil(wasOne, nextTimerInMs);
    }
  }

  #whatWaits(): string {
    const waiting = [...this.world.book.messages.values()].filter((one) => !isSettledForGood(one));
    const some = waiting
      .slice(0, 5)
      .map(({ key, applicationId, state }) => `${key} of ${applicationId} (${state})`);
    return `${waiting.length} wait: ${some.join(', ')}`;
  }
}
