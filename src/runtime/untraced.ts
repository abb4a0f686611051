/**
 * Our own I/O: it is no part of the request that caused it, no tracer tells of it or adds headers to
 * what third parties get, and what happens within it is known as ours.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, hasSubscribers } from 'node:diagnostics_channel';
import { currentSurroundings, runDetached } from './async-context.ts';
import { datadogTracer, guarded, otelContexts } from './tracers.ts';

const OWN_WORK = Object.freeze({});

/**
 * Runs `work`, and all that it starts, as our own: in no store of anybody's AsyncLocalStorage, with
 * OpenTelemetry's tracing suppressed, and with dd-trace looking away. Gives what `work` gives, or throws.
 */
export function untraced<T>(work: () => T): T {
  // Mostly there is no tracer, and then each step less is one less in the stacks of errors.
  const isTraced = guarded(otelContexts) !== undefined || guarded(datadogTracer) !== undefined;
  return runDetached(
    OWN_WORK,
    isTraced ? () => through(suppressOtel, () => through(suppressDatadog, work)) : work,
  );
}

/** Whether the caller runs, however deep and late, within {@link untraced}. */
export const isOwnWork = (): boolean => currentSurroundings() === OWN_WORK;

/** Runs `work` once, within what a tracer makes of it; a tracer that fails does without its part. */
function through<T>(wrap: (work: () => void) => void, work: () => T): T {
  let end: (() => T) | undefined;
  const once = (): (() => T) => {
    end ??= endOf(work);
    return end;
  };
  guarded(() => wrap(once));
  return once()();
}

/** What `work` comes to, kept: what it throws is not the tracer's to see. */
function endOf<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Of @opentelemetry/core: its SDKs make no spans there, and their propagators write no headers. */
const OTEL_SUPPRESSED = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

function suppressOtel(work: () => void): void {
  const contexts = otelContexts();
  contexts?.with(contexts.active().setValue(OTEL_SUPPRESSED, true), work);
}

/** On which dd-trace is told of a request, a connection and a look-up of a name. */
const DATADOG_CHANNELS = [
  'tracing:apm:undici:fetch:start',
  'apm:net:tcp:start',
  'apm:dns:lookup:start',
  'apm:http:client:request:start',
];

/**
 * dd-trace has no public way: with 5.132.0 `scope().activate(null, work)` still makes spans of undici, net and dns and adds
 * its headers. Its plugins are silent if its store says `noop`, by which it leaves its own requests out; the store is
 * what it binds to the channels that it listens to. untraced-tracers.integration.test.ts holds this.
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
