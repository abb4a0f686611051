/** Reads the span that is active when an event happens. */
import { tryCall } from '../runtime/host-calls.ts';
import { activeOtelSpan, datadogTracer } from '../runtime/tracers.ts';

/** A span's ids, as OpenTelemetry's `span.spanContext()` gives them. */
export interface SpanIds {
  /** 32 lowercase hex digits, not all zero (W3C Trace Context, 3.2.2.3). */
  readonly traceId: string;
  /** 16 lowercase hex digits, not all zero (3.2.2.4). */
  readonly spanId: string;
  /** 0 to 255 (3.2.2.5). */
  readonly traceFlags?: number | undefined;
}

/** Returns the ids of the active span, or null or undefined if there is none. */
export type SpanReader = () => SpanIds | null | undefined;

/** The ids as dd-trace writes them: decimal, but a trace id of 128 bits in hex. */
export interface DatadogIds {
  readonly trace_id: string;
  readonly span_id: string;
}

export interface ActiveSpan extends SpanIds {
  readonly tracer: 'function' | 'otel' | 'datadog';
  readonly dd: DatadogIds;
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;
const HEX_DIGITS_OF_64_BITS = 16;

/**
 * Returns the active span: from `read` if the host has passed it, otherwise from OpenTelemetry or dd-trace.
 * Never throws: if a tracer fails, the event has no ids.
 */
export function activeSpan(read?: SpanReader): ActiveSpan | undefined {
  if (read === undefined) return tryCall(otelSpan) ?? tryCall(datadogSpan);
  // Not by `tryCall`: its frame would take one of the ten that V8 keeps of the host's stack.
  try {
    return spanFrom('function', read());
  } catch {
    return undefined;
  }
}

/** Returns whether dd-trace runs in this process, even if no span is active. */
export const hasDatadogTracer = (): boolean => tryCall(datadogTracer) !== undefined;

const otelSpan = (): ActiveSpan | undefined => spanFrom('otel', activeOtelSpan()?.spanContext());

function datadogSpan(): ActiveSpan | undefined {
  const tracer = datadogTracer();
  const span = tracer?.scope().active();
  if (tracer === undefined || !span) return undefined;
  const context = span.context();
  const found = spanFrom('datadog', {
    traceId: context.toTraceId(true).padStart(32, '0'),
    spanId: context.toSpanId(true).padStart(16, '0'),
    traceFlags: Number.parseInt(context.toTraceparent().slice(-2), 16),
  });
  // `inject` follows the settings of the tracer, which may turn 128 bits off in logs.
  const carrier: { dd?: Partial<DatadogIds> } = {};
  tracer.inject(span, 'log', carrier);
  const { trace_id, span_id } = carrier.dd ?? {};
  const isWhole = typeof trace_id === 'string' && typeof span_id === 'string';
  return found && isWhole ? { ...found, dd: { trace_id, span_id } } : found;
}

function spanFrom(
  tracer: ActiveSpan['tracer'],
  ids: SpanIds | null | undefined,
): ActiveSpan | undefined {
  if (!ids) return undefined;
  const { traceId, spanId, traceFlags } = ids;
  // OpenTelemetry's ids are zeros if there is no valid span context.
  if (!TRACE_ID.test(traceId) || !SPAN_ID.test(spanId)) return undefined;
  const isByte = Number.isInteger(traceFlags) && (traceFlags as number) >>> 8 === 0;
  return {
    tracer,
    traceId,
    spanId,
    traceFlags: isByte ? traceFlags : undefined,
    dd: { trace_id: datadogTraceId(traceId), span_id: decimal(spanId) },
  };
}

function datadogTraceId(traceId: string): string {
  const has128Bits = !/^0{16}/.test(traceId);
  return has128Bits ? traceId : decimal(traceId.slice(-HEX_DIGITS_OF_64_BITS));
}

const decimal = (hex: string): string => BigInt(`0x${hex}`).toString();
