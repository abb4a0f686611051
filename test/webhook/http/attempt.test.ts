import { Agent } from 'undici';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { deferred } from '../../../src/runtime/deferred.ts';
import { type Certificate, createCertificate } from '../../../src/testing/index.ts';
import {
  createPoster,
  type Poster,
  type PosterOptions,
  type PostRequest,
} from '../../../src/webhook/http/client.ts';
import { clockSince } from '../../helpers/clocks.ts';
import {
  dripBody,
  hang,
  interimFlood,
  type Receiver,
  type ReceiverOptions,
  raw,
  respond,
  startReceiver,
} from '../../helpers/receiver.ts';

function openPoster(options: Partial<PosterOptions> = {}): Poster {
  const poster = createPoster({ network: 'allow-private', clock: systemClock, ...options });
  onTestFinished(() => poster.close());
  return poster;
}

async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

function requestTo(url: string, more: Partial<PostRequest> = {}): PostRequest {
  return { url: new URL(url), body: Buffer.from('[]'), headers: {}, ...more };
}

const DELEGATED = { network: 'delegated' } as const;

function foreignDispatcher(): Agent {
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
}

describe('the timings of an attempt', () => {
  let certificate: Certificate;
  beforeAll(() => {
    certificate = createCertificate({ hosts: ['localhost', '127.0.0.1'] });
  });

  test.each([
    ['http and an address', false, '127.0.0.1', ['tcpMs']],
    ['http and a name', false, 'localhost', ['dnsMs', 'tcpMs']],
    ['https and an address', true, '127.0.0.1', ['tcpMs', 'tlsMs']],
    ['https and a name', true, 'localhost', ['dnsMs', 'tcpMs', 'tlsMs']],
  ])('tell, for %s, each phase once, and none where it is reused', async (...row) => {
    const [, isTls, urlHost, phases] = row;
    const receiver = await openReceiver({ urlHost, ...(isTls ? { tls: certificate } : {}) });
    const poster = openPoster();
    const request = requestTo(receiver.url, { tls: { ca: certificate.cert } });
    const [first, second] = [await poster.post(request), await poster.post(request)];

    expect(first).toMatchObject({ status: 200, reusedConnection: false });
    expect(Object.keys(first.timings)).toEqual([...phases, 'firstByteMs', 'totalMs']);
    const { firstByteMs = 0, totalMs, ...connecting } = first.timings;
    const connectMs = Object.values(connecting).reduce((sum, ms) => sum + ms, 0);
    expect(Math.min(...Object.values(connecting))).toBeGreaterThan(0);
    expect(connectMs).toBeLessThan(firstByteMs);
    expect(firstByteMs).toBeLessThanOrEqual(totalMs);

    expect(second).toMatchObject({ status: 200, reusedConnection: true });
    expect(Object.keys(second.timings)).toEqual(['firstByteMs', 'totalMs']);
  });

  test('tell the wait for the response headers apart from the rest of the body', async () => {
    const late = respond({ delayMs: 40, body: 'ok' });
    const receiver = await openReceiver({ script: [late, dripBody(10)] });
    const { promise: dripping, resolve: onHeaders } = deferred();
    const poster = openPoster({ deadlines: { totalMs: 50 }, clock: clockSince(() => dripping) });
    const [waited, dripped] = [
      await poster.post(requestTo(receiver.url)),
      await poster.post(requestTo(receiver.url, { onHeaders })),
    ];
    expect(waited.timings.firstByteMs).toBeGreaterThan(38);
    const { firstByteMs = 0, totalMs } = dripped.timings;
    expect(totalMs).toBeGreaterThan(48);
    expect(totalMs - firstByteMs).toBeGreaterThan(40);
    expect(dripped).toMatchObject({ status: 200, reusedConnection: true });
  });

  test('of requests at the same time are each of its own connection', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    const posts = Array.from({ length: 8 }, () => poster.post(requestTo(receiver.url)));
    for (const { timings, reusedConnection } of await Promise.all(posts)) {
      expect(Object.keys(timings)).toEqual(['tcpMs', 'firstByteMs', 'totalMs']);
      expect(reusedConnection).toBe(false);
    }
    expect(receiver.connectionCount).toBe(8);
  });

  test('hold, where an attempt fails, what had ended by then', async () => {
    const receiver = await openReceiver({ script: [respond(), hang()] });
    // Each deadline from when there is a connection or a request that it is about.
    const clock = clockSince((ms) =>
      ms === 30
        ? receiver.connected(receiver.connectionCount + 1)
        : receiver.received(receiver.requests.length + 1),
    );
    const poster = openPoster({ deadlines: { connectMs: 30, headersMs: 50 }, clock });
    await poster.post(requestTo(receiver.url));
    const results = [
      await poster.post(requestTo(receiver.url)),
      await poster.post(requestTo(receiver.url)),
      await poster.post(requestTo(receiver.url.replace('http', 'https'))),
    ];
    expect(
      results.map(({ timings, reusedConnection, ...result }) => [
        'code' in result && result.code,
        Object.keys(timings),
        reusedConnection,
      ]),
    ).toEqual([
      ['headers-timeout', ['totalMs'], true],
      ['headers-timeout', ['tcpMs', 'totalMs'], false],
      ['connect-timeout', ['tcpMs', 'totalMs'], false],
    ]);
    expect(results[1]?.timings.totalMs).toBeGreaterThan(48);
  });

  test('of a dispatcher of the host hold no phases, and nobody knows what it reuses', async () => {
    const receiver = await openReceiver({ script: [respond({ delayMs: 20 })] });
    const poster = openPoster({ ...DELEGATED, dispatcher: foreignDispatcher() });
    for (let sends = 0; sends < 2; sends += 1) {
      const result = await poster.post(requestTo(receiver.url));
      expect(Object.keys(result)).not.toContain('reusedConnection');
      expect(Object.keys(result.timings)).toEqual(['firstByteMs', 'totalMs']);
      expect(result.timings.firstByteMs).toBeGreaterThan(18);
    }
  });
});

function refuse(): never {
  throw new Error('not my attempt');
}

describe('onHeaders', () => {
  const POSTERS = [
    ['connections of ours', () => ({})],
    ['a dispatcher of the host', () => ({ ...DELEGATED, dispatcher: foreignDispatcher() })],
  ] as const;

  test.each(POSTERS)('is called once, before the body is read, over %s', async (_what, options) => {
    const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(3);
    const receiver = await openReceiver({
      script: [raw(`${interim}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no`)],
    });
    const heard: string[] = [];
    const { promise: headers, resolve: tell } = deferred();
    const onHeaders = (): void => {
      heard.push('headers');
      tell();
    };
    const clock = clockSince(() => headers);
    await openPoster({ ...options(), deadlines: { totalMs: 50 }, clock })
      .post(requestTo(receiver.url, { onHeaders }))
      .then(() => heard.push('end'));
    expect(heard).toEqual(['headers', 'end']);
  });

  test.each(POSTERS)('may throw, and changes nothing, over %s', async (_what, options) => {
    const receiver = await openReceiver({ script: [respond({ body: 'ok' })] });
    const poster = openPoster(options());
    for (let sends = 0; sends < 2; sends += 1) {
      const result = await poster.post(requestTo(receiver.url, { onHeaders: refuse }));
      expect(result).toMatchObject({ kind: 'response', status: 200 });
    }
    expect(receiver.connectionCount).toBe(1);
  });

  test('may end the attempt, whose status stands', async () => {
    const receiver = await openReceiver({ script: [dripBody(10, 202)] });
    const caller = new AbortController();
    const result = await openPoster({ signal: caller.signal }).post(
      requestTo(receiver.url, { onHeaders: () => caller.abort() }),
    );
    expect(result).toMatchObject({ kind: 'response', status: 202 });
    expect(result.timings.totalMs).toBeLessThan(4000);
    await receiver.idle();
  });

  test.each([
    ['hang', hang()],
    ['are interim ones only', interimFlood(10)],
    ['come too late', respond({ delayMs: 50 })],
  ])('is not called where the headers %s', async (_what, step) => {
    const receiver = await openReceiver({ script: [step] });
    let calls = 0;
    const late = foreignDispatcher();
    const deaf = Object.create(late, {
      request: {
        value: ({ signal: _ignored, ...options }: Parameters<Agent['request']>[0]) =>
          late.request(options),
      },
    }) as Agent;
    for (const options of [{}, { ...DELEGATED, dispatcher: deaf }]) {
      const poster = openPoster({ ...options, deadlines: { totalMs: 30 } });
      const onHeaders = (): void => {
        calls += 1;
      };
      const result = await poster.post(requestTo(receiver.url, { onHeaders }));
      expect(result).toMatchObject({ kind: 'failure', code: 'deadline' });
    }
    await systemClock.sleep(40);
    expect(calls).toBe(0);
  });
});
