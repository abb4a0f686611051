/** One life of a process with a sender in it. */

import { makeSender } from '../../src/delivery/create-sender.ts';
import type { SenderRole } from '../../src/delivery/options.ts';
import type { CloseResult, FlushResult, WebhookSender } from '../../src/delivery/sender.ts';
import type { Tier } from '../../src/queue/queue.ts';
import { type Clock, type StartTimer, waitsOf } from '../../src/runtime/clock.ts';
import { settingsOf } from './settings.ts';
import { WatchedQueue } from './watched-queue.ts';
import { createWire } from './wire.ts';
import type { World } from './world.ts';

export class SenderProcess {
  /** Its place and its life. */
  readonly key: string;
  readonly role: SenderRole;
  readonly startedAt: number;
  readonly sender: WebhookSender;
  isAlive = true;
  isClosing = false;
  isClosed = false;
  /** Calls of the sender that have not ended. */
  callCount = 0;
  /** Number of messages that were pending when it opened the queue. */
  backlogMessages = 0;
  readonly flushes = new Set<Promise<FlushResult>>();
  /** Waits on its clock; and those of them that keep a process alive. */
  waits = 0;
  holds = 0;
  /** What is to happen when it claims, or sends, the next time. */
  onNextClaim: (() => void) | undefined;
  onNextAttempt: (() => void) | undefined;
  readonly #world: World;
  readonly #queue: WatchedQueue;
  #hasId = false;
  readonly #freeSince = new Map<Tier, number>();

  constructor(world: World, role: SenderRole, key: string) {
    this.#world = world;
    this.key = key;
    this.role = role;
    this.startedAt = world.now;
    this.#queue = new WatchedQueue(world, this);
    const { schedule, ...policy } = world.scenario.policy;
    const options = {
      settings: settingsOf(world, this),
      queue: this.#queue,
      role,
      schedule,
      lingerMs: world.scenario.lingerMs,
      ...policy,
    };
    this.sender = makeSender(options, {
      clock: this.#clock(world.clock),
      random: world.engineRandom,
      newId: () => this.#newId(),
      createPoster: (poster) => createWire(world, { process: this, options: poster }),
      maxOpenFiles: Number.POSITIVE_INFINITY,
    });
    world.tell(() => `${key} starts (${role})`);
  }

  /** The first one is the sender's own. */
  #newId(): string {
    const id = this.#world.newId();
    if (!this.#hasId) this.#world.observed.add(id);
    this.#hasId = true;
    return id;
  }

  /** A real queue that was never opened has nothing to tell. */
  get knowsWhatIsLeft(): boolean {
    return this.#queue.isOpened || this.#world.backing.kind === 'memory';
  }

  get isDelivering(): boolean {
    return this.isAlive && !this.isClosing && this.role !== 'enqueue';
  }

  get isAccepting(): boolean {
    return this.isAlive && !this.isClosing && this.role !== 'deliver';
  }

  /** Before it hears of it. */
  hasClaimed(): void {
    const happen = this.onNextClaim;
    this.onNextClaim = undefined;
    happen?.();
  }

  attemptBegan(): void {
    const happen = this.onNextAttempt;
    this.onNextAttempt = undefined;
    happen?.();
  }

  /** Since when there has been a slot without a break; absent where there is none. */
  slotFreeSince(tier: Tier): number | undefined {
    return this.#freeSince.get(tier);
  }

  noteSlot(tier: Tier, isFree: boolean): void {
    if (!isFree) this.#freeSince.delete(tier);
    else if (!this.#freeSince.has(tier)) this.#freeSince.set(tier, this.#world.now);
  }

  /** Nothing of it goes on: whatever it waits for never comes. */
  crash(): void {
    if (!this.isAlive || this.isClosed) return;
    const world = this.#world;
    this.isAlive = false;
    this.#queue.drop();
    world.crashCount += 1;
    world.tell(() => `${this.key} crashes`);
    for (const { claim: held } of world.book.applications.values()) {
      if (held?.heldBy !== this.key) continue;
      const attempt = world.attempts.get(held.claim.id);
      const isHeard = attempt?.isTaken === true ? 'crash-after-body' : 'crash-before-body';
      const fault = attempt === undefined ? 'crash-before-post' : isHeard;
      for (const message of held.messages) message.met.add(fault);
    }
    for (const attempt of world.inFlight) {
      if (attempt.sentBy === this.key) world.inFlight.delete(attempt);
    }
  }

  /** Counted as a call until it ends. */
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

  /** Counts its waits, none of which ends once it is dead. */
  #clock(clock: Clock): Clock {
    const startTimer: StartTimer = (ms, callback, whileIdle) => {
      const holds = whileIdle === 'keep-alive' ? 1 : 0;
      let isCounted = true;
      this.waits += 1;
      this.holds += holds;
      const end = (): void => {
        if (!isCounted) return;
        isCounted = false;
        this.waits -= 1;
        this.holds -= holds;
      };
      const fire = (): void => {
        end();
        if (this.isAlive) callback();
      };
      const cancel = clock.startTimer(ms, fire, whileIdle);
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
