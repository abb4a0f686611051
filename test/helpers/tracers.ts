/** Real tracers, for programs of test/fixtures. */
import { subscribe } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';

export interface StartedTracer {
  /** Names of the spans that were started. */
  readonly spans: readonly string[];
  /** Returns the ids of the active span from the tracer's own API, or its own log injection. */
  readonly ids: () => unknown;
  /** Runs work within a span. */
  readonly within: (name: string, work: () => void | Promise<void>) => Promise<void>;
}

const done = (): Promise<void> => Promise.resolve();

/** Starts OpenTelemetry with the instrumentations of undici and node:net. */
async function startOpenTelemetry(): Promise<StartedTracer> {
  const { NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { UndiciInstrumentation } = await import('@opentelemetry/instrumentation-undici');
  const { NetInstrumentation } = await import('@opentelemetry/instrumentation-net');
  const { trace } = await import('@opentelemetry/api');
  const spans: string[] = [];
  const onStart = (span: { readonly name: string }): void => void spans.push(span.name);
  const processor = { onStart, onEnd: () => {}, forceFlush: done, shutdown: done };
  const provider = new NodeTracerProvider({ spanProcessors: [processor] });
  provider.register();
  new UndiciInstrumentation().setTracerProvider(provider);
  new NetInstrumentation().setTracerProvider(provider);
  // It patches when it is first required.
  createRequire(import.meta.url)('node:net');
  return {
    spans,
    ids: () => trace.getActiveSpan()?.spanContext(),
    within: (name, work) =>
      trace.getTracer('test').startActiveSpan(name, async (span) => {
        await work();
        span.end();
      }),
  };
}

/** Loads and starts dd-trace, so that it sends nothing during a test. */
export async function startDatadog() {
  const { default: tracer } = await import('dd-trace');
  return tracer.init({
    startupLogs: false,
    remoteConfig: { pollInterval: 3600 },
    flushInterval: 3_600_000,
  });
}

async function startWatchedDatadog(): Promise<StartedTracer> {
  const spans: string[] = [];
  subscribe('dd-trace:span:start', (message) => {
    spans.push((message as { readonly fields: { operationName: string } }).fields.operationName);
  });
  const tracer = await startDatadog();
  return {
    spans,
    ids: () => {
      const carrier: { dd?: object } = {};
      const span = tracer.scope().active();
      if (span !== null) tracer.inject(span, 'log', carrier);
      return carrier.dd;
    },
    within: (name, work) => tracer.trace(name, async () => await work()),
  };
}

/** Starts a tracer. Import what is traced afterwards, as tracers require. */
export const startTracer = (name: string): Promise<StartedTracer> =>
  name === 'otel' ? startOpenTelemetry() : startWatchedDatadog();
