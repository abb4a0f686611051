import { afterEach, describe, expect, test } from 'vitest';
import { LogLine } from '../../src/contract/index.ts';
import type { PlatformName } from '../../src/log/platform-presets.ts';
import { RECORDS } from '../contract/samples.ts';
import { keptLines, smallRecord } from '../helpers/log-records.ts';
import {
  datadogGlobal,
  otelGlobal,
  removeTracers,
  setTracers,
} from '../helpers/replaced-globals.ts';

const IDS = { traceId: '6b01c9800000000006a5569115a0bd05', spanId: '06a5569115a0bd05' };
const DD = { trace_id: IDS.traceId, span_id: '478884116517928197' };
const span = () => ({ ...IDS, traceFlags: 1 });

afterEach(removeTracers);

const whole = RECORDS.attack;
const { http, actor } = whole.context;

const withContext = (changed: object) => ({ ...whole, context: { ...whole.context, ...changed } });

/** What stands in the line beside the record. */
async function attributes(
  record: object,
  platform: PlatformName,
  activeSpan?: () => never,
): Promise<Record<string, unknown>> {
  const { lines, writer } = keptLines({ platform, activeSpan });
  writer.write(record as never);
  expect(await writer.stats()).toMatchObject({ written: 1, platformFailures: 0 });
  const line = JSON.parse(lines[0] ?? '') as object;
  LogLine.parse(line);
  return Object.fromEntries(Object.entries(line).filter(([key]) => !Object.hasOwn(record, key)));
}

const OTEL = { trace_id: IDS.traceId, span_id: IDS.spanId, trace_flags: '01' };
const DATADOG_SMALL = { service: 'shop', env: 'production' };
const ECS_SMALL = { 'service.name': 'shop', 'service.environment': 'production' };

describe('the attributes of a platform', () => {
  test.each<[PlatformName, object, object]>([
    ['otel', OTEL, {}],
    [
      'datadog',
      {
        dd: DD,
        ...DATADOG_SMALL,
        'network.client.ip': '203.0.113.9',
        'http.method': 'POST',
        'http.url': 'https://shop.example/search',
        'http.status_code': 403,
        'http.useragent': 'curl/8.5.0',
        'usr.id': 42,
      },
      DATADOG_SMALL,
    ],
    [
      'ecs',
      {
        'trace.id': IDS.traceId,
        'span.id': IDS.spanId,
        ...ECS_SMALL,
        'client.ip': '203.0.113.9',
        'user.id': '42',
        'http.request.method': 'POST',
        'http.response.status_code': 403,
        'url.scheme': 'https',
        'url.domain': 'shop.example',
        'url.port': 443,
        'url.path': '/search',
        'user_agent.original': 'curl/8.5.0',
      },
      ECS_SMALL,
    ],
  ])('%s are these of a whole record, and these of a small one', async (platform, all, least) => {
    expect(await attributes(whole, platform, span as never)).toEqual(all);
    expect(await attributes(smallRecord(), platform)).toEqual(least);
  });

  test.each([
    ['shop.example', 'shop.example'],
    ['[2001:db8::1]:8443', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['203.0.113.1:80', '203.0.113.1'],
    ['', undefined],
  ])('have of the host %j the domain %j', async (host, domain) => {
    const record = withContext({ http: { ...http, request: { ...http?.request, host } } });
    expect((await attributes(record, 'ecs'))['url.domain']).toBe(domain);
    const url = host === '' ? undefined : `https://${host}/search`;
    expect((await attributes(record, 'datadog'))['http.url']).toBe(url);
  });

  test.each([
    [{ id: 'a', uid: 'b' }, 'a'],
    [{ email: 'ada@example.com', username: 'ada' }, 'ada'],
    [{ id: true, email: 'ada@example.com' }, 'ada@example.com'],
    [{ id: 0 }, 0],
    [{ tenant: 'x' }, undefined],
    [null, undefined],
  ])('name for the identifiers %j the user %j', async (identifiers, user) => {
    const record = withContext({ actor: { ...actor, identifiers } });
    expect((await attributes(record, 'datadog'))['usr.id']).toBe(user);
    const asText = user === undefined ? undefined : String(user);
    expect((await attributes(record, 'ecs'))['user.id']).toBe(asText);
  });

  test('have no request if the event has none', async () => {
    const unknown = { request: {}, response: { blocked: false } };
    const record = { ...whole, context: { service: whole.context.service, http: unknown } };
    expect(await attributes(record, 'datadog')).toEqual(DATADOG_SMALL);
    expect(await attributes(record, 'ecs')).toEqual(ECS_SMALL);
  });
});

describe('auto', () => {
  const otel = otelGlobal({ ...IDS, traceFlags: 1 });
  const datadog = datadogGlobal({ ...IDS, traceFlags: 1 }, DD);
  const idle = datadogGlobal(undefined, undefined);

  test.each<[string, Parameters<typeof setTracers>[0], object]>([
    ['of OpenTelemetry', { otel }, OTEL],
    ['of OpenTelemetry where both have a span', { otel, datadog }, OTEL],
    ['of Datadog', { datadog }, { dd: DD, ...DATADOG_SMALL }],
    ['of Datadog, without ids, where dd-trace has no span', { datadog: idle }, DATADOG_SMALL],
    ['none where no tracer has a span', { otel: otelGlobal(undefined) }, {}],
    ['none where there is no tracer', {}, {}],
  ])('has the attributes of the tracer that is active: %s', async (_title, tracers, expected) => {
    setTracers(tracers);
    expect(await attributes(smallRecord(), 'auto')).toEqual(expected);
  });

  test('treats the span of the function as the running tracer’s', async () => {
    expect(await attributes(smallRecord(), 'auto', span as never)).toEqual(OTEL);
    setTracers({ datadog: idle });
    const expected = { dd: DD, ...DATADOG_SMALL };
    expect(await attributes(smallRecord(), 'auto', span as never)).toEqual(expected);
  });
});

test('unknown flags are absent', async () => {
  const { trace_flags: _flags, ...ids } = OTEL;
  expect(await attributes(smallRecord(), 'otel', (() => IDS) as never)).toEqual(ids);
});
