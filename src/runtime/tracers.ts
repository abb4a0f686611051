/**
 * Finds the host's tracers by their globals, not as dependencies: our own copy of OpenTelemetry's API could
 * not read an older one of the host. The globals are no public API, so each use is guarded: a faulty
 * tracer only costs its own data.
 */

/** The API's global in any version 1.x, and the key of the span in a context. */
const OTEL_API = Symbol.for('opentelemetry.js.api.1');
const OTEL_SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

/** The used part of OpenTelemetry's API. */
export interface OtelContexts {
  active(): OtelContext;
  with(context: OtelContext, work: () => void): void;
}

export interface OtelContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
}

export interface OtelSpan {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  recordException(exception: unknown): void;
}

/** The used part of dd-trace. */
export interface DatadogTracer {
  scope(): { active(): DatadogSpan | null };
  inject(span: DatadogSpan, format: 'log', carrier: object): void;
}

export interface DatadogSpan {
  context(): {
    toTraceId(asHex: true): string;
    toSpanId(asHex: true): string;
    toTraceparent(): string;
  };
  setTag(name: 'error', value: unknown): void;
}

/** Returns undefined if OpenTelemetry is not in use, or has no context manager. */
export const otelContexts = (): OtelContexts | undefined =>
  OTEL_API in globalThis
    ? (ownGlobal(OTEL_API) as { readonly context?: OtelContexts } | undefined)?.context
    : undefined;

export const activeOtelSpan = (): OtelSpan | undefined =>
  otelContexts()?.active().getValue(OTEL_SPAN) as OtelSpan | undefined;

export const datadogTracer = (): DatadogTracer | undefined =>
  '_ddtrace' in globalThis ? (ownGlobal('_ddtrace') as DatadogTracer | undefined) : undefined;

/**
 * Own properties only: a polluted prototype must not act as a tracer. Callers test `in` with a constant name
 * first, which takes a fifth of the time: usually there is no tracer.
 */
const ownGlobal = (key: PropertyKey): unknown =>
  Object.hasOwn(globalThis, key) ? Reflect.get(globalThis, key) : undefined;
