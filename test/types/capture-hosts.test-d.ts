/** Types of the adapters for node:http, node:http2 and Express. */

import { createServer, type IncomingMessage } from 'node:http';
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import express from 'express';
import {
  answerBlocked,
  captureRequests as middleware,
} from '../../src/capture/adapters/express.ts';
import {
  type LambdaContext,
  type LambdaEvent,
  captureRequests as lambda,
} from '../../src/capture/adapters/lambda.ts';
import { captureRequests } from '../../src/capture/adapters/node-http.ts';
import { createRequestCapture, type RequestContext } from '../../src/capture/index.ts';

export const nodeServers = [
  createServer(captureRequests((request, response) => response.end(request.url))),
  createServer(captureRequests(async (_request, response) => void response.end())),
  createHttpsServer(captureRequests((_request, response) => response.end())),
  createHttp2Server(captureRequests((request, response) => response.end(request.authority))),
  createSecureServer(captureRequests((_request, response) => response.end())),
  createSecureServer(
    {},
    captureRequests((request: Http2ServerRequest, response: Http2ServerResponse) => {
      response.end(request.authority);
    }),
  ),
  createServer(
    {},
    captureRequests((_request, response) => response.writeHead(204).end()),
  ),
];

export const expressApplication = express()
  .use(middleware({ trustedProxies: ['10.0.0.0/8'], parameters: false }))
  .use(answerBlocked());
expressApplication.get('/', middleware(), (_request, response) => void response.send('ok'));
express.Router().use(middleware()).use(answerBlocked());

export const contextOf = (request: IncomingMessage): RequestContext =>
  createRequestCapture().contextOf(request);

export const given: number = createRequestCapture().run({ headers: {} }, () => 7);

// @ts-expect-error an option that does not exist
middleware({ trustProxy: true });

// @ts-expect-error not a status
middleware({ blockedStatus: '403' });

// @ts-expect-error what the listener gives for a request is not any
export const answer: string = captureRequests(() => 7)({} as never, {} as never);

// @ts-expect-error there is always a context to read
export const context: { anything: unknown } = contextOf({} as IncomingMessage);

interface Result {
  readonly statusCode: number;
}
/** As the handlers of `@types/aws-lambda`. */
type AwsHandler = (
  event: LambdaEvent & { readonly version: string },
  context: LambdaContext & { readonly functionName: string },
  callback: (error?: Error | null, result?: Result) => void,
) => undefined | Promise<Result>;

declare const awsHandler: AwsHandler;
export const awsHandlers: readonly AwsHandler[] = [
  lambda(awsHandler),
  lambda(async ({ version }, { functionName }) => ({
    statusCode: version === functionName ? 200 : 404,
  })),
  lambda(() => ({ statusCode: 200 })),
];

type StreamifyHandler = (
  event: LambdaEvent,
  stream: NodeJS.WritableStream,
  context: LambdaContext,
) => Promise<void>;

export const streaming: StreamifyHandler = lambda(
  async (_event: LambdaEvent, stream: NodeJS.WritableStream, _context: LambdaContext) =>
    void stream.end(),
);
