import { EventEmitter, getEventListeners } from 'node:events';
import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { Agent, type Dispatcher, MockAgent } from 'undici';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { type Certificate, createCertificate } from '../../../src/testing/index.ts';
import {
  createPoster,
  type Poster,
  type PosterOptions,
  type PostRequest,
} from '../../../src/webhook/http/client.ts';
import type { FailureCode } from '../../../src/webhook/outcome.ts';
import { clockSince } from '../../helpers/clocks.ts';
import {
  dripBody,
  dripHeaders,
  end,
  endlessBody,
  hang,
  hugeHeaders,
  interimFlood,
  type Receiver,
  type ReceiverOptions,
  raw,
  redirect,
  reset,
  respond,
  type Step,
  startReceiver,
} from '../../helpers/receiver.ts';

/** Where something else than a deadline must end an attempt, it does so long before these. */
const LONG = { connectMs: 10_000, headersMs: 10_000, totalMs: 10_000 };
const SOON_MS = 4000;

const ANY_MS: unknown = expect.any(Number);

function openPoster(options: Partial<PosterOptions> = {}): Poster {
  const poster = createPoster({
    network: 'allow-private',
    clock: systemClock,
    deadlines: LONG,
    ...options,
  });
  onTestFinished(() => poster.close());
  return poster;
}

/** A concurrent test has an `onTestFinished` of its own in its context. */
async function openReceiver(
  options: ReceiverOptions = {},
  onFinished = onTestFinished,
): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onFinished(() => receiver.close());
  return receiver;
}

function chunked(bytes: number): Step {
  const body = `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\n\r\n`;
  return raw(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
}

function requestTo(url: string | URL, more: Partial<PostRequest> = {}): PostRequest {
  return { url: new URL(url), body: Buffer.from('[]'), headers: {}, ...more };
}

function warnings(): Error[] {
  const heard: Error[] = [];
  const hear = (warning: Error): void => void heard.push(warning);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  return heard;
}

describe('what is sent', () => {
  const HOSTILE = JSON.stringify([
    { text: '\u{1F600} \u2028 \u2029 \0 \ud800 "\\ e\u0301', __proto__: null, sign: '-0' },
  ]);

  test.each([
    ['hostile Unicode', Buffer.from(HOSTILE)],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x00, 0x0d, 0x0a, 0x0d, 0x0a])],
    ['no body at all', Buffer.alloc(0)],
    ['a megabyte', Buffer.alloc(1_048_576, 'ä')],
  ])('is, for %s, the exact bytes under their exact Content-Length', async (_what, body) => {
    const receiver = await openReceiver();
    const result = await openPoster().post(requestTo(receiver.url, { body }));
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    const [request] = receiver.requests;
    expect(request?.body.equals(body)).toBe(true);
    expect(request?.headers['content-length']).toBe(String(body.length));
  });

  test('is one POST with the headers given, and none that asks for an encoding', async () => {
    const receiver = await openReceiver();
    const headers = { 'Content-Type': 'application/json', 'X-Svc-Integrity': 'abc' };
    await openPoster().post(requestTo(`${receiver.url}?a=1&b=%20#part`, { headers }));
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]).toMatchObject({ method: 'POST', target: '/hook?a=1&b=%20' });
    expect(receiver.requests[0]?.rawHeaders).toEqual([
      ['host', `127.0.0.1:${receiver.port}`],
      ['connection', 'keep-alive'],
      ['Content-Type', 'application/json'],
      ['X-Svc-Integrity', 'abc'],
      ['content-length', '2'],
    ]);
  });

  test('goes to a URL object as to its text', async () => {
    const receiver = await openReceiver();
    const result = await openPoster().post(requestTo(new URL(receiver.url)));
    expect(result).toMatchObject({ kind: 'response', status: 200 });
  });
});

describe('a response', () => {
  test.each([
    ['200 with a body', respond({ status: 200, body: '{"ok":true}' }), 200],
    ['200 without a body', respond({ status: 200 }), 200],
    ['202', respond({ status: 202 }), 202],
    ['204', respond({ status: 204 }), 204],
    ['304', respond({ status: 304 }), 304],
    ['400', respond({ status: 400, body: 'no' }), 400],
    ['429', respond({ status: 429 }), 429],
    ['500 with a body', respond({ status: 500, body: '<html>' }), 500],
    ['500 without a body', respond({ status: 500 }), 500],
    ['a status nobody knows', respond({ status: 799 }), 799],
    [
      'a chunked body',
      raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'),
      200,
    ],
    ['a body until the end of the connection', end('HTTP/1.1 200 OK\r\n\r\nbye'), 200],
    [
      '103 before the final one',
      raw('HTTP/1.1 103 E\r\n\r\nHTTP/1.1 201 C\r\ncontent-length: 0\r\n\r\n'),
      201,
    ],
  ])('of %s is its status', async (_what, step, status) => {
    const receiver = await openReceiver({ script: [step] });
    const result = await openPoster().post(requestTo(receiver.url));
    expect(result).toEqual({
      kind: 'response',
      status,
      retryAfter: undefined,
      timings: { tcpMs: ANY_MS, firstByteMs: ANY_MS, totalMs: ANY_MS },
      reusedConnection: false,
    });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([
    ['seconds', { 'retry-after': '120' }, '120'],
    ['a date', { 'Retry-After': 'Fri, 31 Dec 2027 23:59:59 GMT' }, 'Fri, 31 Dec 2027 23:59:59 GMT'],
    ['nonsense', { 'retry-after': 'soon' }, 'soon'],
    ['two values', { 'retry-after': '5\r\nretry-after: 7' }, '5'],
  ])('hands Retry-After on as received: %s', async (_what, headers, retryAfter) => {
    const receiver = await openReceiver({ script: [respond({ status: 503, headers })] });
    const result = await openPoster().post(requestTo(receiver.url));
    expect(result).toMatchObject({ kind: 'response', status: 503, retryAfter });
  });

  test.each([301, 302, 303, 307, 308] as const)('of %d is not followed', async (status) => {
    const canary = await openReceiver();
    const receiver = await openReceiver({ script: [redirect(status, canary.url)] });
    const result = await openPoster().post(requestTo(receiver.url));
    expect(result).toMatchObject({ kind: 'response', status });
    expect(canary.connectionCount).toBe(0);
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('a response body', () => {
  test.each([
    [
      'of exactly the limit leaves the connection open',
      {},
      respond({ body: Buffer.alloc(8192) }),
      1,
    ],
    ['of one byte more ends the connection', {}, respond({ body: Buffer.alloc(8193) }), 0],
    ['in chunks, of exactly the limit, leaves the connection open', {}, chunked(8192), 1],
    ['in chunks, of one byte more, ends the connection', {}, chunked(8193), 0],
    [
      'of a byte is one too many where the limit is 0',
      { maxResponseBytes: 0 },
      respond({ body: 'x' }),
      0,
    ],
    ['of no bytes is legal where the limit is 0', { maxResponseBytes: 0 }, respond(), 1],
  ])('%s', async (_what, options, step, open) => {
    const receiver = await openReceiver({ script: [step] });
    const poster = openPoster(options);
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ status: 200 });
    if (open === 0) await receiver.idle();
    await poster.post(requestTo(receiver.url));
    expect(receiver.connectionCount).toBe(2 - open);
  });

  test.each([
    ['is reset half-way', reset('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')],
    ['is cut short', end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')],
    ['has a broken chunk', raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n')],
    [
      'is left hanging while the caller aborts',
      raw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'),
    ],
  ])('that %s leaves the status as it is', async (_what, step) => {
    const receiver = await openReceiver({ script: [step] });
    const caller = new AbortController();
    const onHeaders = (): void => void systemClock.sleep(50).then(() => caller.abort());
    const request = requestTo(receiver.url, { onHeaders });
    const result = await openPoster({ signal: caller.signal }).post(request);
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
    await receiver.idle();
  });

  test('that is a gzip bomb costs its compressed bytes only', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000));
    expect(bomb.length).toBeLessThan(8192);
    const headers = { 'content-encoding': 'gzip' };
    const receiver = await openReceiver({ script: [respond({ headers, body: bomb })] });
    const poster = openPoster();
    for (let sends = 0; sends < 2; sends += 1) {
      expect(await poster.post(requestTo(receiver.url))).toMatchObject({ status: 200 });
    }
    // Decoded, it would have passed the limit and cost the connection.
    expect(receiver.connectionCount).toBe(1);
  });
});

describe('a failure', () => {
  const STEPS: readonly (readonly [string, Step, headersMs: number, FailureCode, string])[] = [
    ['hangs before the headers', hang(), 50, 'headers-timeout', '50 ms'],
    ['drips its headers', dripHeaders(10), 50, 'headers-timeout', '50 ms'],
    ['trickles 1xx', interimFlood(10), 50, 'headers-timeout', '50 ms'],
    ['resets before the headers', reset(), 10_000, 'connection-reset', 'ECONNRESET'],
    ['ends before the headers', end(), 10_000, 'connection-reset', 'UND_ERR_SOCKET'],
    ['ends in them', end('HTTP/1.1 200 OK\r\nx: '), 10_000, 'connection-reset', 'UND_ERR_SOCKET'],
    ['sends garbage', raw('SSH-2.0-OpenSSH_9.6\r\n'), 10_000, 'protocol', 'HTTPParserError'],
    [
      'sends huge headers',
      hugeHeaders(70_000),
      10_000,
      'protocol',
      'UND_ERR_RES_EXCEEDED_MAX_SIZE',
    ],
  ];

  test.each(STEPS)('of a receiver that %s', async (_what, step, headersMs, code, mark) => {
    const receiver = await openReceiver({ script: [step] });
    const clock = clockSince(() => receiver.received(1));
    const poster = openPoster({ deadlines: { ...LONG, headersMs }, clock });
    const result = await poster.post(requestTo(receiver.url));
    expect(result).toEqual({
      kind: 'failure',
      code,
      detail: expect.stringContaining(`(${mark})`),
      timings: { tcpMs: ANY_MS, totalMs: ANY_MS },
      reusedConnection: false,
    });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
    await receiver.idle();
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([
    [32, { kind: 'response', status: 200 }],
    [
      33,
      {
        kind: 'failure',
        code: 'protocol',
        detail: expect.stringContaining('(more than 32 1xx responses)'),
      },
    ],
  ])(
    'comes with more than 32 informational responses, not with 32: %d',
    async (count, expected) => {
      const interim = 'HTTP/1.1 103 Early\r\n\r\n'.repeat(count);
      const final = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
      const receiver = await openReceiver({ script: [raw(interim + final)] });
      expect(await openPoster().post(requestTo(receiver.url))).toMatchObject(expected);
    },
  );

  test('is the total deadline where it is over before the header deadline', async () => {
    const receiver = await openReceiver({ script: [hang()] });
    const deadlines = { headersMs: 10_000, totalMs: 50 };
    const clock = clockSince(() => receiver.received(1));
    const result = await openPoster({ deadlines, clock }).post(requestTo(receiver.url));
    expect(result).toMatchObject({
      kind: 'failure',
      code: 'deadline',
      detail:
        'The time for the whole attempt was over before the response headers (50 ms); let the receiver answer first and do its work afterwards.',
    });
    await receiver.idle();
  });

  test('is an address that the network guard refuses, with no connection made', async () => {
    const receiver = await openReceiver();
    const poster = openPoster({ network: 'public' });
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({
      kind: 'failure',
      code: 'address-refused',
      detail: expect.stringMatching(/loopback.*allow-private/s),
    });
    expect(receiver.connectionCount).toBe(0);
  });

  test.each([
    ['another scheme', requestTo('ftp://127.0.0.1/'), /\(UND_ERR_INVALID_ARG\)/],
    [
      'a header with a line break',
      requestTo('http://127.0.0.1:9/', { headers: { a: 'b\r\nc: d' } }),
      /\(UND_ERR_INVALID_ARG\)/,
    ],
    [
      'a Content-Length that lies',
      requestTo('http://127.0.0.1:9/', { headers: { 'content-length': '3' } }),
      /\((UND_ERR_REQ_CONTENT_LENGTH_MISMATCH|ECONNREFUSED)\)/,
    ],
  ])('is, for %s, a result and no error', async (_what, request, mark) => {
    expect(await openPoster().post(request)).toMatchObject({
      kind: 'failure',
      detail: expect.stringMatching(mark),
    });
  });

  test('never repeats the URL, the headers, the body or what was received', async () => {
    const receiver = await openReceiver({ script: [raw('received-secret\r\n'), reset(), hang()] });
    const poster = openPoster({ deadlines: { headersMs: 50 } });
    const request = requestTo(`${receiver.url}?token=query-secret`, {
      body: Buffer.from('body-secret'),
      headers: { 'x-key': 'header-secret' },
    });
    const results = [];
    for (let sends = 0; sends < 3; sends += 1) results.push(await poster.post(request));
    results.push(await poster.post({ ...request, url: new URL('http://query-secret') }));
    expect(results.map(({ kind }) => kind)).toEqual(['failure', 'failure', 'failure', 'failure']);
    expect(JSON.stringify(results)).not.toMatch(/secret|127\.0\.0\.1/);
  });
});

describe('over TLS', () => {
  let certificate: Certificate;
  beforeAll(() => {
    certificate = createCertificate();
  });

  test('fails with the code tls when the receiver speaks no TLS', async () => {
    const receiver = await openReceiver({
      onConnection: (socket) => socket.write('HTTP/1.1 400\r\n\r\n'),
    });
    const url = receiver.url.replace('http', 'https');
    expect(await openPoster().post(requestTo(url))).toMatchObject({ kind: 'failure', code: 'tls' });
  });

  test('a self-signed certificate is refused, and no request is sent', async () => {
    const receiver = await openReceiver({ tls: certificate });
    expect(await openPoster().post(requestTo(receiver.url))).toMatchObject({
      kind: 'failure',
      code: 'tls',
      detail: expect.stringContaining('(DEPTH_ZERO_SELF_SIGNED_CERT)'),
    });
    expect(receiver.requests).toHaveLength(0);
  });
});

describe('connections', () => {
  test('posts at the same time do not wait for each other', async () => {
    const receiver = await openReceiver({ script: [hang(), respond()] });
    const clock = clockSince(() => receiver.received(2));
    const poster = openPoster({ deadlines: { headersMs: 50 }, clock });
    const hanging = poster.post(requestTo(receiver.url));
    await receiver.received(1);
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ status: 200 });
    expect(await hanging).toMatchObject({ code: 'headers-timeout' });
    expect(receiver.connectionCount).toBe(2);
  });

  test('one that the receiver closed while idle is not used again', async () => {
    const receiver = await openReceiver({ script: [respond({ thenClose: true })] });
    const poster = openPoster();
    for (let sends = 0; sends < 3; sends += 1) {
      expect(await poster.post(requestTo(receiver.url))).toMatchObject({ status: 200 });
      await receiver.idle();
    }
    expect(receiver.requests).toHaveLength(3);
  });
});

describe("the caller's signal", () => {
  test('aborted before: nothing is sent, nor connected', async () => {
    const receiver = await openReceiver();
    const signal = AbortSignal.abort(new Error('my secret reason'));
    expect(await openPoster({ signal }).post(requestTo(receiver.url))).toEqual({
      kind: 'failure',
      code: 'aborted',
      detail:
        'The attempt was stopped by its caller (signal); send again if the messages are still wanted.',
      timings: { totalMs: ANY_MS },
    });
    expect(receiver.connectionCount).toBe(0);
  });

  test('aborted right after the call: nothing is connected either', async () => {
    const receiver = await openReceiver();
    const caller = new AbortController();
    const poster = openPoster({ signal: caller.signal });
    const posting = poster.post(requestTo(receiver.url));
    caller.abort();
    expect(await posting).toMatchObject({ kind: 'failure', code: 'aborted' });
    expect(await openPoster().post(requestTo(receiver.url))).toMatchObject({ status: 200 });
    expect(receiver.connectionCount).toBe(1);
    expect(receiver.requests).toHaveLength(1);
  });

  test('aborted while waiting for the response ends the attempt and its connection', async () => {
    const receiver = await openReceiver({ script: [hang()] });
    const caller = new AbortController();
    const poster = openPoster({ signal: caller.signal });
    const posting = poster.post(requestTo(receiver.url));
    await receiver.received(1);
    caller.abort();
    const result = await posting;
    expect(result).toMatchObject({ kind: 'failure', code: 'aborted' });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
    await receiver.idle();
  });

  test('aborted while connecting ends the attempt at once', async () => {
    const receiver = await openReceiver();
    const url = receiver.url.replace('http', 'https');
    const caller = new AbortController();
    const poster = openPoster({ signal: caller.signal });
    const posting = poster.post(requestTo(url));
    await receiver.connected(1);
    caller.abort();
    const result = await posting;
    expect(result).toMatchObject({ kind: 'failure', code: 'aborted' });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
    await receiver.idle();
  });

  test('shared by 100 posts, half of them at once, keeps no listener and causes no warning', async () => {
    const heard = warnings();
    const receiver = await openReceiver();
    const { signal } = new AbortController();
    const poster = openPoster({ signal });
    const post = () => poster.post(requestTo(receiver.url));
    const results = await Promise.all(Array.from({ length: 50 }, post));
    for (let sends = 0; sends < 50; sends += 1) results.push(await post());
    expect(results.filter((result) => result.kind === 'response')).toHaveLength(100);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await poster.close();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(heard).toEqual([]);
  });
});

describe('close', () => {
  test('ends idle connections, again and again', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    await poster.post(requestTo(receiver.url));
    expect(receiver.openConnectionCount).toBe(1);
    const closedAt = performance.now();
    await Promise.all([poster.close(), poster.close()]);
    await poster.close();
    await receiver.idle();
    // By itself it would end after 4 s.
    expect(performance.now() - closedAt).toBeLessThan(3000);
  });

  test('ends the attempts in flight as aborted', async () => {
    const receiver = await openReceiver({ script: [hang()] });
    const poster = openPoster();
    const posting = poster.post(requestTo(receiver.url));
    await receiver.received(1);
    await poster.close();
    expect(await posting).toMatchObject({
      kind: 'failure',
      code: 'aborted',
      detail: expect.stringContaining('(closed)'),
    });
    await receiver.idle();
  });

  test('lets later posts send nothing', async () => {
    const receiver = await openReceiver();
    const poster = openPoster();
    await poster.close();
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ code: 'aborted' });
    expect(receiver.connectionCount).toBe(0);
  });
});

describe('a dispatcher of the host', () => {
  test('is asked, and stays open after close', async () => {
    const receiver = await openReceiver();
    const dispatcher = new Agent();
    onTestFinished(() => dispatcher.destroy());
    const poster = openPoster({ network: 'delegated', dispatcher });
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ status: 200 });
    await poster.close();
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ code: 'aborted' });
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.openConnectionCount).toBe(1);
    const after = await dispatcher.request({
      origin: new URL(receiver.url).origin,
      path: '/',
      method: 'POST',
      body: 'x',
    });
    expect(after.statusCode).toBe(200);
    await after.body.dump();
  });

  test.each([
    ['without end', endlessBody(), {}],
    ['of a byte more than the limit', respond({ body: 'four' }), { maxResponseBytes: 3 }],
  ])('gets a body %s cut off, and the status stands', async (_what, step, options) => {
    const receiver = await openReceiver({ script: [step] });
    const dispatcher = new Agent();
    onTestFinished(() => dispatcher.destroy());
    const poster = openPoster({ network: 'delegated', dispatcher, ...options });
    const result = await poster.post(requestTo(receiver.url));
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
  });

  test('that was destroyed fails the attempt as a fault of this side', async () => {
    const dispatcher = new Agent();
    await dispatcher.destroy();
    const poster = openPoster({ network: 'delegated', dispatcher });
    expect(await poster.post(requestTo('http://127.0.0.1:9/'))).toMatchObject({
      kind: 'failure',
      code: 'network',
      detail: expect.stringContaining('(UND_ERR_DESTROYED)'),
    });
  });

  test('that refuses to connect fails with its own error', async () => {
    const dispatcher = new MockAgent();
    dispatcher.disableNetConnect();
    onTestFinished(() => dispatcher.close());
    const poster = openPoster({ network: 'delegated', dispatcher });
    expect(await poster.post(requestTo('http://127.0.0.1:9/'))).toMatchObject({
      code: 'network',
      detail: expect.stringContaining('(UND_MOCK_ERR_MOCK_NOT_MATCHED)'),
    });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['no status', { headers: {}, body: new PassThrough() }],
    ['a status that is no number', { statusCode: '200', headers: {}, body: new PassThrough() }],
    ['no headers', { statusCode: 200, body: new PassThrough() }],
    ['headers that are null', { statusCode: 200, headers: null, body: new PassThrough() }],
    ['no body', { statusCode: 200, headers: {} }],
    ['a body that is null', { statusCode: 200, headers: {}, body: null }],
    ['a body of events alone', { statusCode: 200, headers: {}, body: new EventEmitter() }],
    ['a body of text', { statusCode: 200, headers: {}, body: 'ok' }],
  ])('that resolves with %s fails the attempt as a fault of this side', async (_what, response) => {
    const dispatcher = { request: async () => response } as unknown as Dispatcher;
    const poster = openPoster({ network: 'delegated', dispatcher });
    expect(await poster.post(requestTo('http://127.0.0.1:9/'))).toMatchObject({
      kind: 'failure',
      code: 'network',
      detail: expect.stringContaining('(ERR_INVALID_RETURN_VALUE)'),
    });
  });

  test('that answers after the attempt was over has its response discarded', async () => {
    const receiver = await openReceiver({ script: [dripBody(20)] });
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const deaf = Object.create(agent, {
      request: {
        value: async ({ signal: _ignored, ...options }: Dispatcher.RequestOptions) => {
          const response = await agent.request(options);
          await systemClock.sleep(40);
          return response;
        },
      },
    }) as Dispatcher;
    const poster = openPoster({
      network: 'delegated',
      dispatcher: deaf,
      deadlines: { totalMs: 30 },
    });
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ code: 'deadline' });
    await receiver.connected(1);
    await receiver.idle();
  });
});
