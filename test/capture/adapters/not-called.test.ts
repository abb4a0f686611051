import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import express, { type ErrorRequestHandler } from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { captureRequests as captureExpress } from '../../../src/capture/adapters/express.ts';
import { captureRequests as captureFastify } from '../../../src/capture/adapters/fastify.ts';
import { captureRequests as captureHono } from '../../../src/capture/adapters/hono.ts';
import { captureRequests as captureKoa } from '../../../src/capture/adapters/koa.ts';
import { captureRequests as captureLambda } from '../../../src/capture/adapters/lambda.ts';
import { captureRequests as captureNode } from '../../../src/capture/adapters/node-http.ts';
import { getRequestListener } from '../../helpers/hosts.ts';
import { listenOn } from '../../helpers/servers.ts';

type Report = (error: unknown) => void;

interface KoaApp {
  use(middleware: unknown): void;
  on(event: 'error', report: Report): void;
  callback(): RequestListener;
}

const Koa = createRequire(import.meta.url)('koa') as new () => KoaApp;

const HOSTS: Readonly<Record<string, (report: Report) => RequestListener>> = {
  Express: (report) => {
    const onError: ErrorRequestHandler = (error, _request, response, _next) => {
      report(error);
      response.status(500).end();
    };
    return express()
      .use(captureExpress as never)
      .use(onError);
  },
  Hono: (report) => {
    const app = new Hono();
    app.use(captureHono as never);
    app.onError((error, c) => {
      report(error);
      return c.text('', 500);
    });
    return getRequestListener(app.fetch);
  },
  Koa: (report) => {
    const app = new Koa();
    app.use(captureKoa);
    app.on('error', report);
    return app.callback();
  },
  'node:http': (report) => (request, response) => {
    try {
      (captureNode as unknown as RequestListener)(request, response);
    } catch (error) {
      report(error);
      response.writeHead(500).end();
    }
  },
};

test.each(Object.entries(HOSTS))(
  '%s reports that captureRequests was passed without being called',
  async (_host, listenerOf) => {
    const errors: unknown[] = [];
    const port = await listenOn(createServer(listenerOf((error) => errors.push(error))));
    const { status } = await fetch(`http://127.0.0.1:${port}`);
    expect(status).toBe(500);
    expect(errors).toEqual([
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringContaining('call `captureRequests` instead of passing it'),
      }),
    ]);
  },
);

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
