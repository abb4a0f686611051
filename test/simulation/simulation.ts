/** Runs one world from start to end. */
import { perform } from './actions.ts';
import { watchClose } from './check-flush-and-close.ts';
import { checkLedger } from './check-ledger.ts';
import { checkDeadLetters, checkEnd, isSettledForGood } from './check-message-outcomes.ts';
import { checkStep } from './check-step.ts';
import { livenessBound } from './liveness.ts';
import { sendBatch } from './send-batch.ts';
import { SenderProcess } from './sender-process.ts';
import { clearFault } from './settings.ts';
import { type LiveSettings, type SimulationOptions, type Violation, World } from './world.ts';

export interface Outcome {
  readonly violation: Violation | undefined;
  /** Names of the faults that occurred. */
  readonly occurredFaults: ReadonlySet<string>;
  readonly attempts: number;
  readonly messages: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly crashes: number;
}

const { stackTraceLimit } = Error;

/** Simulates the world of a seed. Deterministic with a memory queue. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Outcome> {
  // Aborting a timer creates an error. Its stack trace would cost more than the timer.
  Error.stackTraceLimit = 0;
  const world = new World(seed, options);
  await world.backend.setUp?.();
  try {
    await new Simulation(world).run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    world.eventCounter.end();
    await world.backend.tearDown?.();
  }
  const { violation, occurredFaults, attemptCount, expected, sinceStartMs } = world;
  return {
    violation,
    occurredFaults,
    attempts: attemptCount,
    messages: expected.messages.size,
    steps: world.stepCount,
    virtualMs: sinceStartMs,
    crashes: world.crashCount,
  };
}

export class Simulation {
  readonly world: World;
  /** By process index. */
  readonly running: (SenderProcess | undefined)[];
  /** Includes processes that have ended. */
  readonly #processes: SenderProcess[] = [];
  #startCount = 0;
  #isHealed = false;

  constructor(world: World) {
    this.world = world;
    this.running = world.scenario.processes.map(() => undefined);
  }

  readonly settingsAt = (applicationIndex: number): LiveSettings =>
    this.world.settingsOf(this.world.scenario.applications[applicationIndex]?.id ?? '');

  async run(): Promise<void> {
    const { world } = this;
    for (const index of this.running.keys()) this.#start(index);
    await this.#untilSettled(this.#timeline(), world.scenario.healedMs + 1000);
    if (world.scenario.endsEarly) {
      await this.#close(0);
      return;
    }
    this.#heal();
    await this.#until(this.#isDelivered, livenessBound(world.scenario));
    await this.#close(10_000);
  }

  startLater(index: number, ms: number): void {
    const { world } = this;
    if (!world.scenario.isDurable) return;
    void world.clock.sleep(this.#isHealed ? 0 : ms).then(() => this.#start(index));
  }

  #start(index: number): void {
    const role = this.world.scenario.processes[index];
    const former = this.running[index];
    if (role === undefined || (former?.isAlive === true && !former.isClosed)) return;
    this.#startCount += 1;
    const process = new SenderProcess(this.world, role, `${index}.${this.#startCount}`);
    this.running[index] = process;
    this.#processes.push(process);
  }

  /** Runs the batches and the planned actions in the order of their times. */
  async #timeline(): Promise<void> {
    const { world } = this;
    const { batches, plannedActions, healedMs } = world.scenario;
    const events = [
      ...batches.map((batch) => ({ atMs: batch.atMs, run: () => this.#send(batch) })),
      ...plannedActions.map((action) => ({ atMs: action.atMs, run: () => perform(this, action) })),
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
    world.log(() => 'all faults end');
    world.healedAt = world.now;
    world.queueFault = undefined;
    world.slowSettingsMs = 0;
    for (const settings of world.settings.values()) clearFault(settings);
    for (const process of this.#processes) process.onNext.clear();
    for (const index of this.running.keys()) this.#start(index);
    if (world.scenario.replaysAtEnd) void this.#replayAll();
  }

  async #replayAll(): Promise<void> {
    const { world, running } = this;
    const process = running.find((one) => one?.isAlive === true && !one.isClosing);
    if (process === undefined) return;
    for (const { id, health } of world.expected.applications.values()) {
      if (health === 'closed') await process.call((sender) => sender.reopen(id));
    }
    await process.call((sender) => sender.replay());
  }

  /** Returns whether no deliverable message waits. */
  readonly #isDelivered = (): boolean =>
    [...this.world.expected.messages.values()].every(isSettledForGood);

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
    await this.#checkViewAtEnd();
  }

  /** Checks the queue from a process that starts after all others ended. */
  async #checkViewAtEnd(): Promise<void> {
    const { world } = this;
    const { calls, observer } = world.backend;
    if (calls === undefined || observer === undefined) return;
    await calls.untilIdle();
    checkLedger(world, observer);
    checkDeadLetters(world, observer);
    await calls.untilIdle();
  }

  async #untilSettled(promise: Promise<unknown>, withinMs: number): Promise<void> {
    let isOver = false;
    void promise.then(() => {
      isOver = true;
    });
    await this.#until(() => isOver, withinMs);
  }

  /** Advances the clock step by step until `isOver` or a violation. */
  async #until(isOver: () => boolean, usualMs: number): Promise<void> {
    const { world } = this;
    const withinMs = usualMs + world.setBackMs;
    const endsAt = world.now + withinMs;
    const isDone = (): boolean => {
      checkStep(world, this.#processes);
      return world.violation !== undefined || world.now > endsAt || isOver();
    };
    await this.#advance(isDone, withinMs + 60_000);
    world.check(
      isOver(),
      this.#isHealed ? 'all-delivered' : 'progress',
      () => `not over after ${withinMs} ms: ${this.#describeWaiting()}`,
    );
  }

  /** Advances the clock. With a real queue each step waits until all calls of the last step have ended. */
  async #advance(isDone: () => boolean, maxMs: number): Promise<void> {
    const { clock, backend } = this.world;
    const { calls } = backend;
    if (calls === undefined) {
      await clock.runUntil(isDone, maxMs).catch(() => {});
      return;
    }
    for (;;) {
      await calls.untilIdle();
      if (isDone()) return;
      // The check itself calls the queue.
      await calls.untilIdle();
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

  #describeWaiting(): string {
    const waiting = [...this.world.expected.messages.values()].filter(
      (one) => !isSettledForGood(one),
    );
    const some = waiting
      .slice(0, 5)
      .map(({ key, applicationId, state }) => `${key} of ${applicationId} (${state})`);
    return `${waiting.length} wait: ${some.join(', ')}`;
  }
}
