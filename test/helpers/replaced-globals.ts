/** Replaces functions of node:crypto and the globals of tracers during a test. */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { SpanIds } from '../../src/log/active-span.ts';

type Crypto = typeof import('node:crypto');

const crypto = createRequire(import.meta.url)('node:crypto') as Crypto;

/**
 * Replaces a function of node:crypto for all modules while `act` runs. `act` must be synchronous, or other
 * code would see the replacement. `replace` receives the original.
 */
export function withReplaced<K extends 'createHmac' | 'timingSafeEqual', T>(
  name: K,
  replace: (original: Crypto[K]) => Crypto[K],
  act: () => T,
): T {
  const original = crypto[name];
  crypto[name] = replace(original);
  syncBuiltinESMExports();
  try {
    return act();
  } finally {
    crypto[name] = original;
    syncBuiltinESMExports();
  }
}

// Minimal versions of the globals that tracers define. test/log/tracers.integration.test.ts uses real tracers.

const OTEL = Symbol.for('opentelemetry.js.api.1');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

export const otelGlobal = (ids: SpanIds | undefined): object => ({
  context: {
    active: () => ({
      getValue: (key: symbol) =>
        key === SPAN && ids !== undefined ? { spanContext: () => ids } : undefined,
    }),
  },
});

/** `dd` is what `inject` puts into the carrier of a log line. */
export const datadogGlobal = (ids: SpanIds | undefined, dd: object | undefined): object => {
  const span = ids && {
    context: () => ({
      toTraceId: (asHex: boolean) => (asHex ? ids.traceId : 'decimal'),
      toSpanId: (asHex: boolean) => (asHex ? ids.spanId : 'decimal'),
      toTraceparent: () => `00-…-0${ids.traceFlags}`,
    }),
  };
  return {
    scope: () => ({ active: () => span ?? null }),
    inject: (given: unknown, format: string, carrier: object) => {
      if (given === span && format === 'log' && dd !== undefined) Object.assign(carrier, { dd });
    },
  };
};

export function setTracers({ otel, datadog }: { otel?: object; datadog?: object }): void {
  removeTracers();
  if (otel !== undefined) Reflect.set(globalThis, OTEL, otel);
  if (datadog !== undefined) Reflect.set(globalThis, '_ddtrace', datadog);
}

export function removeTracers(): void {
  Reflect.deleteProperty(globalThis, OTEL);
  Reflect.deleteProperty(globalThis, '_ddtrace');
}
