import { afterEach, describe, expect, test } from 'vitest';
import { recordOnSpan } from '../../../src/capture/request/span-exception.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { removeTracers, setTracers } from '../../helpers/replaced-globals.ts';

const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');
const blocked = new Error('the request was blocked');
const boom = (): never => {
  throw new Error('of a tracer');
};

const otelWith = (span: object | undefined): object => ({
  context: { active: () => ({ getValue: (key: symbol) => (key === SPAN ? span : undefined) }) },
});

const otelSpan = (spanId = '06a5569115a0bd05', reported: unknown[] = []) => ({
  reported,
  spanContext: () => ({ spanId }),
  recordException: (error: unknown) => void reported.push(error),
});

const datadogWith = (span: object | null): object => ({ scope: () => ({ active: () => span }) });

const datadogSpan = (reported: unknown[] = []) => ({
  reported,
  setTag: (name: string, value: unknown) => void reported.push([name, value]),
});

afterEach(removeTracers);

describe('the exception of a blocked request', () => {
  test('is recorded on OpenTelemetry’s span, once for each error and span', () => {
    const other = new Error('another');
    const span = otelSpan();
    setTracers({ otel: otelWith(span) });
    for (const error of [blocked, blocked, other, blocked, other]) recordOnSpan(error);
    expect(span.reported).toEqual([blocked, other]);
    const next = otelSpan();
    setTracers({ otel: otelWith(next) });
    recordOnSpan(blocked);
    expect(next.reported).toEqual([blocked]);
    expect(Object.keys(next)).toEqual(Object.keys(otelSpan()));
  });

  test('is recorded once by two copies of the library', () => {
    const span = otelSpan();
    const byTheOther = { [Symbol.for('security-event-delivery.recorded')]: new WeakSet([blocked]) };
    setTracers({ otel: otelWith(Object.assign(span, byTheOther)) });
    recordOnSpan(blocked);
    expect(span.reported).toEqual([]);
  });

  test('is recorded on OpenTelemetry’s span only, if both have one', () => {
    const [otel, datadog] = [otelSpan(), datadogSpan()];
    setTracers({ otel: otelWith(otel), datadog: datadogWith(datadog) });
    recordOnSpan(blocked);
    expect([otel.reported, datadog.reported]).toEqual([[blocked], []]);
  });

  test.each<[string, object]>([
    ['has no span', otelWith(undefined)],
    ['has a span of zeros', otelWith(otelSpan('0'.repeat(16)))],
    ['has a span without an id', otelWith(otelSpan(''))],
    ['has no readable context', { context: { active: boom } }],
    ['has no readable span ids', otelWith({ spanContext: boom })],
  ])('is a tag of dd-trace’s span if OpenTelemetry %s', (_title, otel) => {
    const span = datadogSpan();
    setTracers({ otel, datadog: datadogWith(span) });
    recordOnSpan(blocked);
    expect(span.reported).toEqual([['error', blocked]]);
  });

  test.each<[string, { otel?: object; datadog?: object }]>([
    ['there is no tracer', {}],
    ['dd-trace has no span', { datadog: datadogWith(null) }],
    ['dd-trace fails', { datadog: { scope: boom } }],
    ['a tag cannot be set', { datadog: datadogWith({ setTag: boom }) }],
  ])('is not recorded and does not throw if %s', (_title, tracers) => {
    setTracers(tracers);
    expect(() => recordOnSpan(blocked)).not.toThrow();
  });

  test('is not recorded by dd-trace if OpenTelemetry’s span throws', () => {
    const span = datadogSpan();
    const otel = otelWith({ ...otelSpan(), recordException: boom });
    setTracers({ otel, datadog: datadogWith(span) });
    expect(() => recordOnSpan(blocked)).not.toThrow();
    expect(span.reported).toEqual([]);
  });

  test('is recorded on a span that cannot be marked', () => {
    const span = Object.freeze(otelSpan());
    setTracers({ otel: otelWith(span) });
    recordOnSpan(blocked);
    expect(span.reported).toEqual([blocked]);
  });
});

test('dd-trace has the error of a blocked request on its span', { timeout: 60_000 }, async () => {
  const { stdout, stderr, exitCode } = await runFixture('traced-exception', []);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  expect(JSON.parse(stdout)).toEqual({ name: 'Blocked', message: 'the request was blocked' });
});
