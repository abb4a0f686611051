/** The metrics, and the part of OpenTelemetry's API that they use: so the library needs no package of it. */

/** A `MeterProvider` of `@opentelemetry/api` 1.3 or newer. */
export interface MeterProviderLike {
  getMeter(name: string): MeterLike;
}

export interface MeterLike {
  createCounter(name: string, options?: MetricDetails): CounterLike;
  createHistogram(name: string, options?: MetricDetails): HistogramLike;
  createObservableCounter(name: string, options?: MetricDetails): object;
  createObservableGauge(name: string, options?: MetricDetails): object;
  addBatchObservableCallback(callback: Collect, observables: object[]): void;
  removeBatchObservableCallback(callback: Collect, observables: object[]): void;
}

export interface MetricDetails {
  readonly unit: string;
  readonly description: string;
  readonly advice?: { explicitBucketBoundaries: number[] };
}

/** Attributes of a measurement. */
export type Labels = Record<string, string | number>;

export interface CounterLike {
  add(value: number, attributes?: Labels): void;
}

export interface HistogramLike {
  record(value: number, attributes?: Labels): void;
}

/** Called for each collection. */
export type Collect = (result: {
  observe(metric: object, value: number, attributes?: Labels): void;
}) => Promise<void>;

/** Unit and description of each metric. Its name begins with `security_events.`. */
const METRICS = {
  'messages.accepted': ['{message}', 'Messages that a queue accepted'],
  'messages.skipped': ['{message}', 'Messages that were skipped, which is not an error'],
  'messages.settled': ['{message}', 'Messages delivered, given up or discarded'],
  'attempt.duration': ['s', 'Duration of requests to receivers'],
  'breaker.changes': ['{change}', 'Changes of circuit breakers'],
  'records.written': ['{record}', 'Log records handed to their destination'],
  'records.lost': ['{record}', 'Log records that were not written'],
  'events.rejected': ['{event}', 'Events that a reporter rejected'],
  faults: ['{fault}', 'Faults of queues and settings'],
  destinations: ['{destination}', 'Applications of a queue by delivery state'],
  'queue.messages': ['{message}', 'Messages that wait in a queue'],
  'queue.size': ['By', 'Size of the messages that wait in a queue'],
  'queue.age': ['s', 'Time for which the oldest claimable message has been due'],
  'queue.dead_letters': ['{message}', 'Dead letters in a queue'],
} as const;

export type MetricName = keyof typeof METRICS;

/** Of the semantic conventions for `http.client.request.duration`, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

type Create<T> = (name: MetricName) => T;

export interface Metrics {
  readonly counter: Create<CounterLike>;
  readonly histogram: Create<HistogramLike>;
  readonly observableCounter: Create<object>;
  readonly gauge: Create<object>;
  /** Returns a function that stops the callback. */
  readonly onCollect: (collect: Collect, observables: object[]) => () => void;
}

function named(name: MetricName): [string, MetricDetails] {
  const [unit, description] = METRICS[name];
  return [`security_events.${name}`, { unit, description }];
}

export function metricsOf(meter: MeterLike): Metrics {
  return {
    counter: (name) => meter.createCounter(...named(name)),
    histogram: (name) => {
      const [fullName, details] = named(name);
      const advice = { explicitBucketBoundaries: [...BUCKETS] };
      return meter.createHistogram(fullName, { ...details, advice });
    },
    observableCounter: (name) => meter.createObservableCounter(...named(name)),
    gauge: (name) => meter.createObservableGauge(...named(name)),
    onCollect: (collect, observables) => {
      meter.addBatchObservableCallback(collect, observables);
      return () => meter.removeBatchObservableCallback(collect, observables);
    },
  };
}
