/** The part of OpenTelemetry's API that the metrics use, so that the library needs no OpenTelemetry package. */
import { METRICS, type MetricName } from './metric-table.ts';

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
export type Attributes = Record<string, string | number>;

export interface CounterLike {
  add(value: number, attributes?: Attributes): void;
}

export interface HistogramLike {
  record(value: number, attributes?: Attributes): void;
}

/** Called for each collection. */
export type Collect = (result: {
  observe(metric: object, value: number, attributes?: Attributes): void;
}) => Promise<void>;

/** Bucket boundaries of the semantic conventions for `http.client.request.duration`, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

function nameAndDetails(name: MetricName): [string, MetricDetails] {
  const { unit, description } = METRICS[name];
  return [`security_events.${name}`, { unit, description }];
}

export type Metrics = ReturnType<typeof metricsOf>;

export function metricsOf(meter: MeterLike) {
  return {
    counter: (name: MetricName) => meter.createCounter(...nameAndDetails(name)),
    histogram: (name: MetricName) => {
      const [fullName, details] = nameAndDetails(name);
      const advice = { explicitBucketBoundaries: [...BUCKETS] };
      return meter.createHistogram(fullName, { ...details, advice });
    },
    observableCounter: (name: MetricName) => meter.createObservableCounter(...nameAndDetails(name)),
    gauge: (name: MetricName) => meter.createObservableGauge(...nameAndDetails(name)),
    /** Returns a function that removes the callback. */
    onCollect: (collect: Collect, observables: object[]) => {
      meter.addBatchObservableCallback(collect, observables);
      return () => meter.removeBatchObservableCallback(collect, observables);
    },
  };
}
