/** Web frameworks as hosts, and a client that sends requests to them. */

import { once } from 'node:events';
import http, {
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { connect, constants, type IncomingHttpHeaders as Http2Headers } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { createRequire } from 'node:module';
import type { AddressInfo, Server } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { onTestFinished } from 'vitest';
import {
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
  type WebhookReceiver,
} from '../../src/receiver/index.ts';
import { listenOn } from './servers.ts';

// `@hono/node-server` is loaded untyped: its types need browser types, which this project does not include.

type Fetch = (request: Request, bindings: never) => Response | Promise<Response>;

interface NodeServer {
  readonly getRequestListener: (fetch: Fetch) => RequestListener;
}

/** The `c.env` of handlers. */
export interface NodeBindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

const require = createRequire(import.meta.url);

export const { getRequestListener } = require('@hono/node-server') as NodeServer;

// A client that sends requests over real sockets.

/** `http2` is without TLS. */
export type HostProtocol = 'http' | 'https' | 'http2';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Closes the connection. */
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders | Http2Headers;
  readonly body: string;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

export const originOf = (server: Server, protocol: HostProtocol): string =>
  `${protocol === 'https' ? 'https' : 'http'}://127.0.0.1:${portOf(server)}`;

/** Without a limit a host that never answers would hold each of its tests for two minutes. */
const ANSWER_MS = 15_000;

/** Sends a request on a new connection. Rejects if the response is cut off, or does not come. */
export function ask(origin: string, path: string, protocol: HostProtocol, asked: Asked = {}) {
  const answer =
    protocol === 'http2' ? askHttp2(origin, path, asked) : askHttp1(origin, path, asked);
  return inTime(answer, `${asked.method ?? 'GET'} ${path}`);
}

async function inTime<T>(answer: Promise<T>, request: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`${request}: no answer within ${ANSWER_MS} ms`);
    timer = setTimeout(reject, ANSWER_MS, error);
  });
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

async function askHttp1(origin: string, path: string, asked: Asked): Promise<Answer> {
  const { method = 'GET', headers = {}, body, ...rest } = asked;
  const options = { method, headers, agent: false, rejectUnauthorized: false, ...rest };
  const url = new URL(origin);
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)({
    ...options,
    host: url.hostname,
    port: url.port,
    path,
  });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const { statusCode = 0 } = response;
  return { status: statusCode, headers: response.headers, body: await text(response) };
}

async function askHttp2(origin: string, path: string, asked: Asked): Promise<Answer> {
  const { method = 'GET', headers = {}, body, ...rest } = asked;
  const session = connect(origin);
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers }, rest);
    stream.end(body);
    const [head] = (await once(stream, 'response')) as [Http2Headers & { ':status': number }];
    const received = await text(stream);
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) throw new Error('The response was cut off.');
    return { status: head[':status'], headers: head, body: received };
  } finally {
    session.destroy();
  }
}

// The hosts that a webhook receiver has an adapter for. Each listens on its own port until the test ends.

/** Starts a server and returns the receiver's URL. */
export const listening = async (server: http.Server): Promise<string> =>
  `http://127.0.0.1:${await listenOn(server)}/hooks/security`;

/** Typed as express 5: the parts that are used here have the same types. */
export const express4 = require('express4') as typeof express;

interface ExpressParts {
  /** Default: the newest express. */
  readonly framework?: typeof express;
  /** Middleware before the receiver. */
  readonly before?: express.RequestHandler;
  /** Error handler after the receiver. */
  readonly onError?: express.ErrorRequestHandler;
}

export function expressApp(
  receiver: WebhookReceiver,
  { framework = express, ...handlers }: ExpressParts = {},
): http.Server {
  const app = framework();
  if (handlers.before !== undefined) app.use(handlers.before);
  app.post('/hooks/security', expressHandler(receiver));
  if (handlers.onError !== undefined) app.use(handlers.onError);
  return http.createServer(app);
}

const KEEPING_RAW_BODY = express.json({
  verify: (request, _response, bytes) => {
    Object.assign(request, { rawBody: bytes });
  },
});

type Post = (request: Request, context: { params: Promise<unknown> }) => Promise<Response>;

/** Serves a route handler with the Fetch API's Request and Response, like framework servers. */
function servingRoute(route: { readonly POST: Post }): http.RequestListener {
  const serve = async (incoming: http.IncomingMessage): Promise<Response> => {
    const { method = 'GET', url = '/' } = incoming;
    const body = Readable.toWeb(incoming) as ReadableStream;
    const headers = incoming.headers as Record<string, string>;
    const init = { method, headers, body, duplex: 'half' } as RequestInit;
    const request = new Request(new URL(url, 'http://127.0.0.1'), init);
    return await route.POST(request, { params: Promise.resolve({}) });
  };
  return (incoming, outgoing) => {
    const answering = serve(incoming).then(async (answer) => {
      outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
      outgoing.end(Buffer.from(await answer.arrayBuffer()));
    });
    answering.catch(() => outgoing.destroy());
  };
}

type StartHost = (receiver: WebhookReceiver) => Promise<string>;

/** Hosts that pass the body on unread. */
export const HOSTS: Readonly<Record<string, StartHost>> = {
  'node:http': (receiver) => listening(http.createServer(nodeHandler(receiver))),
  express: (receiver) => listening(expressApp(receiver)),
  'express 4': (receiver) => listening(expressApp(receiver, { framework: express4 })),
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
  'a route of a framework such as Next': (receiver) =>
    listening(http.createServer(servingRoute({ POST: fetchHandler(receiver) }))),
};

/** Hosts whose body parser has already read the body. */
export const HOSTS_BEHIND_PARSERS: Readonly<Record<string, StartHost>> = {
  'express behind a parser that keeps the bytes': (receiver) =>
    listening(expressApp(receiver, { before: KEEPING_RAW_BODY })),
  'express behind express.raw': (receiver) =>
    listening(expressApp(receiver, { before: express.raw({ type: () => true }) })),
  'express 4 behind its own raw': (receiver) => {
    const before = express4.raw({ type: () => true });
    return listening(expressApp(receiver, { framework: express4, before }));
  },
};
