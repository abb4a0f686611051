import { createServer, type RequestListener } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Response as ExpressResponse,
  type Request,
  type RequestHandler,
  Router,
} from 'express';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { answerBlocked, captureRequests } from '../../../src/capture/adapters/express.ts';
import { captureRequests as captureNodeRequests } from '../../../src/capture/adapters/node-http.ts';
import { blockRequest, currentContext, RequestBlockedError } from '../../../src/capture/index.ts';
import { express4 } from '../../helpers/hosts.ts';
import { listenOn } from '../../helpers/servers.ts';
import { describeHost, type Exchange, type HostHarness } from './host-suite.ts';

function exchangeOf(request: Request, response: ExpressResponse): Exchange {
  return {
    requests: [request],
    responses: [response],
    setHeader: (name, value) => void response.setHeader(name, value),
    answer: (status, body) => response.status(status).send(body),
    begin: (status) => new Promise((sent) => response.status(status).write('begun', sent)),
  };
}

const harnessOf = (framework: typeof express, everyOther: string): HostHarness => ({
  protocol: 'http',
  hasRouter: true,
  hasBodies: true,
  canBreakOff: true,
  start: async ({ serve, before, onError }, options) => {
    const app = framework();
    // In tests Express does not print errors.
    app.set('env', 'production');
    if (options !== 'bare') app.use(captureRequests(options));
    app.use(framework.json(), framework.urlencoded({ extended: false }));
    app.use((_request, _response, next) => {
      before?.();
      next();
    });
    const handler = (request: Request, response: ExpressResponse): unknown =>
      serve(exchangeOf(request, response));
    app.all('/users/:id', handler);
    app.all(everyOther, handler);
    if (options !== 'bare') app.use(answerBlocked());
    if (onError !== undefined) {
      const handle: ErrorRequestHandler = (error, _request, response, _next) => {
        onError(error);
        response.status(500).send('handled');
      };
      app.use(handle);
    }
    const server = createServer(app);
    await listenOn(server);
    return server;
  },
});

describeHost('Express', harnessOf(express, '/{*any}'));
describeHost('Express 4', { ...harnessOf(express4, '*'), ignoresRejections: true });

const ask = async (app: RequestListener, path: string, asked: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${await listenOn(createServer(app))}${path}`, asked);

const answerVerb = (_request: Request, response: ExpressResponse): void =>
  void response.json(currentContext().http?.request.verb ?? 'none');

const parameters = (): unknown => currentContext().http?.request.parameters;

describe('Express', () => {
  test.each([
    [
      express.urlencoded({ extended: true }),
      'application/x-www-form-urlencoded',
      'a[b]=1&password=x',
      { form: { a: { b: '1' }, password: '[redacted]' } },
    ],
    [express.text(), 'text/plain', 'a text', { other: { body: 'a text' } }],
    [express.raw(), 'application/octet-stream', 'bytes', { other: { body: '[binary: 5 bytes]' } }],
  ])('has the parsed body, and the scope after its parser: case %#', async (...row) => {
    const [parser, type, body, expected] = row;
    const app = express().use(captureRequests());
    const seen: unknown[] = [];
    app.use((_request, _response, next) => {
      seen.push(parameters());
      next();
    });
    app.post('/', parser, (_request, response) => {
      seen.push(parameters());
      response.end();
    });
    await ask(app, '/', { method: 'POST', headers: { 'content-type': type }, body });
    expect(seen).toEqual([undefined, expected]);
  });

  test('has the original path and the route’s parameters in mounted routers', async () => {
    const inner = Router({ mergeParams: true }).get('/orders/:order', (request, response) => {
      const { path } = currentContext().http?.request ?? {};
      response.json([request.url, path, parameters()]);
    });
    const app = express().use(captureRequests()).use('/shops/:shop', inner);
    expect(await (await ask(app, '/shops/1/orders/2?a=b')).json()).toEqual([
      '/orders/2?a=b',
      '/shops/1/orders/2',
      { query: { a: 'b' }, other: { params: { shop: '1', order: '2' } } },
    ]);
  });

  test('captures requests below its middleware only', async () => {
    const app = express();
    app.get('/outside', answerVerb);
    app.use('/inside', captureRequests(), answerVerb);
    expect(await (await ask(app, '/outside')).json()).toBe('none');
    expect(await (await ask(app, '/inside')).json()).toBe('GET');
  });

  test('answers a block that is given to next before a later error handler', async () => {
    const errors: unknown[] = [];
    const app = express().use(captureRequests());
    app.use((_request, _response, next) => next(new RequestBlockedError())).use(answerBlocked());
    app.use(((error, _request, response, _next) => {
      errors.push(error);
      response.end();
    }) satisfies ErrorRequestHandler);
    const response = await ask(app, '/');
    expect([response.status, await response.text(), errors]).toEqual([403, 'Forbidden', []]);
  });

  test('leaves a block to an error handler before answerBlocked, and reports it', async () => {
    let seen: unknown;
    const app = express().use(captureRequests());
    app.use(() => blockRequest());
    app.use(((_error, _request, response, _next) => {
      response.status(500).send('swallowed');
      seen = currentContext().http?.response;
    }) satisfies ErrorRequestHandler);
    const response = await ask(app.use(answerBlocked()), '/');
    expect([response.status, await response.text()]).toEqual([500, 'swallowed']);
    expect(seen).toEqual({ blocked: true, status: 500 });
  });

  test('shows its own error page without the reason if answerBlocked is not used', async () => {
    const app = express().use(captureRequests({ blockedStatus: 451 }));
    app.use(() => blockRequest());
    app.set('env', 'production');
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    const response = await ask(app, '/');
    expect(response.status).toBe(451);
    expect(await response.text()).toContain('<pre>Unavailable For Legal Reasons</pre>');
    await expect.poll(() => printed.mock.calls.length).toBe(1);
  });

  test('recognises a block in answerBlocked without a captured request', async () => {
    const app = express()
      .use(() => blockRequest())
      .use(answerBlocked());
    expect((await ask(app, '/')).status).toBe(403);
  });
});

type Handler = RequestHandler | ErrorRequestHandler;

const blockLater = async (): Promise<never> => {
  await Promise.resolve();
  return blockRequest();
};

const pass: RequestHandler = async (_request, _response, next) => next();

const fail: RequestHandler = () => {
  throw new Error('of the application');
};

const blockOnError: ErrorRequestHandler = async (_error, _request, _response, _next) =>
  blockLater();

const passBlock: RequestHandler = (_request, _response, next) => {
  const served = blockLater();
  // oxlint-disable-next-line promise/no-callback-in-promise -- as applications on Express 4 do
  served.catch(next);
  return served;
};

const blockAgain: RequestHandler = async () => {
  await blockLater().catch(() => {});
  throw new RequestBlockedError();
};

/** Answers blocks, and counts the errors that got as far. */
function appOf(...handlers: readonly Handler[]) {
  const errors: unknown[] = [];
  const app = express4().use(captureRequests());
  for (const handler of handlers) app.use(handler);
  app.use(((error, _request, _response, next) => {
    errors.push(error);
    next(error);
  }) satisfies ErrorRequestHandler);
  return { app: app.use(answerBlocked()), errors };
}

describe('Express 4', () => {
  test.each<[string, readonly Handler[]]>([
    ['of a router', [express4.Router().get('/:id', blockLater)]],
    ['of a mounted application', [express4().get('/:id', blockLater)]],
    [
      'that is a callback of app.param',
      [
        express4
          .Router()
          .param('id', (_request, _response, next) => next())
          .param('id', blockLater)
          .get('/:id', answerVerb),
      ],
    ],
    ['that waits before', [pass, blockLater]],
    ['of errors', [fail, blockOnError]],
    ['that passes its rejections on itself, and returns them', [passBlock]],
    ['that catches its first block and throws another', [blockAgain]],
  ])('passes the block of an async handler on, once: one %s', async (_which, handlers) => {
    const { app, errors } = appOf(...handlers);
    const response = await ask(app, '/7');
    expect([response.status, await response.text()]).toEqual([403, 'Forbidden']);
    expect(errors).toEqual([expect.any(RequestBlockedError)]);
  });

  test('calls callbacks of app.param with their value and name, in their order', async () => {
    const app = express4().use(captureRequests());
    const seen: unknown[] = [];
    app.param('id', (_request, _response, next, value, name) => {
      seen.push([value, name]);
      next();
    });
    app.param('id', async (request, _response, next) => {
      seen.push('second');
      request.params['id'] = 'changed';
      next();
    });
    app.get('/users/:id', (request, response) => void response.json(request.params));
    const response = await ask(app, '/users/7');
    expect([await response.json(), seen]).toEqual([{ id: 'changed' }, [['7', 'id'], 'second']]);
  });

  test.each(['alone', 'beside its own'])(
    'passes blocks on inside the adapter of node:http, %s',
    async (how) => {
      const app = express4();
      if (how !== 'alone') app.use(captureRequests());
      app.use(blockLater).use(answerBlocked());
      expect((await ask(captureNodeRequests(app as RequestListener), '/')).status).toBe(403);
    },
  );

  test('calls handlers unchanged outside captured requests', async () => {
    const app = express4();
    app.use('/captured', captureRequests(), answerVerb);
    const served = Promise.resolve();
    const attached = vi.spyOn(served, 'then');
    app.use((_request, response) => {
      response.send('bare');
      return served;
    });
    expect(await (await ask(app, '/captured')).json()).toBe('GET');
    expect(await (await ask(app, '/')).text()).toBe('bare');
    expect(attached).not.toHaveBeenCalled();
  });

  test('passes them on with two copies of the package', async () => {
    vi.resetModules();
    const other = await import('../../../src/capture/adapters/express.ts');
    const { blockRequest: blockByOther } = await import('../../../src/capture/index.ts');
    for (const [capture, work] of [
      [other.captureRequests, async () => blockByOther()],
      [captureRequests, blockLater],
    ] as const) {
      const app = express4().use(capture()).use(work).use(answerBlocked());
      expect((await ask(app, '/')).status).toBe(403);
    }
  });

  test('does not handle other rejections', async () => {
    const served = Promise.resolve();
    const attached = vi.spyOn(served, 'then');
    const { app } = appOf((_request: Request, response: ExpressResponse) => {
      response.send('well');
      return served;
    });
    expect(await (await ask(app, '/')).text()).toBe('well');
    expect(attached).not.toHaveBeenCalled();
  });
});
