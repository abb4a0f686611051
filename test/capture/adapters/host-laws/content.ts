/** The facts in the context of a request. */
import { expect, test } from 'vitest';
import { type CaptureOptions, currentContext } from '../../../../src/capture/index.ts';
import { LogRecord } from '../../../../src/contract/index.ts';
import type { Asked } from '../../../helpers/hosts.ts';
import { smallRecord } from '../../../helpers/log-records.ts';
import { deferred } from '../../../helpers/promises.ts';
import type { HostHarness, StartHost } from '../host-suite.ts';

type Context = ReturnType<typeof currentContext>;

interface Case {
  readonly path?: string;
  readonly asked?: Asked;
  readonly options?: CaptureOptions;
}

export function contentLaws(start: StartHost, harness: HostHarness): void {
  const { hasRouter, hasBodies, protocol } = harness;

  /** The context in the handler of one request. */
  async function contextOf({ path = '/', asked, options }: Case): Promise<Context> {
    let context: Context = {};
    const { ask } = await start((exchange) => {
      context = currentContext();
      return exchange.answer(200, '');
    }, options);
    await ask(path, asked);
    return context;
  }

  test('has all facts of the request in the contract’s form', async () => {
    const headers = { 'user-agent': 'a test', host: 'shop.example:81' };
    const path = '/users/7?q=1&password=x#top';
    const { actor, http } = await contextOf({ path, asked: { method: 'DELETE', headers } });
    const { service } = smallRecord().context;
    const record = { ...smallRecord(), context: { actor, http, service } };
    expect(LogRecord.parse(record).context).toEqual(record.context);
    expect(actor).toMatchObject({ identifiers: null, svc_identifier: null });
    expect(actor?.ip).toMatchObject({ address: '127.0.0.1', metadata: { loopback: true } });
    const { remote_port, host, port, ...request } = http?.request ?? {};
    expect(request).toEqual({
      parameters: {
        query: { q: '1', password: '[redacted]' },
        ...(hasRouter ? { other: { params: { id: '7' } } } : {}),
      },
      path: '/users/7',
      referer: null,
      remote_ip: '127.0.0.1',
      scheme: protocol === 'https' ? 'https' : 'http',
      user_agent: 'a test',
      verb: 'DELETE',
    });
    expect(remote_port).toMatch(/^[1-9]\d{3,4}$/);
    expect([host, port]).toEqual(['shop.example', 81]);
    expect(http?.response).toEqual({ blocked: false });
  });

  test('has the status of the response once it has begun', async () => {
    const seen: unknown[] = [];
    const look = (): void => void seen.push(currentContext().http?.response);
    const answered = deferred();
    let late: Promise<void> | undefined;
    const { ask } = await start((exchange) => {
      look();
      late = answered.promise.then(look);
      return exchange.answer(418, '');
    });
    await ask('/');
    answered.resolve();
    await late;
    expect(seen).toEqual([{ blocked: false }, { blocked: false, status: 418 }]);
  });

  if (!hasBodies) return;

  const BODIES = [
    [
      'a form',
      'application/x-www-form-urlencoded',
      'a=1&b=2&b=3',
      { form: { a: '1', b: ['2', '3'] } },
    ],
    ['JSON', 'application/json; charset=utf-8', '{"a":{"b":[1]}}', { json: { a: { b: [1] } } }],
  ] as const;

  test.each(BODIES)('has the parsed body: %s', async (_name, type, body, expected) => {
    const asked = { method: 'POST', headers: { 'content-type': type }, body };
    const { http } = await contextOf({ path: '/users/7?q=1', asked });
    expect(http?.request.parameters).toEqual({
      query: { q: '1' },
      ...expected,
      ...(hasRouter ? { other: { params: { id: '7' } } } : {}),
    });
  });
}
