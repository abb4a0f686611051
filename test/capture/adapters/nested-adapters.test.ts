/** Nested adapters: they share the state of their request. */
import { AsyncResource } from 'node:async_hooks';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { trace } from '@opentelemetry/api';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import * as expressAdapter from '../../../src/capture/adapters/express.ts';
import * as fastifyAdapter from '../../../src/capture/adapters/fastify.ts';
import * as honoAdapter from '../../../src/capture/adapters/hono.ts';
import * as nodeAdapter from '../../../src/capture/adapters/node-http.ts';
import {
  blockRequest,
  type CaptureOptions,
  currentContext,
  identify,
} from '../../../src/capture/index.ts';
import { type Answer, ask, getRequestListener } from '../../helpers/hosts.ts';
import { deferred } from '../../helpers/promises.ts';
import { listenOn } from '../../helpers/servers.ts';
import { startTracer } from './host-laws/traces.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;
type Serve = () => unknown;

const INNER: CaptureOptions = { trustedProxies: 'loopback', blockedStatus: 451 };

/** A host's listener with `count` adapters, which answers with the result of `serve` as JSON. */
const HOSTS: Readonly<Record<string, (serve: Serve, times: number) => Promise<Listener>>> = {
  'node:http': async (serve, times) => {
    const own: Listener = (_request, response) => response.end(JSON.stringify(serve()));
    let listener = own;
    for (let left = times; left > 0; left -= 1) {
      listener = nodeAdapter.captureRequests(listener, INNER);
    }
    return listener;
  },
  express: async (serve, times) => {
    const app = express();
    for (let left = times; left > 0; left -= 1) app.use(expressAdapter.captureRequests(INNER));
    app.get('/', (_request, response) => void response.json(serve()));
    return app.use(expressAdapter.answerBlocked());
  },
  fastify: async (serve, times) => {
    let route: Listener | undefined;
    const app = Fastify({
      serverFactory: (handler) => {
        route = handler;
        return createServer(handler);
      },
    });
    for (let left = times; left > 0; left -= 1) app.register(fastifyAdapter.captureRequests, INNER);
    app.get('/', async (_request, reply) => await reply.send(JSON.stringify(serve())));
    await app.ready();
    return route as unknown as Listener;
  },
  hono: async (serve, times) => {
    const app = new Hono();
    for (let left = times; left > 0; left -= 1) app.use(honoAdapter.captureRequests(INNER));
    app.get('/', (c) => c.json(serve()));
    return getRequestListener(app.fetch);
  },
};

async function answerOf(listener: Listener): Promise<Answer> {
  const port = await listenOn(createServer((...given) => void listener(...given)));
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  return await ask(`http://127.0.0.1:${port}`, '/', 'http', { headers });
}

const identifiers = (): unknown => currentContext().actor?.identifiers;

/** The answer of an adapter within one of node:http without trusted proxies, in whose scope `look` runs at both ends. */
async function answerWithin(inner: Listener, look: () => void): Promise<Answer> {
  const ended = deferred();
  const answer = await answerOf(
    nodeAdapter.captureRequests((request: IncomingMessage, response: ServerResponse) => {
      look();
      const end = (): void => {
        look();
        ended.resolve();
      };
      response.once('close', AsyncResource.bind(end));
      return inner(request, response);
    }),
  );
  await ended.promise;
  return answer;
}

const traced =
  (listener: Listener): Listener =>
  (...given) =>
    trace.getTracer('a test').startActiveSpan('GET', (span) => {
      given[1].once('close', () => span.end());
      return listener(...given);
    });

describe.each(Object.entries(HOSTS))('an adapter of %s', (_name, host) => {
  test('within one of node:http shares the user and the response, and has its own options', async () => {
    const seen: unknown[] = [];
    const inner = await host(() => {
      const { actor } = currentContext();
      identify({ uid: 8 });
      return [actor?.identifiers, actor?.ip.address];
    }, 1);
    const { body } = await answerWithin(inner, () => {
      const { actor, http } = currentContext();
      seen.push([actor?.identifiers, actor?.ip.address, http?.response]);
      if (seen.length === 1) identify({ uid: 7 });
    });
    expect(JSON.parse(body)).toEqual([{ uid: 7 }, '203.0.113.9']);
    expect(seen).toEqual([
      [null, '127.0.0.1', { blocked: false }],
      [{ uid: 8 }, '127.0.0.1', { blocked: false, status: 200 }],
    ]);
  });

  test('within one of node:http shares a block with it', async () => {
    const seen: unknown[] = [];
    const answer = await answerWithin(await host(() => blockRequest(), 1), () =>
      seen.push(currentContext().http?.response),
    );
    expect(answer).toMatchObject({ status: 451, body: 'Unavailable For Legal Reasons' });
    expect(seen).toEqual([{ blocked: false }, { blocked: true, status: 451 }]);
  });

  test('used twice answers a block once, and shows it once on its span', async () => {
    const exporter = startTracer();
    const { status } = await answerOf(traced(await host(() => blockRequest(), 2)));
    await expect.poll(() => exporter.getFinishedSpans()).toHaveLength(1);
    const events = exporter.getFinishedSpans()[0]?.events ?? [];
    expect([status, events.map(({ name }) => name)]).toEqual([451, ['exception']]);
  });
});

function serveThoughBlocked(): string {
  try {
    return blockRequest();
  } catch {
    return 'served';
  }
}

describe.each(['fastify', 'hono'])('a block that an application of %s caught', (name) => {
  test('is answered once, with its own status, and is once on its span', async () => {
    const exporter = startTracer();
    const listener = await HOSTS[name]?.(serveThoughBlocked, 2);
    const { status } = await answerOf(traced(listener as Listener));
    await expect.poll(() => exporter.getFinishedSpans()).toHaveLength(1);
    const events = exporter.getFinishedSpans()[0]?.events ?? [];
    expect([status, events.map((event) => event.attributes?.['exception.stacktrace'])]).toEqual([
      451,
      [expect.stringContaining('serveThoughBlocked')],
    ]);
  });
});

describe('another request of the same process', () => {
  test('does not have the user of the one that makes it', async () => {
    const app = new Hono().use(honoAdapter.captureRequests());
    app.get('/', (c) => c.json(identifiers() ?? 'none'));
    const listener = nodeAdapter.captureRequests(
      async (_request: IncomingMessage, response: ServerResponse) => {
        identify({ uid: 7 });
        const inner = await app.request('/');
        response.end(`${await inner.text()} ${JSON.stringify(identifiers())}`);
      },
    );
    expect((await answerOf(listener)).body).toBe('"none" {"uid":7}');
  });
});

describe('the middleware of Express, used a second time', () => {
  test('restores the scope that a parser lost', async () => {
    const capture = expressAdapter.captureRequests(INNER);
    const app = express().use(capture);
    const outside = AsyncResource.bind((next: () => void) => next());
    app.use((_request, _response, next) => {
      identify({ uid: 7 });
      outside(next);
    });
    app.get('/', (_request, _response, next) => {
      expect(identifiers()).toBeUndefined();
      next();
    });
    app.get('/', capture, (_request, response) => void response.json(identifiers()));
    expect(JSON.parse((await answerOf(app)).body)).toEqual({ uid: 7 });
  });
});
