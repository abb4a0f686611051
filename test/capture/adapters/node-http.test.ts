import { AsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as startRequest,
} from 'node:http';
import {
  connect,
  createServer as createHttp2Server,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { Server } from 'node:net';
import { parse as parseForm } from 'node:querystring';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { NodeResponse } from '../../../src/capture/adapters/blocked-response.ts';
import { captureRequests } from '../../../src/capture/adapters/node-http.ts';
import { currentContext, type HttpRequest } from '../../../src/capture/index.ts';
import { createCertificate } from '../../../src/testing/certificate.ts';
import type { HostProtocol } from '../../helpers/hosts.ts';
import { deferred } from '../../helpers/promises.ts';
import { listenOn } from '../../helpers/servers.ts';
import { describeHost, type Exchange, type HostHarness } from './host-suite.ts';

type NodeRequest = (IncomingMessage | Http2ServerRequest) & { body?: unknown };
type NodeServerResponse = ServerResponse | Http2ServerResponse;
type Listener = (request: NodeRequest, response: NodeServerResponse) => void;

const CERTIFICATE = createCertificate();

const SERVERS: Readonly<Record<HostProtocol, (listener: Listener) => Server>> = {
  http: (listener) => createServer(listener),
  https: (listener) => createHttpsServer(CERTIFICATE, listener),
  http2: (listener) => createHttp2Server(listener),
};

function exchangeOf(request: NodeRequest, response: NodeServerResponse): Exchange {
  return {
    requests: [request],
    responses: [response],
    setHeader: (name, value) => void response.setHeader(name, value),
    answer: (status, body) => {
      response.statusCode = status;
      return response.end(body);
    },
    begin: (status) =>
      new Promise((sent) => {
        response.statusCode = status;
        (response as ServerResponse).write('begun', sent);
      }),
  };
}

/** As applications without a framework do it. */
async function parseBody(request: NodeRequest): Promise<void> {
  const type = String(request.headers['content-type']);
  const parse = type.startsWith('application/json') ? JSON.parse : parseForm;
  request.body = parse(await text(request)) as unknown;
}

const harness = (protocol: HostProtocol): HostHarness => ({
  protocol,
  hasRouter: false,
  hasBodies: true,
  canBreakOff: true,
  start: async ({ serve, before, onError }, options) => {
    const own = (request: NodeRequest, response: NodeServerResponse): unknown => {
      const exchange = exchangeOf(request, response);
      before?.();
      const isParsed = request.method === 'POST';
      return isParsed ? parseBody(request).then(() => serve(exchange)) : serve(exchange);
    };
    const listener = options === 'bare' ? own : captureRequests(own, options);
    const handled = async (request: NodeRequest, response: NodeServerResponse): Promise<void> => {
      try {
        await listener(request, response);
      } catch (error) {
        onError?.(error);
        response.statusCode = 500;
        response.end('handled');
      }
    };
    const server = SERVERS[protocol]((...given) => void handled(...given));
    await listenOn(server);
    return server;
  },
});

describeHost('node:http', harness('http'));
describeHost('node:https', harness('https'));
describeHost('node:http2', harness('http2'));

const verbNow = (): string | undefined => currentContext().http?.request.verb;

describe('node:http', () => {
  test('has no scope in events of the request’s stream, unless the listener is bound', async () => {
    const seen: unknown[] = [];
    const handled = deferred();
    const server = createServer(
      captureRequests((request, response) => {
        request.on('data', () => seen.push(['data', verbNow()]));
        request.on(
          'data',
          AsyncResource.bind(() => seen.push(['bound', verbNow()])),
        );
        request.on('end', () => response.end());
        handled.resolve();
      }),
    );
    const asked = startRequest({ port: await listenOn(server), method: 'PUT', agent: false });
    asked.flushHeaders();
    await handled.promise;
    asked.end('a body');
    await once(asked, 'response');
    expect(seen).toEqual([
      ['data', undefined],
      ['bound', 'PUT'],
    ]);
  });

  test.each([undefined, 'text'])('returns the result of its listener: %j', (given) => {
    const listener = captureRequests<HttpRequest, NodeResponse>(() => given);
    expect(listener({ headers: {} }, {} as NodeResponse)).toBe(given);
  });

  test('resolves to the result of its listener’s promise', async () => {
    const listener = captureRequests<HttpRequest, NodeResponse>(async () => 7);
    await expect(listener({ headers: {} }, {} as NodeResponse)).resolves.toBe(7);
  });

  test('reads a request over TLS as https, also in HTTP/2', async () => {
    const server = createSecureServer(
      CERTIFICATE,
      captureRequests((_request: Http2ServerRequest, response: Http2ServerResponse) => {
        const { scheme, host } = currentContext().http?.request ?? {};
        response.end(`${scheme} ${host}`);
      }),
    );
    const port = await listenOn(server);
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    try {
      const headers = { ':authority': 'shop.example' };
      expect(await text(session.request(headers).end())).toBe('https shop.example');
    } finally {
      session.destroy();
    }
  });
});
