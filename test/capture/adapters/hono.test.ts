import { createServer } from 'node:http';
import { type Context, Hono } from 'hono';
import { validator } from 'hono/validator';
import { describe, expect, test, vi } from 'vitest';
import { captureRequests, type HonoCaptureOptions } from '../../../src/capture/adapters/hono.ts';
import { blockRequest, currentContext, RequestBlockedError } from '../../../src/capture/index.ts';
import { isRequestBlocked } from '../../../src/capture/request/request-blocked-error.ts';
import { ask, getRequestListener, type NodeBindings } from '../../helpers/hosts.ts';
import { listenOn } from '../../helpers/servers.ts';
import { describeHost, type Exchange, type HostHarness } from './host-suite.ts';

interface Environment {
  Bindings: NodeBindings;
}
type App = Hono<Environment>;

function exchangeOf(c: Context<Environment>): Exchange {
  return {
    requests: [c.req.raw, c.req, c.env.incoming],
    responses: [c.env.outgoing],
    setHeader: (name, value) => c.header(name, value),
    answer: (status, body) => c.body(body, status as 200),
    begin: () => Promise.reject(new Error('not with Fetch')),
  };
}

const HARNESS: HostHarness = {
  protocol: 'http',
  hasRouter: true,
  hasBodies: true,
  canBreakOff: false,
  start: async ({ serve, before, onError }, options) => {
    const app: App = new Hono();
    if (options !== 'bare') app.use(captureRequests({ maxBodyBytes: 4096, ...options }));
    app.use(async (_c, next) => {
      before?.();
      await next();
    });
    const handler = (c: Context<Environment>) => serve(exchangeOf(c)) as Response;
    app.all('/users/:id', handler);
    app.all('*', handler);
    if (onError !== undefined) {
      app.onError((error, c) => {
        if (isRequestBlocked(error)) return c.text('not what is answered');
        onError(error);
        return c.text('handled', 500);
      });
    }
    const server = createServer(getRequestListener(app.fetch));
    await listenOn(server);
    return server;
  },
};

describeHost('Hono', HARNESS);

/** Starts an application that is made of what `build` adds behind the adapter. */
async function started(
  build: (app: App) => void,
  options: HonoCaptureOptions = {},
): Promise<(path: string, asked?: Parameters<typeof ask>[3]) => ReturnType<typeof ask>> {
  const app: App = new Hono();
  app.use(captureRequests(options));
  build(app);
  const port = await listenOn(createServer(getRequestListener(app.fetch)));
  return (path, asked) => ask(`http://127.0.0.1:${port}`, path, 'http', asked);
}

const FORBIDDEN = { status: 403, body: 'Forbidden' };
const JSON_TYPE = { 'content-type': 'application/json' };
const parametersSeen = () => currentContext().http?.request.parameters ?? {};

describe('a blocked Hono request', () => {
  test('gets the blocked response if an error handler answers it', async () => {
    const errors: unknown[] = [];
    const asking = await started((app) => {
      app.onError((error, c) => {
        errors.push(error);
        return c.html(`<h1>${error.message}</h1>`, 500, { 'x-of-error': 'yes' });
      });
      app.get('/', (c) => {
        c.header('set-cookie', 'a=1', { append: true });
        c.header('set-cookie', 'b=2', { append: true });
        c.header('etag', '"whole"');
        return blockRequest();
      });
    });
    const { headers, ...answer } = await asking('/');
    expect(answer).toEqual(FORBIDDEN);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/plain; charset=utf-8',
      'set-cookie': ['a=1', 'b=2'],
      'x-of-error': 'yes',
    });
    expect(headers).not.toHaveProperty('etag');
    expect(errors).toEqual([expect.any(RequestBlockedError)]);
  });

  test('gets the blocked response if the handler catches the error and answers', async () => {
    const cancelled = vi.fn<() => void>();
    const asking = await started((app) => {
      app.get('/', (c) => {
        try {
          return blockRequest();
        } catch {
          return c.body(new ReadableStream({ cancel: cancelled }));
        }
      });
    });
    expect(await asking('/')).toMatchObject(FORBIDDEN);
    expect(cancelled).toHaveBeenCalledOnce();
  });

  test('is answered alike from a nested application and a not-found handler', async () => {
    const asking = await started((app) => {
      const inner = new Hono().onError((_error, c) => c.text('handled', 500));
      inner.get('/', () => blockRequest());
      app.route('/inner', inner);
      app.notFound(() => blockRequest());
    });
    expect(await asking('/inner')).toMatchObject(FORBIDDEN);
    expect(await asking('/missing')).toMatchObject(FORBIDDEN);
  });

  test('is answered alike after a handler answered, and marked in its events', async () => {
    const seen: unknown[] = [];
    const look = (): void => void seen.push(currentContext().http?.response);
    const asking = await started((app) => {
      app.use(async (_c, next) => {
        await next();
        look();
        blockRequest(look);
      });
      app.get('/', (c) => c.text('answered', 201));
    });
    expect(await asking('/')).toMatchObject(FORBIDDEN);
    expect(seen).toEqual([
      { blocked: false, status: 201 },
      { blocked: true, status: 403 },
    ]);
  });

  test('passes other errors on, also values that Hono does not handle', async () => {
    const thrown = { reason: 'no Error' };
    const app = new Hono().use(captureRequests()).get('/', () => {
      throw thrown;
    });
    await expect(async () => app.request('/')).rejects.toBe(thrown);
  });
});

describe('the body of a Hono request', () => {
  const cases = [
    ['is not read by default', {}, '{"a":1}', {}],
    ['is read up to the length', { maxBodyBytes: 7 }, '{"a":1}', { json: { a: 1 } }],
    ['is not read from one byte more on', { maxBodyBytes: 6 }, '{"a":1}', {}],
    ['is nothing where it cannot be parsed', { maxBodyBytes: 7 }, '{"a":1', {}],
  ] as const;

  test.each(cases)('%s, and handlers can read it', async (_what, options, body, expected) => {
    const seen: unknown[] = [];
    const asking = await started((app) => {
      app.post('/', async (c) => {
        seen.push(parametersSeen());
        return c.text(await c.req.text());
      });
    }, options);
    const asked = { method: 'POST', headers: JSON_TYPE, body };
    expect((await asking('/', asked)).body).toBe(body);
    expect(seen).toEqual([expected]);
  });

  test('is not read if it is neither form nor JSON, or has no known length', async () => {
    const asking = await started(
      (app) => app.post('/', (c) => c.json([c.req.raw.bodyUsed, parametersSeen()])),
      { maxBodyBytes: 100 },
    );
    const headers = { 'content-type': 'text/plain' };
    const text = await asking('/', { method: 'POST', headers, body: 'text' });
    expect(text.body).toBe('[false,{}]');
    const chunked = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
    const json = await asking('/', { method: 'POST', headers: chunked, body: '{}' });
    expect(json.body).toBe('[false,{}]');
  });

  test.each([
    ['json', JSON_TYPE, '{"a":1}'],
    ['form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=1'],
  ] as const)('is what a validator of Hono has let through: %s', async (target, headers, body) => {
    const seen: unknown[] = [];
    const asking = await started((app) => {
      const look = validator(target, (value) => ({ ...value, checked: true }));
      app.post('/:id', look, (c) => {
        seen.push(parametersSeen());
        return c.text('');
      });
    });
    await asking('/7', { method: 'POST', headers, body });
    const value = { a: target === 'json' ? 1 : '1', checked: true };
    expect(seen).toEqual([{ [target]: value, other: { params: { id: '7' } } }]);
  });
});

test.each([
  ['connection', { connection: 'socket' }],
  ['maxBodyBytes', { maxBodyBytes: 1_048_577 }],
])('The adapter for Hono refuses a wrong option: %s', (name, options) => {
  expect(() => captureRequests(options as object)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [name] }),
  );
});
