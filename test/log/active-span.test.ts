import { afterEach, describe, expect, test } from 'vitest';
import { activeSpan } from '../../src/log/active-span.ts';
import {
  datadogGlobal,
  otelGlobal,
  removeTracers,
  setTracers,
} from '../helpers/replaced-globals.ts';

const TRACE_ID = '6b01c9800000000006a5569115a0bd05';
const SPAN_ID = '06a5569115a0bd05';
const IDS = { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 };
const DD = { trace_id: TRACE_ID, span_id: '478884116517928197' };
const OTHER = { traceId: 'f'.repeat(32), spanId: 'f'.repeat(16), traceFlags: 0 };

const boom = (): never => {
  throw new Error('of the tracer');
};

afterEach(removeTracers);

describe('the active span', () => {
  test('is that of OpenTelemetry', () => {
    setTracers({ otel: otelGlobal(IDS) });
    expect(activeSpan()).toEqual({ tracer: 'otel', ...IDS, dd: DD });
  });

  test('is dd-trace’s, with the ids as dd-trace writes them', () => {
    const dd = { trace_id: 'as it likes', span_id: '7' };
    setTracers({ datadog: datadogGlobal(IDS, dd) });
    expect(activeSpan()).toEqual({ tracer: 'datadog', ...IDS, dd });
  });

  test('is dd-trace’s when dd-trace does not write ids itself', () => {
    setTracers({ datadog: datadogGlobal(IDS, undefined) });
    expect(activeSpan()).toEqual({ tracer: 'datadog', ...IDS, dd: DD });
  });

  test('has the zeros that dd-trace leaves out', () => {
    const ids = { traceId: 'ab', spanId: 'cd', traceFlags: 0 };
    setTracers({ datadog: datadogGlobal(ids, undefined) });
    expect(activeSpan()).toEqual({
      tracer: 'datadog',
      traceId: `${'0'.repeat(30)}ab`,
      spanId: `${'0'.repeat(14)}cd`,
      traceFlags: 0,
      dd: { trace_id: '171', span_id: '205' },
    });
  });

  test('is the function’s alone if there is a function', () => {
    setTracers({ otel: otelGlobal(OTHER), datadog: datadogGlobal(OTHER, undefined) });
    expect(activeSpan(() => IDS)).toEqual({ tracer: 'function', ...IDS, dd: DD });
    expect(activeSpan(() => undefined)).toBeUndefined();
    expect(activeSpan(() => null)).toBeUndefined();
  });

  test.each<[string, object]>([
    ['a trace id of zeros', { ...IDS, traceId: '0'.repeat(32) }],
    ['a span id of zeros', { ...IDS, spanId: '0'.repeat(16) }],
    ['upper case', { ...IDS, traceId: TRACE_ID.toUpperCase() }],
    ['a short trace id', { ...IDS, traceId: TRACE_ID.slice(1) }],
    ['numbers', { traceId: 1, spanId: 2 }],
    ['nothing', {}],
  ])('is undefined if the ids are invalid: %s', (_title, ids) => {
    expect(activeSpan(() => ids as never)).toBeUndefined();
  });

  test.each([-1, 256, 1.5, Number.NaN, '01', undefined])('leaves out flags of %s', (traceFlags) => {
    const found = activeSpan(() => ({ ...IDS, traceFlags }) as never);
    expect(found).toEqual({ tracer: 'function', ...IDS, traceFlags: undefined, dd: DD });
  });

  test.each([0, 255])('keeps flags of %i', (traceFlags) => {
    expect(activeSpan(() => ({ ...IDS, traceFlags }))?.traceFlags).toBe(traceFlags);
  });

  test('ignores errors of a tracer or the function, and asks the next', () => {
    setTracers({ otel: { context: { active: boom } }, datadog: datadogGlobal(IDS, DD) });
    expect(activeSpan()).toMatchObject({ tracer: 'datadog' });
    setTracers({ otel: otelGlobal(IDS), datadog: { scope: boom } });
    expect(activeSpan()).toMatchObject({ tracer: 'otel' });
    expect(activeSpan(boom)).toBeUndefined();
  });
});
