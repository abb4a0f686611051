/** Records the error of a blocked request on the active span. */
import { tryCall } from '../../runtime/host-calls.ts';
import { activeOtelSpan, datadogTracer, type OtelSpan } from '../../runtime/tracers.ts';

/** Shared by all copies of this library, so that an error is recorded once. */
const RECORDED = Symbol.for('security-event-delivery.recorded');

/** The span id of OpenTelemetry's non-recording span. */
const NO_SPAN = /^0*$/;

/**
 * Records `error` on the active span: with OpenTelemetry's `recordException`, or else with dd-trace's tag
 * `error`. Does not change the span's status: a 4xx is not an error of the server (OpenTelemetry's
 * conventions for HTTP spans). Records the same error once for each span. Never throws.
 */
export function recordOnSpan(error: Error): void {
  const otel = tryCall(existingOtelSpan);
  tryCall(() => {
    if (otel !== undefined) recordOnce(otel, error);
    else datadogTracer()?.scope().active()?.setTag('error', error);
  });
}

function existingOtelSpan(): OtelSpan | undefined {
  const span = activeOtelSpan();
  return span === undefined || NO_SPAN.test(span.spanContext().spanId) ? undefined : span;
}

interface MarkedSpan extends OtelSpan {
  [RECORDED]?: WeakSet<Error>;
}

/** Recording an exception twice would create two span events. */
function recordOnce(span: MarkedSpan, error: Error): void {
  if (span[RECORDED]?.has(error) === true) return;
  span.recordException(error);
  const recorded = span[RECORDED];
  if (recorded !== undefined) recorded.add(error);
  // Kept on the span, which is freed with its request; not enumerable.
  else Object.defineProperty(span, RECORDED, { value: new WeakSet([error]) });
}
