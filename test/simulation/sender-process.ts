/** A simulated process with a sender, from its start to its close or crash. */

import { makeSender } from '../../src/delivery/create-sender.ts';
import type { SenderRole } from '../../src/delivery/options.ts';
import type { CloseResult, FlushResult, WebhookSender } from '../../src/delivery/sender.ts';
import type { Health } from '../../src/queue/queue.ts';
import { type Clock, type StartTimer, waitsOf } from '../../src/runtime/clock.ts';
import { settingsOf } from './settings.ts';
import { createSimulatedPoster } from './simulated-poster.ts';
import { WatchedQueue } from './watched-queue.ts';
import type { World } from './world.ts';

type PlannedEvent = 'claim' | 'attempt';

export class SenderProcess {
  /** `<process index>.<number of the start>` */
  readonly key: string;
  readonly role: SenderRole;
  readonly startedAt: number;
  readonly sender: WebhookSender;
  isAlive = true;
  isClosing = false;
  isClosed = false;
  /** Calls of the sender that are in progress. */
  callCount = 0;
  /** Number of pending messages when it opened the queue. */
  backlogMessages = 0;
  readonly flushes = new Set<Promise<FlushResult>>();
  /** Timers on its clock, and those of them that keep a process alive. */
  timerCount = 0;
  keepAliveCount = 0;
  /** Called at its next claim, and at its next attempt. */
  readonly onNext = new Map<PlannedEvent, () => void>();
  readonly #world: World;
  readonly #queue: WatchedQueue;
  #hasId = false;
  readonly #freeSince = new Map<Health, number>();

  constructor(world: World, role: SenderRole, key: string) {
    this.#world = world;
    this.key = key;
    this.role = role;
    this.startedAt = world.now;
    this.#queue = new WatchedQueue(world, this);
    const { schedule, ...policy } = world.scenario.policy;
    const options = {
      settings: settingsOf(world, this),
      queue: this.#queue.connected,
      role,
      schedule,
      lingerMs: world.scenario.lingerMs,
      ...policy,
    };
    this.sender = makeSender(options, {
      clock: this.#clock(world.clock),
      random: world.engineRandom,
      newId: () => this.#newId(),
      createPoster: (poster) => createSimulatedPoster(world, { process: this, options: poster }),
      maxOpenFiles: Number.POSITIVE_INFINITY,
    });
    world.log(() => `${key} starts (${role})`);
  }

  /** The first id is the sender's. */
  #newId(): string {
    const id = this.#world.newId();
    if (!this.#hasId) this.#world.eventCounter.add(id);
    this.#hasId = true;
    return id;
  }

  /** A durable queue that was never opened cannot report what is left. */
  get knowsWhatIsLeft(): boolean {
    return this.#queue.isOpened || this.#world.queueKind === 'memory';
  }

  get isDelivering(): boolean {
    return this.isAlive && !this.isClosing && this.role !== 'enqueue';
  }

  get isAccepting(): boolean {
    return this.isAlive && !this.isClosing && this.role !== 'deliver';
  }

  /** Called before the sender gets a claim, and when an attempt begins. */
  runPlanned(event: PlannedEvent): void {
    const act = this.onNext.get(event);
    this.onNext.delete(event);
    act?.();
  }

  /** Returns since when a slot has been free. Undefined if none is. */
  slotFreeSince(health: Health): number | undefined {
    return this.#freeSince.get(health);
  }

  recordFreeSlot(health: Health, isFree: boolean): void {
    if (!isFree) this.#freeSince.delete(health);
    else if (!this.#freeSince.has(health)) this.#freeSince.set(health, this.#world.now);
  }

  /** Ends the process without cleanup. Its timers never fire and its calls never settle. */
  crash(): void {
    if (!this.isAlive || this.isClosed) return;
    const world = this.#world;
    this.isAlive = false;
    this.#queue.drop();
    world.crashCount += 1;
    world.log(() => `${this.key} crashes`);
    for (const attempt of world.inFlight) {
      if (attempt.sentBy === this.key) world.inFlight.delete(attempt);
    }
  }

  /** Counts the call until it settles. */
  async call<T>(work: (sender: WebhookSender) => Promise<T>): Promise<T> {
    this.callCount += 1;
    try {
      return await work(this.sender);
    } finally {
      this.callCount -= 1;
    }
  }

  flush(signal?: AbortSignal): Promise<FlushResult> {
    return this.call((sender) => sender.flush(signal === undefined ? {} : { signal }));
  }

  async close(deadlineMs: number): Promise<CloseResult> {
    this.isClosing = true;
    const result = await this.call((sender) => sender.close({ deadlineMs }));
    this.isClosed = true;
    return result;
  }

  /** Returns a clock that counts its timers. None fires after a crash. */
  #clock(clock: Clock): Clock {
    const startTimer: StartTimer = (ms, callback, reference) => {
      const keepAliveCount = reference === 'ref' ? 1 : 0;
      let isCounted = true;
      this.timerCount += 1;
      this.keepAliveCount += keepAliveCount;
      const end = (): void => {
        if (!isCounted) return;
        isCounted = false;
        this.timerCount -= 1;
        this.keepAliveCount -= keepAliveCount;
      };
      const fire = (): void => {
        end();
        if (this.isAlive) callback();
      };
      const cancel = clock.startTimer(ms, fire, reference);
      return () => {
        end();
        cancel();
      };
    };
    return {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      startTimer,
      ...waitsOf(startTimer),
    };
  }
}
