/** Every adapter in its real host, over real sockets, with requests of this library. */

import { once } from 'node:events';
import http from 'node:http';
import express from 'express';
import { describe, expect, test } from 'vitest';
import { sendWebhook } from '../../src/delivery/send-webhook.ts';
import {
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
} from '../../src/receiver/index.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { express4, expressApp, HOSTS, HOSTS_BEHIND_PARSERS, listening } from '../helpers/hosts.ts';
import { bareSender, receiverOf, SECRET, signedHeaders, signedInit } from './receivers.ts';

const MAX_BODY_BYTES = 10_000;

const send = (url: string) =>
  sendWebhook(
    { url, secret: SECRET },
    [
      { ...sampleMessageToSend('security_event'), message_id: 'a' },
      { ...sampleMessageToSend('account_takeover'), message_id: 'b' },
    ],
    { network: 'delegated', schedule: { delaysMs: [] } },
  );

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url, { ...signedInit(body), headers: { ...signedHeaders(body), ...headers } });

describe.each(Object.entries({ ...HOSTS, ...HOSTS_BEHIND_PARSERS }))('%s', (_host, start) => {
  test('accepts what this library sends, once', async () => {
    const { receiver, handled } = receiverOf({ answer: 'received' });
    const url = await start(receiver);
    expect(await send(url)).toMatchObject({ ok: true, requests: [{ status: 204 }] });
    expect(await send(url)).toMatchObject({ ok: true });
    await receiver.idle();
    expect(handled).toEqual(['a', 'b']);
  });

  test('refuses other content types, and bodies above the limit, with and without length', async () => {
    const { receiver } = receiverOf({ maxBodyBytes: MAX_BODY_BYTES });
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
    const options = { ...signedInit(large), body: streamed, duplex: 'half' } as RequestInit;
    expect((await fetch(url, options)).status).toBe(413);
  });

  test('survives a sender that goes away during its body', async () => {
    const { receiver, reasons, errors } = receiverOf();
    const url = await start(receiver);
    const { socket, begin } = await bareSender(url);
    begin({ ...signedHeaders(''), 'content-length': 100 }, '[{');
    // The bytes have arrived when the next request is answered.
    expect((await send(url)).ok).toBe(true);
    socket.resetAndDestroy();
    await once(socket, 'close');
    expect((await send(url)).ok).toBe(true);
    // A body parser before the adapter gets the error first.
    expect(reasons().filter((reason) => reason !== 'incomplete')).toEqual([]);
    expect(errors).toEqual([]);
  });
});

test.each([
  ['5', express],
  ['4', express4],
])(
  'behind a parser that keeps no bytes, Express %s says how to keep them',
  async (_line, framework) => {
    const errors: unknown[] = [];
    const { receiver, errors: reported } = receiverOf();
    // Express knows it by its four parameters.
    const onError: express.ErrorRequestHandler = (error, _request, response, _next) => {
      errors.push(error);
      response.status(500).end();
    };
    const app = expressApp(receiver, { framework, before: framework.json(), onError });
    const report = await send(await listening(app));
    expect(report).toMatchObject({ ok: false, requests: [{ status: 500 }] });
    const expected = expect.objectContaining({
      code: 'ERR_RAW_BODY_GONE',
      hint: expect.stringMatching(/express\.json\(\{ limit: '2mb', verify: .* 100 KB /),
    });
    expect([errors, reported]).toEqual([[expected], [expected]]);
  },
);

test('expressHandler calls next with an error for a reply of Fastify', async () => {
  const { receiver, handled } = receiverOf();
  const reply = { raw: {}, hijack: () => {} } as never;
  const given = await new Promise((next) => {
    expressHandler(receiver)({ headers: {}, rawBody: '[]' } as never, reply, next);
  });
  expect(given).toMatchObject({ code: 'ERR_INVALID_OPTION', path: ['response'] });
  expect(handled).toEqual([]);
});

test('nodeHandler answers 500 and reports a body that was read before', async () => {
  const { receiver, errors } = receiverOf();
  const handle = nodeHandler(receiver);
  const url = await listening(
    http.createServer((request, response) => {
      request.once('end', () => handle(request, response)).resume();
    }),
  );
  expect(await send(url)).toMatchObject({ ok: false, requests: [{ status: 500 }] });
  expect(errors).toMatchObject([{ code: 'ERR_RAW_BODY_GONE' }]);
});

test('nodeHandler takes the bytes that the host has kept', async () => {
  const { receiver, handled } = receiverOf();
  const handle = nodeHandler(receiver);
  const server = http.createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const rawBody = Buffer.concat(chunks);
      handle(Object.assign(request, { rawBody, body: JSON.parse(rawBody.toString()) }), response);
    });
  });
  expect(await send(await listening(server))).toMatchObject({ ok: true });
  expect(handled).toEqual(['a', 'b']);
});

test('other routes of Fastify keep their parsers', async () => {
  const url = await HOSTS['fastify']?.(receiverOf().receiver);
  const answer = await post(new URL('/other', url).href, '{"a":1}');
  expect(await answer.json()).toEqual({ a: 1 });
});

test.each([
  ['nodeHandler', nodeHandler],
  ['expressHandler', expressHandler],
  ['fastifyPlugin', fastifyPlugin],
  ['fetchHandler', fetchHandler],
])('%s refuses an argument that is no receiver', (_name, adapter) => {
  const options = { secret: SECRET, onMessages: () => {} };
  for (const given of [options, undefined, null, 'a secret']) {
    expect(() => adapter(given as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['receiver'] }),
    );
  }
});
