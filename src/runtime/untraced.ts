/**
 * Runs the library's own I/O outside the request that caused it, and marks it as our own work. Tracers do not
 * see it: they would add headers to requests to third parties.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, hasSubscribers } from 'node:diagnostics_channel';
import {
  type AsyncContext,
  captureAsyncContext,
  currentStore,
  runDetached,
} from './async-context.ts';
import { tryCall } from './host-calls.ts';
import { datadogTracer, otelContexts } from './tracers.ts';

/** Every copy of the package recognises own work by this name: copies must not report each other's requests. */
const BRAND = Symbol.for('security-event-delivery.own-work');

const OWN_WORK = Object.freeze({ [BRAND]: true });

/**
 * Runs `work`, and everything that it starts, as our own: outside every AsyncLocalStorage of the host, with
 * the tracing of OpenTelemetry and dd-trace suppressed. Returns or throws what `work` does.
 */
export function untraced<T>(work: () => T): T {
  if (!hasTracer()) return runDetached(OWN_WORK, work);
  return runDetached(OWN_WORK, captureSuppressedContext).runInAsyncScope(work);
}

const hasTracer = (): boolean =>
  tryCall(otelContexts) !== undefined || tryCall(datadogTracer) !== undefined;

/** Returns whether the caller runs in {@link untraced} work, also asynchronously. */
export const isOwnWork = (): boolean => Object.hasOwn(currentStore() ?? {}, BRAND);

/**
 * Returns the current async context, with tracing suppressed by each tracer that does not fail. The work runs in it
 * later, not in the functions of the tracers: they would see its errors, and add frames to their stacks.
 */
function captureSuppressedContext(): AsyncContext {
  let context = captureAsyncContext();
  const capture = (): void => {
    context = captureAsyncContext();
  };
  tryCall(() => suppressOtel(capture));
  tryCall(() => context.runInAsyncScope(suppressDatadog, undefined, capture));
  return context;
}

/** From @opentelemetry/core. With it SDKs create no spans, and propagators write no headers. */
const OTEL_SUPPRESSED = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

function suppressOtel(work: () => void): void {
  const contexts = otelContexts();
  contexts?.with(contexts.active().setValue(OTEL_SUPPRESSED, true), work);
}

/** Channels on which dd-trace observes requests, connections and name look-ups. */
const DATADOG_CHANNELS = [
  'tracing:apm:undici:fetch:start',
  'apm:net:tcp:start',
  'apm:dns:lookup:start',
  'apm:http:client:request:start',
];

/**
 * dd-trace has no public API for this: with 5.132.0 `scope().activate(null, work)` still creates spans of
 * undici, net and dns and adds headers. Its plugins do nothing while its store has `noop`, which it uses for
 * its own requests; it binds the store to the channels that it listens to. Tested in
 * untraced-tracers.integration.test.ts.
 */
function suppressDatadog(work: () => void): void {
  if (datadogTracer() === undefined) return;
  const name = DATADOG_CHANNELS.find((one) => hasSubscribers(one));
  if (name === undefined) return;
  const { _stores: stores } = channel(name) as { readonly _stores?: Map<unknown, unknown> };
  for (const store of stores?.keys() ?? []) {
    if (store instanceof AsyncLocalStorage) {
      store.run({ noop: true }, work);
      return;
    }
  }
}
