/** What all parts of a simulated world share. */
import { createHmac } from 'node:crypto';
import type { DeliveryEvents } from '../../src/delivery/events.ts';
import { createFakeClock, createSeededRandom } from '../../src/testing/index.ts';
import type { Attempt } from './attempt.ts';
import { type Backing, inMemory, type MakeBacking } from './backing.ts';
import { Book } from './book.ts';
import { Coverage, type FaultMet } from './coverage.ts';
import { Destination } from './destination.ts';
import type { InvariantName } from './invariants.ts';
import { Observed } from './observed.ts';
import type { ApplicationScenario, QueueFault, Scenario, SettingsFault } from './scenario.ts';
import { scenarioOf } from './scenario-of.ts';

export interface Violation {
  readonly invariant: InvariantName;
  readonly detail: string;
}

export const TELLABLE = [
  'dead',
  'destination-opened',
  'destination-paused',
  'destination-recovered',
  'destination-closed',
] as const satisfies readonly (keyof DeliveryEvents)[];

type TellableEvent = (typeof TELLABLE)[number];

/** How a world is looked at. */
export interface Watching {
  /** Filled where it is given. */
  readonly trace?: string[];
  /** No other invariant is checked: whether this one sees what is wrong by itself. */
  readonly only?: InvariantName | undefined;
  /** What its processes share; a queue in memory where it is not given. */
  readonly makeBacking?: MakeBacking;
}

/** The settings of an application, as they are at the moment. */
export interface LiveSettings {
  readonly plan: ApplicationScenario;
  url: string;
  secret: string;
  format: 1 | 2;
  fault: SettingsFault | undefined;
  /** Calls of a settings function that hangs. */
  readonly hanging: (() => void)[];
}

/** 2026-11-21T10:00:00Z */
const WALL_START_MS = Date.UTC(2026, 10, 21, 10);

export class World {
  readonly scenario: Scenario;
  readonly clock = createFakeClock(WALL_START_MS);
  readonly startedAt = this.clock.monotonicMs();
  /** What happens by chance while it runs; the engine has chance of its own. */
  readonly random;
  readonly engineRandom;
  readonly backing: Backing;
  readonly book: Book;
  readonly observed: Observed;
  readonly coverage = new Coverage();
  readonly settings = new Map<string, LiveSettings>();
  readonly destinations = new Map<string, Destination>();
  /** By the id of their claim. */
  readonly attempts = new Map<string, Attempt>();
  readonly inFlight = new Set<Attempt>();
  /** What was given to `send`, by key. */
  readonly given = new Map<string, { readonly isPoison: boolean; readonly message: string }>();
  /** Since when nothing fails. */
  healedAt: number | undefined;
  slowSettingsMs = 0;
  queueFault: QueueFault | undefined;
  /** Ends of claims that are not in the books yet, by application. */
  readonly endings = new Map<string, Promise<unknown>>();
  /** Until when the engine may still wait because its queue failed. */
  troubledUntil = 0;
  /** How long the queue's time stood still at most: whatever waits may wait for so much longer. */
  setBackMs = 0;
  /** When it was last set forward: leases of requests in flight ended too soon. */
  setForwardAt = Number.NEGATIVE_INFINITY;
  attemptCount = 0;
  crashCount = 0;
  /** Of what happened before somebody's eyes: what is to be told of it, and how often. */
  readonly toTell = new Map<TellableEvent, number>();
  stepCount = 0;
  changesChecked = -1;
  violation: Violation | undefined;
  readonly #trace: string[] | undefined;
  readonly #only: InvariantName | undefined;
  #ids = 0;

  constructor(seed: number, { trace, only, makeBacking = inMemory }: Watching = {}) {
    this.scenario = scenarioOf(seed, makeBacking.kind);
    this.#trace = trace;
    this.#only = only;
    // Far from the seeds of worlds, so that no two streams are the same.
    this.random = createSeededRandom((seed + 0x5000_0000) % 2 ** 32);
    this.engineRandom = createSeededRandom((seed + 0xa000_0000) % 2 ** 32);
    const { policy, applications } = this.scenario;
    this.backing = makeBacking.make(this.clock, this.scenario);
    this.observed = new Observed(this);
    this.book = new Book(policy.cautiousMaxMessages);
    for (const plan of applications) {
      const { id, format } = plan;
      const [url, secret] = [`https://${id}.example/hook/0`, `secret-${id}-0`];
      this.settings.set(id, { plan, url, secret, format, fault: undefined, hanging: [] });
      this.newDestination(id);
    }
  }

  /** On the queue's clock, in ms. */
  get now(): number {
    return this.clock.monotonicMs();
  }

  /** The queue's time jumps forward, or stands still for a moment. The engine's timers know nothing of it. */
  shiftQueueTime(byMs: number): void {
    this.troubledUntil = Math.max(this.troubledUntil, this.now + Math.abs(byMs));
    this.setBackMs += Math.max(0, -byMs);
    if (byMs <= 0) return;
    this.setForwardAt = this.now;
    this.book.shift(byMs, this.now);
    const held = [...this.book.applications.values()].map(({ claim }) => claim?.destination);
    for (const destination of new Set([...this.destinations.values(), ...held])) {
      destination?.shift(byMs);
    }
  }

  get sinceStartMs(): number {
    return this.now - this.startedAt;
  }

  newId(): string {
    this.#ids += 1;
    // Several worlds of real queues go on at a time, and are told apart by their senders.
    const world = this.backing.kind === 'memory' ? '' : `${this.scenario.seed}-`;
    return `made-${world}${this.#ids}`;
  }

  destination(applicationId: string): Destination {
    return this.destinations.get(applicationId) as Destination;
  }

  newDestination(applicationId: string): Destination {
    const made = new Destination(this.scenario.policy);
    this.destinations.set(applicationId, made);
    return made;
  }

  settingsOf(applicationId: string): LiveSettings {
    return this.settings.get(applicationId) as LiveSettings;
  }

  /** The first violation stands: what follows may be its consequence. */
  check(holds: boolean, invariant: InvariantName, detail: () => string): void {
    if (holds || this.violation !== undefined) return;
    if (this.#only !== undefined && this.#only !== invariant) return;
    this.violation = { invariant, detail: detail() };
    this.tell(() => `VIOLATION ${invariant}: ${this.violation?.detail}`);
  }

  /** Costs nothing where nobody wants to know: a seed that fails is run again with a trace. */
  tell(line: () => string): void {
    this.#trace?.push(`${(this.sinceStartMs / 1000).toFixed(3).padStart(10)} s  ${line()}`);
  }

  expectEvent(name: TellableEvent, by = 1): void {
    this.toTell.set(name, (this.toTell.get(name) ?? 0) + by);
  }

  /** Everything that waits for an application has met it. */
  meet(applicationId: string, fault: FaultMet): void {
    for (const message of this.book.application(applicationId).waiting) message.met.add(fault);
  }

  signature(body: Buffer, applicationId: string): string {
    return createHmac('sha256', this.settingsOf(applicationId).secret).update(body).digest('hex');
  }
}
