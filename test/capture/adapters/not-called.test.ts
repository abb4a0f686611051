import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import fastify from 'fastify';
import { expect, test } from 'vitest';
import { captureRequests as captureExpress } from '../../../src/capture/adapters/express.ts';
import { captureRequests as captureFastify } from '../../../src/capture/adapters/fastify.ts';
import { captureRequests as captureHono } from '../../../src/capture/adapters/hono.ts';
import { captureRequests as captureKoa } from '../../../src/capture/adapters/koa.ts';
import { captureRequests as captureLambda } from '../../../src/capture/adapters/lambda.ts';
import { captureRequests as captureNode } from '../../../src/capture/adapters/node-http.ts';

const request = new IncomingMessage(new Socket());

/** What each host passes to a function that it takes for its middleware. */
test.each<[string, (...given: never[]) => unknown, unknown[]]>([
  ['Express', captureExpress, [request, new ServerResponse(request)]],
  ['Hono', captureHono, [{ req: { raw: new Request('http://shop.example/') } }]],
  ['Koa', captureKoa, [{ req: request }]],
  ['node:http', captureNode, [request, new ServerResponse(request)]],
])('%s reports that captureRequests was passed without being called', (_host, capture, given) => {
  expect(() => capture(...(given as never[]))).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('call `captureRequests` instead of passing it'),
    }),
  );
});

test.each([
  ['nothing', []],
  ['its options', [{ trustedProxies: 'loopback' }]],
])(
  'Fastify reports that captureRequests was called instead of passed: with %s',
  async (_, args) => {
    const app = fastify();
    app.register((captureFastify as unknown as (...args: unknown[]) => Promise<never>)(...args));
    await expect(app.ready()).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('pass `captureRequests` to `app.register`'),
    });
  },
);

test.each([
  ['node:http', captureNode, 'listener'],
  ['Lambda', captureLambda, 'handler'],
])('%s refuses options in place of its function', (_host, capture, name) => {
  const call = capture as unknown as (options: object) => void;
  expect(() => call({ trustedProxies: 'loopback' })).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_OPTION',
      path: [name],
      message: expect.stringContaining(`expected ${name} to be a function`),
    }),
  );
});
