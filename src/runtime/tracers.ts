/**
 * The host's tracers, found by the globals that they leave and never as a dependency: a copy of
 * OpenTelemetry's API of our own would read nothing where the host's is older. None of it is a
 * promise of theirs, so each use is guarded: what a tracer does wrong costs nothing but its part.
 */

/** The API's global, of any version 1.x, and the key under which a context holds its span. */
const OTEL_API = Symbol.for('opentelemetry.js.api.1');
const OTEL_SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

/** What is used of OpenTelemetry's API. */
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

/** What is used of dd-trace. */
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

/** `undefined` for what throws. */
export function guarded<T>(look: () => T | undefined): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Absent where OpenTelemetry is not in use, or no context manager is registered. */
export const otelContexts = (): OtelContexts | undefined =>
  OTEL_API in globalThis
    ? (ownGlobal(OTEL_API) as { readonly context?: OtelContexts } | undefined)?.context
    : undefined;

export const activeOtelSpan = (): OtelSpan | undefined =>
  otelContexts()?.active().getValue(OTEL_SPAN) as OtelSpan | undefined;

export const datadogTracer = (): DatadogTracer | undefined =>
  '_ddtrace' in globalThis ? (ownGlobal('_ddtrace') as DatadogTracer | undefined) : undefined;

/**
 * Of `globalThis` itself: what is on a polluted prototype is nobody's tracer. Callers ask `in` first, each for
 * one name: mostly there is no tracer at all, and a constant name is found in a fifth of the time.
 */
const ownGlobal = (key: PropertyKey): unknown =>
  Object.hasOwn(globalThis, key) ? Reflect.get(globalThis, key) : undefined;
