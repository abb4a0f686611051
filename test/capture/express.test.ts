import { once } from 'node:events';
import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import { answerBlocked, captureRequests } from '../../src/capture/express.ts';
import { describeHost, type Exchange, type HostHarness } from './host-suite.ts';

function exchangeOf(request: Request, response: Response): Exchange {
  return {
    requests: [request],
    responses: [response],
    setHeader: (name, value) => void response.setHeader(name, value),
    answer: (status, body) => response.status(status).send(body),
    begin: (status) => new Promise((sent) => response.status(status).write('begun', sent)),
  };
}

const HARNESS: HostHarness = {
  protocol: 'http',
  hasRouter: true,
  hasBodies: true,
  canBreakOff: true,
  start: async ({ serve, before, onError }, options) => {
    const app = express();
    // In tests Express does not print errors.
    app.set('env', 'production');
    if (options !== 'bare') app.use(captureRequests(options));
    app.use(express.json(), express.urlencoded());
    app.use((_request, _response, next) => {
      before?.();
      next();
    });
    const handler = (request: Request, response: Response): unknown =>
      serve(exchangeOf(request, response));
    app.all('/users/:id', handler);
    app.all('/{*any}', handler);
    if (options !== 'bare') app.use(answerBlocked());
    if (onError !== undefined) {
      const handle: ErrorRequestHandler = (error, _request, response, _next) => {
        onError(error);
        response.status(500).send('handled');
      };
      app.use(handle);
    }
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, close: () => server.close() };
  },
};

describeHost('Express', HARNESS);
