/** `security-event-delivery/otel`: metrics for OpenTelemetry, made from the library's diagnostics channels. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { STATUS_CODES } from 'node:http';
import type { DeliveryEvents } from '../delivery/events.ts';
import type { SenderStats } from '../delivery/sender.ts';
import type { LogEvents } from '../log/write-counters.ts';
import { check, invalidOption, object, type Rules, usable } from '../option-rules.ts';
import { hasMethods } from '../own-properties.ts';
import type { Health } from '../queue/queue.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { noAnswerError, withTimeout } from '../runtime/timers.ts';
import {
  type Attributes,
  type Collect,
  type MeterProviderLike,
  type Metrics,
  metricsOf,
} from './meter.ts';
import { BREAKER_CHANGES, FAULT_EVENTS, HEALTH_VALUES } from './metric-table.ts';

export type { MeterProviderLike } from './meter.ts';

export interface MetricsOptions {
  /**
   * Adds the attribute `application.class`. A list contains up to 1000 application ids, each a class of its own. A function
   * returns the class of an id, up to 100 different ones. All others are `_OTHER`. Default: no attribute.
   */
  readonly applicationClass?: readonly string[] | ((applicationId: string) => string) | undefined;
  /** Senders by names of your choice, whose queues are measured at each collection. Default: none. */
  readonly senders?: Readonly<Record<string, { stats(): Promise<SenderStats> }>> | undefined;
}

type Stop = () => void;
type ClassOf = (applicationId: string) => Attributes;
/** Only a missing destination has a reason. */
type DestinationChange = Pick<DeliveryEvents['destination-closed'], 'applicationId'> &
  Partial<Pick<DeliveryEvents['destination-missing'], 'because'>>;

const OTHER = '_OTHER';
const MAX_CLASSES = 100;
const MAX_LISTED = 1000;

/** Collections are given up after 10 s or less: a queue that hangs must not hold back all other metrics. */
const STATS_MS = 2000;

const SENDER_GIVEN = 'expected options: pass a sender as `{ senders: { main: sender } }`';

const RULES: Rules<keyof MetricsOptions> = {
  applicationClass: usable(
    `a list of up to ${MAX_LISTED} application ids, or a function`,
    (value) => (Array.isArray(value) ? value.length <= MAX_LISTED : typeof value === 'function'),
  ),
  senders: object('an object of names and senders', (value) =>
    Object.values(value).every((sender) => hasMethods(sender, 'stats')),
  ),
};

/** Holds the function that unregisters, so that nothing is counted twice, even by two copies of the package. */
const REGISTERED = Symbol.for('security-event-delivery.metrics');

/**
 * Registers metrics of all senders, reporters and log writers of this process. A second call for a provider replaces
 * the first. Returns a function that unregisters the metrics. Throws `ERR_INVALID_OPTION`. The last argument is for tests.
 */
export function registerMetrics(
  meterProvider: MeterProviderLike,
  options: MetricsOptions = {},
  clock: Clock = systemClock,
): () => void {
  if (!hasMethods(meterProvider, 'getMeter')) {
    throw invalidOption('expected a MeterProvider', ['meterProvider']);
  }
  if (hasMethods(options, 'stats')) throw invalidOption(SENDER_GIVEN, []);
  const { applicationClass, senders = {} } = check<MetricsOptions>(options, RULES);
  if (Object.hasOwn(meterProvider, REGISTERED)) (Reflect.get(meterProvider, REGISTERED) as Stop)();
  const metrics = metricsOf(meterProvider.getMeter('security-event-delivery'));
  const classOf = classifier(applicationClass);
  const stops = [
    countMessages(metrics, classOf),
    countChanges(metrics, classOf),
    countRecords(metrics),
    ...(Object.keys(senders).length === 0
      ? []
      : [observeQueues(metrics, { senders, classOf, clock })]),
  ];
  const stopAll = (): void => {
    for (const stop of stops) stop();
  };
  Reflect.defineProperty(meterProvider, REGISTERED, { configurable: true, value: stopAll });
  return stopAll;
}

function classifier(option: MetricsOptions['applicationClass']): ClassOf {
  if (option === undefined) return () => ({});
  const classes = new Set(typeof option === 'function' ? [] : option);
  return (applicationId) => {
    const name = typeof option === 'function' ? safeClassOf(option, applicationId) : applicationId;
    if (typeof option === 'function' && classes.size < MAX_CLASSES) classes.add(name);
    return { 'application.class': classes.has(name) ? name : OTHER };
  };
}

/** Never throws: an exception in a listener of a channel ends the process. */
function safeClassOf(classOf: (applicationId: string) => unknown, applicationId: string): string {
  try {
    const name = classOf(applicationId);
    return typeof name === 'string' ? name : OTHER;
  } catch {
    return OTHER;
  }
}

function listen(listeners: Readonly<Record<string, (event: never) => void>>): Stop {
  const stops = Object.entries(listeners).map(([name, listener]) => {
    const onMessage = (event: unknown): void => listener(event as never);
    subscribe(`security-event-delivery:${name}`, onMessage);
    return () => void unsubscribe(`security-event-delivery:${name}`, onMessage);
  });
  return () => {
    for (const stop of stops) stop();
  };
}

function countMessages({ counter, histogram }: Metrics, classOf: ClassOf): Stop {
  const [accepted, skipped] = [counter('messages.accepted'), counter('messages.skipped')];
  const settled = counter('messages.settled');
  const attempts = histogram('attempt.duration');
  return listen({
    accepted: ({ applicationId, count }: DeliveryEvents['accepted']) =>
      accepted.add(count, classOf(applicationId)),
    skipped: ({ applicationId, count, reason }: DeliveryEvents['skipped']) =>
      skipped.add(count, { reason, ...classOf(applicationId) }),
    dead: ({ applicationId, reason }: DeliveryEvents['dead']) =>
      settled.add(1, { outcome: 'dead', reason, ...classOf(applicationId) }),
    discarded: ({ count, reason }: DeliveryEvents['discarded']) =>
      settled.add(count, { outcome: 'discarded', reason }),
    'attempt-settled': (event: DeliveryEvents['attempt-settled']) => {
      const { outcome, messageCount, timings, isLost } = event;
      const attributes = { outcome, ...classOf(event.applicationId) };
      // With `isLost` the messages may be sent again: they are counted when they are settled.
      if (outcome === 'delivered' && isLost === undefined) settled.add(messageCount, attributes);
      attempts.record(timings.totalMs / 1000, { ...attributes, ...resultAttributes(event) });
    },
  });
}

/** Statuses that HTTP does not define become the error type `_OTHER`: a receiver could send any number of them. */
function resultAttributes({
  status,
  failure,
  outcome,
}: DeliveryEvents['attempt-settled']): Attributes {
  if (status === undefined) return { 'error.type': failure ?? OTHER };
  const isKnown = STATUS_CODES[status] !== undefined;
  return {
    ...(isKnown ? { 'http.response.status_code': status } : {}),
    ...(outcome === 'delivered' ? {} : { 'error.type': isKnown ? String(status) : OTHER }),
  };
}

function countChanges({ counter }: Metrics, classOf: ClassOf): Stop {
  const [changes, faults] = [counter('breaker.changes'), counter('faults')];
  const changeListeners = BREAKER_CHANGES.map((change) => [
    `destination-${change}`,
    ({ applicationId, because }: DestinationChange) =>
      changes.add(1, { change, ...(because && { reason: because }), ...classOf(applicationId) }),
  ]);
  const faultListeners = FAULT_EVENTS.map((fault) => [fault, () => faults.add(1, { fault })]);
  return listen(Object.fromEntries([...changeListeners, ...faultListeners]));
}

/** Matches an event name up to the protection, since there may be any number of protections (D1). */
const EVENT_NAME =
  /^svc\.ev0\.(?:threat\.(?:attack|vulnerability_exploit)|incident|playbook_trigger|user_event\.(?:login|signup)|custom_event)(?![^.])/;

function countRecords({ counter, observableCounter, onCollect }: Metrics): Stop {
  const [lost, rejected] = [counter('records.lost'), counter('events.rejected')];
  const written = observableCounter('records.written');
  // Counted in a map: adding to an OpenTelemetry counter takes a quarter of the time to write a record.
  const counts = new Map<string, number>();
  const collect: Collect = async (result) => {
    for (const [name, count] of counts) result.observe(written, count, { 'event.name': name });
  };
  const stopObserving = onCollect(collect, [written]);
  const stopListening = listen({
    'record-written': ({ event_name }: LogEvents['record-written']) => {
      const name = EVENT_NAME.exec(event_name)?.[0] ?? OTHER;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
    'record-lost': ({ count, reason }: LogEvents['record-lost']) => lost.add(count, { reason }),
    rejected: ({ channel, code }: { readonly channel: string; readonly code: string }) =>
      rejected.add(1, { channel, 'error.type': code }),
  });
  return () => {
    stopListening();
    stopObserving();
  };
}

interface QueueParts {
  readonly senders: NonNullable<MetricsOptions['senders']>;
  readonly classOf: ClassOf;
  readonly clock: Clock;
}

function observeQueues(
  { counter, gauge, onCollect }: Metrics,
  { senders, classOf, clock }: QueueParts,
): Stop {
  const [messages, size, age] = [gauge('queue.messages'), gauge('queue.size'), gauge('queue.age')];
  const [deadLetters, destinations] = [gauge('queue.dead_letters'), gauge('destinations')];
  const faults = counter('faults');
  const collect: Collect = async (result) => {
    const observed = Object.entries(senders).map(async ([sender, source]) => {
      const answer = await withTimeout(source.stats(), { clock, ms: STATS_MS });
      if (answer === undefined) throw noAnswerError(STATS_MS);
      const { pendingBytes, dead, oldestDueMs, applications } = answer.value;
      result.observe(size, pendingBytes, { sender });
      result.observe(deadLetters, dead, { sender });
      result.observe(age, oldestDueMs / 1000, { sender });
      const { states, classes } = sumByStateAndClass(applications, classOf);
      for (const [state, count] of states) result.observe(destinations, count, { state, sender });
      for (const [attributes, pending] of classes.values()) {
        result.observe(messages, pending, { ...attributes, sender });
      }
    });
    // A closed, failing or slow queue reports no values here, but the SDK repeats the last ones for cumulative exporters.
    for (const collected of await Promise.allSettled(observed)) {
      const hasFailed = collected.status === 'rejected' && !isClosed(collected.reason);
      if (hasFailed) faults.add(1, { fault: 'queue-failed' });
    }
  };
  return onCollect(collect, [messages, size, age, deadLetters, destinations]);
}

const isClosed = (error: unknown): boolean =>
  error instanceof Error && Reflect.get(error, 'code') === 'ERR_QUEUE_CLOSED';

function sumByStateAndClass(applications: SenderStats['applications'], classOf: ClassOf) {
  // Starts at 0, so that a state without applications does not keep its last count.
  const states = new Map<Health, number>(HEALTH_VALUES.map((health) => [health, 0]));
  const classes = new Map<unknown, readonly [attributes: Attributes, pending: number]>();
  for (const [applicationId, { health, pending }] of applications) {
    states.set(health, (states.get(health) ?? 0) + 1);
    const attributes = classOf(applicationId);
    const name = attributes['application.class'];
    classes.set(name, [attributes, (classes.get(name)?.[1] ?? 0) + pending]);
  }
  return { states, classes };
}
