/** Every adapter, in its real host over real sockets, with what this library sends. */

import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createWebhookReceiver,
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
  type ReceiverOptions,
  type WebhookReceiver,
} from '../../src/receiver/index.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { sendWebhook } from '../../src/webhook/send-now.ts';
import { sign } from '../../src/webhook/signature.ts';
import { getRequestListener } from '../helpers/hono-server.ts';

const SECRET = 'secret-of-the-test';
const MAX_BODY_BYTES = 10_000;

async function listening(server: http.Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/security`;
}

const errors: unknown[] = [];

/** Express knows it by its four parameters. */
const collectError: express.ErrorRequestHandler = (error, _request, response, _next) => {
  errors.push(error);
  response.status(500).end();
};

function expressApp(receiver: WebhookReceiver, ...before: express.RequestHandler[]): http.Server {
  const app = express();
  for (const handler of before) app.use(handler);
  app.post('/hooks/security', expressHandler(receiver));
  app.use(collectError);
  return http.createServer(app);
}

const KEEPING = express.json({
  verify: (request, _response, bytes) => {
    Object.assign(request, { rawBody: bytes });
  },
});

const HOSTS: Readonly<Record<string, (receiver: WebhookReceiver) => Promise<string>>> = {
  'node:http': (receiver) => listening(http.createServer(nodeHandler(receiver))),
  express: (receiver) => listening(expressApp(receiver)),
  'express behind a parser that keeps the bytes': (receiver) =>
    listening(expressApp(receiver, KEEPING)),
  'express behind express.raw': (receiver) =>
    listening(expressApp(receiver, express.raw({ type: () => true }))),
  fastify: async (receiver) => {
    const app = fastify();
    await app.register(fastifyPlugin(receiver), { prefix: '/hooks', path: '/security' });
    app.post('/other', async ({ body }) => body);
    onTestFinished(() => app.close());
    return `${await app.listen({ host: '127.0.0.1', port: 0 })}/hooks/security`;
  },
  hono: (receiver) => {
    const app = new Hono();
    const handle = fetchHandler(receiver);
    app.all('/hooks/security', (context) => handle(context.req.raw));
    return listening(http.createServer(getRequestListener(app.fetch)));
  },
};

function receiverOf(options: Partial<ReceiverOptions> = {}) {
  const handled: (string | null)[] = [];
  const receiver = createWebhookReceiver({
    secret: SECRET,
    maxBodyBytes: MAX_BODY_BYTES,
    onMessages: (messages) => void handled.push(...messages.map(({ id }) => id)),
    ...options,
  });
  return { receiver, handled };
}

const send = (url: string, secret = SECRET) =>
  sendWebhook(
    { url, secret },
    [
      { ...sampleMessageToSend('security_event'), message_id: 'a' },
      { ...sampleMessageToSend('account_takeover'), message_id: 'b' },
    ],
    { network: 'delegated', schedule: { delaysMs: [] } },
  );

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-svc-integrity': sign(body, SECRET),
      ...headers,
    },
  });

describe.each(Object.entries(HOSTS))('%s', (_host, start) => {
  test('takes what this library sends, once', async () => {
    const { receiver, handled } = receiverOf();
    const url = await start(receiver);
    expect(await send(url)).toMatchObject({ ok: true, requests: [{ status: 204 }] });
    expect(await send(url)).toMatchObject({ ok: true });
    await receiver.idle();
    expect(handled).toEqual(['a', 'b']);
  });

  test('waits for the handler where it is to answer afterwards', async () => {
    const { receiver, handled } = receiverOf({ answer: 'handled' });
    const url = await start(receiver);
    await send(url);
    expect(handled).toEqual(['a', 'b']);
  });

  test('refuses what another secret has signed', async () => {
    const { receiver, handled } = receiverOf();
    const report = await send(await start(receiver), 'another');
    expect(report).toMatchObject({ ok: false, requests: [{ status: 401 }] });
    expect(handled).toEqual([]);
  });

  test('refuses other types, and bodies above the limit, announced or not', async () => {
    const { receiver } = receiverOf();
    const url = await start(receiver);
    const other = await post(url, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' });
    expect([other.status, await other.text()]).toEqual([415, 'content-type\n']);
    const large = JSON.stringify(['x'.repeat(2 * MAX_BODY_BYTES)]);
    expect((await post(url, large)).status).toBe(413);
    const streamed = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(large));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json' };
    const options = { method: 'POST', body: streamed, headers, duplex: 'half' } as RequestInit;
    expect((await fetch(url, options)).status).toBe(413);
  });

  test('lives on when a sender goes away in the middle', async () => {
    const refusals: string[] = [];
    const told: unknown[] = [];
    const { receiver } = receiverOf({
      onRefused: ({ reason }) => refusals.push(reason),
      onError: (error) => told.push(error),
    });
    const url = await start(receiver);
    const { port, pathname } = new URL(url);
    const socket = net.connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    const head = `POST ${pathname} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`;
    socket.write(`${head}content-length: 100\r\n\r\n[{`);
    // Its bytes are there before the next request is answered.
    expect((await send(url)).ok).toBe(true);
    socket.resetAndDestroy();
    await once(socket, 'close');
    expect((await send(url)).ok).toBe(true);
    // A parser in front of it hears of that first.
    expect(refusals.filter((reason) => reason !== 'incomplete')).toEqual([]);
    expect(told).toEqual([]);
  });
});

test('behind a parser that keeps no bytes, Express says how to keep them', async () => {
  const told: unknown[] = [];
  const { receiver } = receiverOf({ onError: (error) => told.push(error) });
  errors.length = 0;
  const report = await send(await listening(expressApp(receiver, express.json())));
  expect(report).toMatchObject({ ok: false, requests: [{ status: 500 }] });
  const expected = expect.objectContaining({
    code: 'ERR_RAW_BODY_GONE',
    hint: expect.stringContaining('express.json({ verify'),
  });
  expect([errors, told]).toEqual([[expected], [expected]]);
});

test('a listener of node:http whose body somebody read answers 500 and tells', async () => {
  const told: unknown[] = [];
  const { receiver } = receiverOf({ onError: (error) => told.push(error) });
  const handle = nodeHandler(receiver);
  const url = await listening(
    http.createServer((request, response) => {
      request.once('end', () => handle(request, response)).resume();
    }),
  );
  expect(await send(url)).toMatchObject({ ok: false, requests: [{ status: 500 }] });
  expect(told).toMatchObject([{ code: 'ERR_RAW_BODY_GONE' }]);
});

test.each([
  ['was read', (request: Request) => request.text()],
  ['is being read', (request: Request) => request.body?.getReader()],
])('a Request whose body %s is refused with an error that says so', async (_how, read) => {
  const { receiver } = receiverOf();
  const body = '[]';
  const headers = { 'content-type': 'application/json', 'x-svc-integrity': sign(body, SECRET) };
  const request = new Request('http://a/', { method: 'POST', body, headers });
  await read(request);
  await expect(fetchHandler(receiver)(request)).rejects.toMatchObject({
    code: 'ERR_RAW_BODY_GONE',
  });
});

test('a Request without a body is answered, too', async () => {
  const { receiver } = receiverOf();
  const headers = { 'content-type': 'application/json', 'x-svc-integrity': sign('', SECRET) };
  const answer = await fetchHandler(receiver)(
    new Request('http://a/', { method: 'POST', headers }),
  );
  expect([answer.status, await answer.text()]).toEqual([400, 'body-invalid\n']);
});

test('a platform is told to wait until the messages are handled', async () => {
  const { receiver, handled } = receiverOf();
  const works: Promise<unknown>[] = [];
  const handle = fetchHandler(receiver, { waitUntil: (work) => works.push(work) });
  const url = await listening(http.createServer(getRequestListener(handle)));
  expect((await send(url)).ok).toBe(true);
  expect(works).toHaveLength(1);
  await works[0];
  expect(handled).toEqual(['a', 'b']);
});

test('other routes of Fastify keep their parsers', async () => {
  const url = await HOSTS['fastify']?.(receiverOf().receiver);
  const answer = await post(new URL('/other', url).href, '{"a":1}');
  expect(await answer.json()).toEqual({ a: 1 });
});

test('a request over HTTP/2 is taken', async () => {
  const { receiver, handled } = receiverOf();
  const server = http2.createServer(nodeHandler(receiver));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const ask = async (body: string): Promise<number> => {
    const stream = client.request({
      ':method': 'POST',
      'content-type': 'application/json',
      'x-svc-integrity': sign(body, SECRET),
    });
    stream.end(body);
    const [head] = (await once(stream, 'response')) as [Record<string, number>];
    stream.resume();
    return head[':status'] as number;
  };
  const { message_id: _, ...rest } = sampleMessageToSend('test');
  const envelope = { message_id: 'a', api_version: '2', date_created: '2026-11-21T10:00:00Z' };
  const element = { ...envelope, message_type: 'test', retry_count: 0, message: rest.message };
  expect(await ask(JSON.stringify([element]))).toBe(204);
  expect(await ask(JSON.stringify('x'.repeat(2 * MAX_BODY_BYTES)))).toBe(413);
  await receiver.idle();
  expect(handled).toEqual(['a']);
});
