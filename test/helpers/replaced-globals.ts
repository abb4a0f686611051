/** Replaces parts of Node and tracers for the time of a test. */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { SpanIds } from '../../src/log/active-span.ts';

// A function of node:crypto, replaced for all modules of this process while a function runs.

type Crypto = typeof import('node:crypto');

const crypto = createRequire(import.meta.url)('node:crypto') as Crypto;

/** Hands the original to whoever replaces it. `act` must not wait: others would see the replacement. */
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

// What tracers leave on globalThis, in miniature. The real ones are in test/log/tracers.test.ts.

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
