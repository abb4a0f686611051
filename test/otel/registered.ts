import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { onTestFinished } from 'vitest';
import { type MetricsOptions, registerMetrics } from '../../src/otel/index.ts';
import type { Clock } from '../../src/runtime/clock.ts';

class Reader extends MetricReader {
  protected override onShutdown = (): Promise<void> => Promise.resolve();
  protected override onForceFlush = (): Promise<void> => Promise.resolve();
}

type Labels = Readonly<Record<string, unknown>>;

/** Registers metrics for a test and collects them with OpenTelemetry's SDK. */
export function registered(options?: MetricsOptions, clock?: Clock) {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  const stop = registerMetrics(provider, options, clock);
  onTestFinished(async () => {
    stop();
    await provider.shutdown();
  });
  const collect = async () => (await reader.collect()).resourceMetrics;
  const metrics = async () => (await collect()).scopeMetrics.flatMap((scope) => scope.metrics);
  /** Returns attributes and value of each series of a metric. */
  const series = async (name: string): Promise<(readonly [Labels, unknown])[]> => {
    const found = (await metrics()).find(({ descriptor }) => descriptor.name === name);
    return (found?.dataPoints ?? []).map(({ attributes, value }) => [attributes, value]);
  };
  return { provider, stop, collect, metrics, series };
}
