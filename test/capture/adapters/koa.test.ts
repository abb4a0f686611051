import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createRequire } from 'node:module';
import { parse as parseForm } from 'node:querystring';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { captureRequests } from '../../../src/capture/adapters/koa.ts';
import { blockRequest } from '../../../src/capture/index.ts';
import { ask } from '../../helpers/hosts.ts';
import { listenOn } from '../../helpers/servers.ts';
import { describeHost, type Exchange, type HostHarness } from './host-suite.ts';

/** What is used of Koa here: its published types clash with those of a package below it. */
interface Context {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly request: object;
  readonly response: object;
  readonly path: string;
  params?: unknown;
  status: number;
  body: unknown;
  respond: boolean;
  is(type: string): string | false | null;
  set(name: string, value: string): void;
}

type Next = () => Promise<unknown>;

interface App {
  silent: boolean;
  use(middleware: (ctx: Context, next: Next) => unknown): this;
  callback(): RequestListener;
}

const require = createRequire(import.meta.url);

const Koa = require('koa') as new () => App;

function exchangeOf(ctx: Context): Exchange {
  return {
    requests: [ctx.request, ctx.req],
    responses: [ctx.response, ctx.res],
    setHeader: (name, value) => ctx.set(name, value),
    answer: (status, body) => {
      ctx.status = status;
      ctx.body = body;
    },
    begin: (status) => {
      ctx.respond = false;
      return new Promise((sent) => ctx.res.writeHead(status).write('begun', sent));
    },
  };
}

/** Leaves what koa-bodyparser and @koa/router leave. */
async function parse(ctx: Context, next: Next): Promise<void> {
  const id = /^\/users\/([^/]+)$/.exec(ctx.path)?.[1];
  if (id !== undefined) ctx.params = { id };
  const body = await text(ctx.req);
  if (ctx.is('json')) Object.assign(ctx.request, { body: JSON.parse(body) });
  if (ctx.is('urlencoded')) Object.assign(ctx.request, { body: parseForm(body) });
  await next();
}

const HARNESS: HostHarness = {
  protocol: 'http',
  hasRouter: true,
  hasBodies: true,
  canBreakOff: true,
  start: async ({ serve, before, onError }, options) => {
    const app = new Koa();
    app.silent = true;
    app.use(async (ctx, next) => {
      try {
        await next();
      } catch (error) {
        if (onError === undefined) throw error;
        onError(error);
        ctx.status = 500;
        ctx.body = 'handled';
      }
    });
    if (options !== 'bare') app.use(captureRequests(options));
    app.use((_ctx, next) => {
      before?.();
      return next();
    });
    app.use((ctx, next) => parse(ctx, next));
    app.use(async (ctx) => void (await serve(exchangeOf(ctx))));
    const server = createServer(app.callback());
    await listenOn(server);
    return server;
  },
};

describeHost('Koa', HARNESS);

describe('a blocked Koa request', () => {
  test('gets the blocked response if other middleware caught the error and answered', async () => {
    const stream = new PassThrough();
    const app = new Koa();
    app.silent = true;
    app.use(captureRequests()).use((ctx) => {
      try {
        blockRequest();
      } catch {
        ctx.body = stream;
      }
    });
    const origin = `http://127.0.0.1:${await listenOn(createServer(app.callback()))}`;
    expect(await ask(origin, '/', 'http')).toMatchObject({ status: 403, body: 'Forbidden' });
    await expect.poll(() => stream.destroyed).toBe(true);
  });
});
