/** The shared state of a simulated world. */
import { createHmac } from 'node:crypto';
import type { DeliveryEvents } from '../../src/delivery/events.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { createSeededRandom } from '../helpers/seeded-random.ts';
import type { Attempt } from './attempt.ts';
import { Destination } from './destination.ts';
import { EventCounter } from './event-counter.ts';
import { ExpectedState } from './expected-state.ts';
import { scenarioOf } from './generate.ts';
import type { InvariantName } from './invariants.ts';
import {
  type MakeBackend,
  memoryBackend,
  type QueueBackend,
  type QueueKind,
} from './queue-backend.ts';
import type { ApplicationScenario, QueueFault, Scenario, SettingsFault } from './scenario.ts';

export interface Violation {
  readonly invariant: InvariantName;
  readonly detail: string;
}

export const COUNTED_EVENTS = [
  'dead',
  'destination-opened',
  'destination-paused',
  'destination-recovered',
  'destination-closed',
] as const satisfies readonly (keyof DeliveryEvents)[];

type CountedEvent = (typeof COUNTED_EVENTS)[number];

export interface SimulationOptions {
  /** Collects the log lines. */
  readonly trace?: string[];
  /** Checks only this invariant, to show that it finds a bug by itself. */
  readonly only?: InvariantName | undefined;
  /** Creates the queue that the processes share. Default: a memory queue. */
  readonly makeBackend?: MakeBackend;
}

/** The current settings of an application. */
export interface LiveSettings {
  readonly plan: ApplicationScenario;
  url: string;
  secret: string;
  format: 1 | 2;
  fault: SettingsFault | undefined;
  /** Resolve the pending calls of a settings function that hangs. */
  readonly hanging: (() => void)[];
}

/** 2026-11-21T10:00:00Z */
const WALL_START_MS = Date.UTC(2026, 10, 21, 10);

export class World {
  readonly scenario: Scenario;
  readonly clock = createFakeClock(WALL_START_MS);
  readonly startedAt = this.clock.monotonicMs();
  /** Random numbers of the world. The engine has its own. */
  readonly random;
  readonly engineRandom;
  readonly backend: QueueBackend;
  readonly queueKind: QueueKind;
  readonly expected: ExpectedState;
  readonly eventCounter: EventCounter;
  /** Names of the faults that occurred. */
  readonly occurredFaults = new Set<string>();
  readonly settings = new Map<string, LiveSettings>();
  readonly destinations = new Map<string, Destination>();
  /** By claim id. */
  readonly attempts = new Map<string, Attempt>();
  readonly inFlight = new Set<Attempt>();
  /** The messages passed to `send`, by key. */
  readonly given = new Map<string, { readonly isPoison: boolean; readonly message: string }>();
  /** When all faults ended. */
  healedAt: number | undefined;
  slowSettingsMs = 0;
  /** When a settings function last answered late. */
  slowSettingsUntil = Number.NEGATIVE_INFINITY;
  queueFault: QueueFault | undefined;
  /** Settles and releases that are not in the expected state yet, by application. */
  readonly endings = new Map<string, Promise<unknown>>();
  /** Until when the engine may still wait because its queue failed. */
  unstableUntil = 0;
  /** Maximum time that the queue's clock stood still: messages may wait that much longer. */
  setBackMs = 0;
  /** When the queue's clock last jumped forward: leases of requests in flight ended early. */
  setForwardAt = Number.NEGATIVE_INFINITY;
  attemptCount = 0;
  crashCount = 0;
  /** How often each event should be published. */
  readonly expectedEvents = new Map<CountedEvent, number>();
  stepCount = 0;
  changesChecked = -1;
  violation: Violation | undefined;
  readonly #trace: string[] | undefined;
  readonly #only: InvariantName | undefined;
  #ids = 0;

  constructor(seed: number, { trace, only, makeBackend = memoryBackend }: SimulationOptions = {}) {
    this.scenario = scenarioOf(seed, makeBackend.kind);
    this.#trace = trace;
    this.#only = only;
    // Far from the seeds of scenarios, so that no two random sequences are equal.
    this.random = createSeededRandom((seed + 0x5000_0000) % 2 ** 32);
    this.engineRandom = createSeededRandom((seed + 0xa000_0000) % 2 ** 32);
    const { policy, applications } = this.scenario;
    this.backend = makeBackend.make(this.clock, this.scenario);
    this.queueKind = makeBackend.kind;
    this.eventCounter = new EventCounter(this);
    this.expected = new ExpectedState(policy.cautiousMaxMessages);
    for (const plan of applications) {
      const { id, format } = plan;
      const [url, secret] = [`https://${id}.example/hook/0`, `secret-${id}-0`];
      this.settings.set(id, { plan, url, secret, format, fault: undefined, hanging: [] });
      this.newDestination(id);
    }
  }

  /** Monotonic time in milliseconds. */
  get now(): number {
    return this.clock.monotonicMs();
  }

  /** Jumps the queue's clock forward, or stops it for a while. The engine's timers are not affected. */
  shiftQueueTime(byMs: number): void {
    this.unstableUntil = Math.max(this.unstableUntil, this.now + Math.abs(byMs));
    this.setBackMs += Math.max(0, -byMs);
    if (byMs <= 0) return;
    this.setForwardAt = this.now;
    this.expected.shift(byMs, this.now);
    const held = [...this.expected.applications.values()].map(({ claim }) => claim?.destination);
    for (const destination of new Set([...this.destinations.values(), ...held])) {
      destination?.shift(byMs);
    }
  }

  get sinceStartMs(): number {
    return this.now - this.startedAt;
  }

  newId(): string {
    this.#ids += 1;
    // Worlds on real queues run concurrently. The seed makes their sender ids distinct.
    const world = this.queueKind === 'memory' ? '' : `${this.scenario.seed}-`;
    return `made-${world}${this.#ids}`;
  }

  destination(applicationId: string): Destination {
    return this.destinations.get(applicationId) as Destination;
  }

  newDestination(applicationId: string): Destination {
    const { plan } = this.settingsOf(applicationId);
    const made = new Destination(this.scenario.policy, plan.settings);
    made.continueRateOf(this.destinations.get(applicationId) ?? made);
    this.destinations.set(applicationId, made);
    return made;
  }

  settingsOf(applicationId: string): LiveSettings {
    return this.settings.get(applicationId) as LiveSettings;
  }

  /** Records only the first violation: later ones may be its consequence. */
  check(holds: boolean, invariant: InvariantName, detail: () => string): void {
    if (holds || this.violation !== undefined) return;
    if (this.#only !== undefined && this.#only !== invariant) return;
    this.violation = { invariant, detail: detail() };
    this.log(() => `VIOLATION ${invariant}: ${this.violation?.detail}`);
  }

  /** Builds the line only with a trace. A failing seed is run again with one. */
  log(line: () => string): void {
    this.#trace?.push(`${(this.sinceStartMs / 1000).toFixed(3).padStart(10)} s  ${line()}`);
  }

  expectEvent(name: CountedEvent, by = 1): void {
    this.expectedEvents.set(name, (this.expectedEvents.get(name) ?? 0) + by);
  }

  signature(body: Buffer, applicationId: string): string {
    return createHmac('sha256', this.settingsOf(applicationId).secret).update(body).digest('hex');
  }
}
