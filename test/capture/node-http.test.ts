import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { Server } from 'node:net';
import { parse as parseForm } from 'node:querystring';
import { text } from 'node:stream/consumers';
import { captureRequests } from '../../src/capture/node-http.ts';
import { createCertificate } from '../../src/testing/certificate.ts';
import type { HostProtocol } from '../helpers/host-client.ts';
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
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, close: () => server.close() };
  },
});

describeHost('node:http', harness('http'));
describeHost('node:https', harness('https'));
describeHost('node:http2', harness('http2'));
