import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { captureRequests } from '../../src/capture/node-http.ts';
import { describeHost, type Exchange, type HostHarness } from './host-suite.ts';

function exchangeOf(request: IncomingMessage, response: ServerResponse): Exchange {
  return {
    requests: [request],
    response,
    body: () => undefined,
    setHeader: (name, value) => void response.setHeader(name, value),
    answer: (status, body) => response.writeHead(status).end(body),
    begin: (status) =>
      new Promise((sent) => {
        response.writeHead(status).write('begun', sent);
      }),
  };
}

const HARNESS: HostHarness = {
  protocol: 'http',
  hasRouter: false,
  hasBodies: false,
  start: async ({ serve, before, onError }, options) => {
    const own = (request: IncomingMessage, response: ServerResponse): unknown => {
      before?.();
      return serve(exchangeOf(request, response));
    };
    const listener = options === 'bare' ? own : captureRequests(own, options);
    const server = createServer(async (request, response) => {
      try {
        await listener(request, response);
      } catch (error) {
        onError?.(error);
        response.writeHead(500).end('handled');
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, close: () => void server.close() };
  },
};

describeHost('node:http', HARNESS);
