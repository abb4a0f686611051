import { EventEmitter, getEventListeners, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { Dispatcher } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';
import type { Poster, PosterOptions } from '../../../src/webhook/http/client.ts';
import type { FailureCode } from '../../../src/webhook/outcome.ts';
import { clockStartingAfter } from '../../helpers/clocks.ts';
import { responseHeaders } from '../../helpers/http.ts';
import {
  hostDispatcher,
  openReceiver,
  openPoster as openSystemPoster,
  requestTo,
} from '../../helpers/poster.ts';
import {
  dripBody,
  end,
  endlessBody,
  hang,
  interimFlood,
  raw,
  redirect,
  reset,
  respond,
  type Step,
} from '../../helpers/receiver.ts';

/** Far longer than attempts that must end for another reason than a deadline. */
const LONG = { connectMs: 60_000, headersMs: 60_000, totalMs: 60_000 };
/** Below the default deadlines, and reached on no machine by an attempt that ends for another reason. */
const SOON_MS = 10_000;

const ANY_MS: unknown = expect.any(Number);

const openPoster = (options: Partial<PosterOptions> = {}): Poster =>
  openSystemPoster({ deadlines: LONG, ...options });

function chunked(bytes: number): Step {
  const body = `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\n\r\n`;
  return raw(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
}

function warnings(): Error[] {
  const collected: Error[] = [];
  const collect = (warning: Error): void => void collected.push(warning);
  process.on('warning', collect);
  onTestFinished(() => void process.off('warning', collect));
  return collected;
}

/** Answers a request in a thread of its own. `step` is 1 when the request is there, and 2 when the response is sent. */
const ANSWER = `
  const { createServer } = require('node:http');
  const { parentPort, workerData: step } = require('node:worker_threads');
  const tell = (value) => {
    Atomics.store(step, 0, value);
    Atomics.notify(step, 0);
  };
  const server = createServer((request, response) => {
    tell(1);
    setTimeout(() => response.writeHead(204).end(() => tell(2)), 50);
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

test('a response that came while the process was paused beyond the deadline is read', async () => {
  const step = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(ANSWER, { eval: true, workerData: step });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = (await once(worker, 'message')) as [number];
  const deadlines = { connectMs: SOON_MS, headersMs: 2000, totalMs: 2000 };
  const posted = openPoster({ deadlines }).post(requestTo(`http://127.0.0.1:${port}/`));
  // An attempt that fails early ends the loop, too.
  void posted.finally(() => Atomics.compareExchange(step, 0, 0, 3));
  while (Atomics.load(step, 0) === 0) await nextTurn();
  // This thread stands still until the response is there, and the deadline is over.
  Atomics.wait(step, 0, 1, SOON_MS);
  Atomics.wait(step, 0, 2, 2100);
  expect(await posted).toMatchObject({ kind: 'response', status: 204 });
});

describe('a request', () => {
  test.each([
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x00, 0x0d, 0x0a, 0x0d, 0x0a])],
    ['a megabyte', Buffer.alloc(1_048_576, 'ä')],
  ])('sends the exact bytes and Content-Length for %s', async (_what, body) => {
    const receiver = await openReceiver();
    const result = await openPoster().post(requestTo(receiver.url, { body }));
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    const [request] = receiver.requests;
    expect(request?.body.equals(body)).toBe(true);
    expect(request?.headers['content-length']).toBe(String(body.length));
  });

  test('is one POST with the given headers, without Accept-Encoding', async () => {
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
});

describe('a response', () => {
  test.each([
    ['204', respond({ status: 204 }), 204],
    ['an unknown status', respond({ status: 799 }), 799],
    ['a body until the end of the connection', end('HTTP/1.1 200 OK\r\n\r\nbye'), 200],
    [
      '103 before the final one',
      raw('HTTP/1.1 103 E\r\n\r\nHTTP/1.1 201 C\r\ncontent-length: 0\r\n\r\n'),
      201,
    ],
  ])('with %s results in its status', async (_what, step, status) => {
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
    ['a date', { 'Retry-After': 'Fri, 31 Dec 2027 23:59:59 GMT' }, 'Fri, 31 Dec 2027 23:59:59 GMT'],
    ['two values', { 'retry-after': '5\r\nretry-after: 7' }, '5'],
  ])('returns Retry-After as received: %s', async (_what, headers, retryAfter) => {
    const receiver = await openReceiver({ script: [respond({ status: 503, headers })] });
    const result = await openPoster().post(requestTo(receiver.url));
    expect(result).toMatchObject({ kind: 'response', status: 503, retryAfter });
  });

  test.each([303, 307] as const)('of %d is not followed', async (status) => {
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
    ['of just the limit keeps the connection open', {}, respond({ body: Buffer.alloc(8192) }), 1],
    ['of one byte more ends the connection', {}, respond({ body: Buffer.alloc(8193) }), 0],
    ['in chunks, of exactly the limit, leaves the connection open', {}, chunked(8192), 1],
    ['in chunks, of one byte more, ends the connection', {}, chunked(8193), 0],
    ['of one byte exceeds the limit 0', { maxResponseBytes: 0 }, respond({ body: 'x' }), 0],
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
    ['hangs while the caller aborts', raw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n')],
  ])('that %s does not change the status', async (_what, step) => {
    const receiver = await openReceiver({ script: [step] });
    const caller = new AbortController();
    void responseHeaders(1)
      .then(() => systemClock.sleep(50))
      .then(() => caller.abort());
    const result = await openPoster({ signal: caller.signal }).post(requestTo(receiver.url));
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
    await receiver.idle();
  });
});

describe('a failure', () => {
  const STEPS: readonly (readonly [string, Step, headersMs: number, FailureCode, string])[] = [
    ['trickles 1xx', interimFlood(10), 50, 'headers-timeout', '50 ms'],
    ['resets before the headers', reset(), 10_000, 'connection-reset', 'ECONNRESET'],
    ['ends before the headers', end(), 10_000, 'connection-reset', 'UND_ERR_SOCKET'],
    ['sends garbage', raw('SSH-2.0-OpenSSH_9.6\r\n'), 10_000, 'protocol', 'HTTPParserError'],
  ];

  test.each(STEPS)('of a receiver that %s', async (_what, step, headersMs, code, mark) => {
    const receiver = await openReceiver({ script: [step] });
    const clock = clockStartingAfter(() => receiver.received(1));
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
    'occurs after more than 32 informational responses, not after 32: %d',
    async (count, expected) => {
      const interim = 'HTTP/1.1 103 Early\r\n\r\n'.repeat(count);
      const final = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
      const receiver = await openReceiver({ script: [raw(interim + final)] });
      expect(await openPoster().post(requestTo(receiver.url))).toMatchObject(expected);
    },
  );

  test.each([
    ['another scheme', requestTo('ftp://127.0.0.1/'), /\(UND_ERR_INVALID_ARG\)/],
    [
      'a wrong Content-Length',
      requestTo('http://127.0.0.1:9/', { headers: { 'content-length': '3' } }),
      /\((UND_ERR_REQ_CONTENT_LENGTH_MISMATCH|ECONNREFUSED)\)/,
    ],
  ])('is a result and not an exception for %s', async (_what, request, mark) => {
    expect(await openPoster().post(request)).toMatchObject({
      kind: 'failure',
      detail: expect.stringMatching(mark),
    });
  });

  test('never contains the URL, the headers, the body or received bytes', async () => {
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

describe("the caller's signal", () => {
  test('prevents the connection if it is aborted right after the call', async () => {
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

  test.each([
    ['during the wait for the response', 'http', 'received'],
    ['while connecting', 'https', 'connected'],
  ] as const)(
    'ends the attempt and its connection if it is aborted %s',
    async (_when, scheme, event) => {
      const receiver = await openReceiver({ script: [hang()] });
      const caller = new AbortController();
      const poster = openPoster({ signal: caller.signal });
      const posting = poster.post(requestTo(receiver.url.replace('http', scheme)));
      await receiver[event](1);
      caller.abort();
      const result = await posting;
      expect(result).toMatchObject({ kind: 'failure', code: 'aborted' });
      expect(result.timings.totalMs).toBeLessThan(SOON_MS);
      await receiver.idle();
    },
  );

  test('has one listener and causes no warning when 100 posts share it', async () => {
    const collected = warnings();
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
    expect(collected).toEqual([]);
  });
});

describe('close', () => {
  test('ends idle connections, and can be called repeatedly', async () => {
    const headers = { connection: 'keep-alive', 'keep-alive': 'timeout=600' };
    const receiver = await openReceiver({ script: [respond({ headers })] });
    const poster = openPoster();
    await poster.post(requestTo(receiver.url));
    expect(receiver.openConnectionCount).toBe(1);
    const closedAt = performance.now();
    await Promise.all([poster.close(), poster.close()]);
    await poster.close();
    await receiver.idle();
    // Otherwise the idle connection would end after a minute.
    expect(performance.now() - closedAt).toBeLessThan(20_000);
  });

  test('aborts the attempts in flight', async () => {
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
});

const posterOf = (dispatcher: Dispatcher, options: Partial<PosterOptions> = {}): Poster =>
  openPoster({ network: 'delegated', dispatcher, ...options });

describe('a dispatcher of the host', () => {
  test('is used, and stays open after close', async () => {
    const receiver = await openReceiver();
    const dispatcher = hostDispatcher();
    const poster = posterOf(dispatcher);
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
  ])('discards a body %s and keeps the status', async (_what, step, options) => {
    const receiver = await openReceiver({ script: [step] });
    const dispatcher = hostDispatcher();
    const poster = posterOf(dispatcher, options);
    const result = await poster.post(requestTo(receiver.url));
    expect(result).toMatchObject({ kind: 'response', status: 200 });
    expect(result.timings.totalMs).toBeLessThan(SOON_MS);
  });

  test('fails the attempt with the code network if it was destroyed', async () => {
    const dispatcher = hostDispatcher();
    await dispatcher.destroy();
    const request = requestTo('http://127.0.0.1:9/');
    expect(await posterOf(dispatcher).post(request)).toMatchObject({
      kind: 'failure',
      code: 'network',
      detail: expect.stringContaining('(UND_ERR_DESTROYED)'),
    });
  });

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a status that is not a number', { statusCode: '200', headers: {}, body: new PassThrough() }],
    ['no body', { statusCode: 200, headers: {} }],
    ['a body that only emits events', { statusCode: 200, headers: {}, body: new EventEmitter() }],
  ])('that resolves with %s fails the attempt with the code network', async (_what, response) => {
    const dispatcher = { request: async () => response } as unknown as Dispatcher;
    const request = requestTo('http://127.0.0.1:9/');
    expect(await posterOf(dispatcher).post(request)).toMatchObject({
      kind: 'failure',
      code: 'network',
      detail: expect.stringContaining('(ERR_INVALID_RETURN_VALUE)'),
    });
  });

  test('has its response discarded if it arrives after the attempt', async () => {
    const receiver = await openReceiver({ script: [dripBody(20)] });
    const agent = hostDispatcher();
    const ignoringSignal = Object.create(agent, {
      request: {
        value: async ({ signal: _ignored, ...options }: Dispatcher.RequestOptions) => {
          const response = await agent.request(options);
          await systemClock.sleep(40);
          return response;
        },
      },
    }) as Dispatcher;
    const poster = posterOf(ignoringSignal, { deadlines: { totalMs: 30 } });
    expect(await poster.post(requestTo(receiver.url))).toMatchObject({ code: 'deadline' });
    await receiver.connected(1);
    await receiver.idle();
  });
});
