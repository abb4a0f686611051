/** Shows the tracer why a request was blocked: as the exception of the span that is active. */
import {
  activeOtelSpan,
  type DatadogSpan,
  datadogTracer,
  guarded,
  type OtelSpan,
} from '../../runtime/tracers.ts';

/** One for all copies of this library: what one has recorded, another does not record again. */
const RECORDED = Symbol.for('security-event-delivery.recorded');

/** As OpenTelemetry's API tells a span that exists from one that does not. */
const NO_SPAN = /^0*$/;

/**
 * Records `error` on the active span: OpenTelemetry's `recordException`, or dd-trace's tag `error`
 * where OpenTelemetry has no span; never both. The span's status stays as it is: that a request was
 * refused with a 4xx is no error of the server's (OpenTelemetry's conventions for HTTP spans).
 *
 * The same error is recorded once on a span, however often this is called. Nothing happens where no
 * span is active, and nothing is thrown.
 */
export function recordOnSpan(error: Error): void {
  const otel = guarded(existingOtelSpan);
  if (otel !== undefined) {
    guarded(() => recordOnce(otel, error));
    return;
  }
  guarded(() => activeDatadogSpan()?.setTag('error', error));
}

function existingOtelSpan(): OtelSpan | undefined {
  const span = activeOtelSpan();
  return span === undefined || NO_SPAN.test(span.spanContext().spanId) ? undefined : span;
}

interface MarkedSpan extends OtelSpan {
  [RECORDED]?: WeakSet<Error>;
}

/** A tag may be set twice, but an exception that is recorded twice is two. */
function recordOnce(span: MarkedSpan, error: Error): void {
  if (span[RECORDED]?.has(error) === true) return;
  span.recordException(error);
  const recorded = span[RECORDED];
  if (recorded !== undefined) recorded.add(error);
  // Of the span itself, which goes with its request; and out of sight of what lists its properties.
  else Object.defineProperty(span, RECORDED, { value: new WeakSet([error]) });
}

const activeDatadogSpan = (): DatadogSpan | null | undefined => datadogTracer()?.scope().active();
