import { parse } from 'node:querystring';
import { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { captureRequests } from '../../../src/capture/adapters/fastify.ts';
import { blockRequest, type CaptureOptions, currentContext } from '../../../src/capture/index.ts';
import { ask } from '../../helpers/hosts.ts';
import { type Application, describeHost, type Exchange, type HostHarness } from './host-suite.ts';

function exchangeOf(request: FastifyRequest, reply: FastifyReply): Exchange {
  return {
    requests: [request, request.raw],
    responses: [reply, reply.raw],
    setHeader: (name, value) => void reply.header(name, value),
    answer: (status, body) => reply.code(status).send(body),
    begin: (status) => new Promise((sent) => reply.raw.writeHead(status).write('begun', sent)),
  };
}

/** The instances of both protocols differ only in their types. */
function serveWith(app: FastifyInstance, { serve, before, onError }: Application): void {
  // Fastify has no parser for forms.
  const type = 'application/x-www-form-urlencoded';
  app.addContentTypeParser(type, { parseAs: 'string' }, async (_request: unknown, body: string) =>
    parse(body),
  );
  app.addHook('preHandler', async () => before?.());
  if (onError !== undefined) {
    app.setErrorHandler((error, _request, reply) => {
      onError(error);
      reply.code(500).send('handled');
    });
  }
  const handler = (request: FastifyRequest, reply: FastifyReply): unknown =>
    serve(exchangeOf(request, reply));
  app.all('/users/:id', handler);
  app.all('/*', handler);
}

const harnessOf = (protocol: 'http' | 'http2', make: () => FastifyInstance): HostHarness => ({
  protocol,
  hasRouter: true,
  hasBodies: true,
  canBreakOff: true,
  start: async (application, options) => {
    const app = make();
    if (options !== 'bare') app.register(captureRequests, options ?? {});
    // Registered later, like an application's own plugins.
    app.register(async (child) => serveWith(child, application));
    onTestFinished(() => app.close());
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  },
});

describeHost(
  'Fastify',
  harnessOf('http', () => Fastify()),
);
describeHost(
  'Fastify over HTTP/2',
  harnessOf('http2', () => Fastify({ http2: true }) as unknown as FastifyInstance),
);

/** Starts an application with what `build` adds after the adapter. */
async function started(
  build: (app: FastifyInstance) => void,
  options: CaptureOptions = {},
  app: FastifyInstance = Fastify(),
): Promise<(path: string, asked?: Parameters<typeof ask>[3]) => ReturnType<typeof ask>> {
  app.register(captureRequests, options);
  app.register(async (child) => build(child));
  onTestFinished(() => app.close());
  const origin = await app.listen({ port: 0, host: '127.0.0.1' });
  return (path, asked) => ask(origin, path, 'http', asked);
}

const pathSeen = (): string | undefined => currentContext().http?.request.path;
const POSTED = { method: 'POST', headers: { 'content-type': 'application/json' } };

/** Those that run before the answer is sent, in their order. */
const HOOKS = 'onRequest preParsing preValidation preHandler preSerialization onSend'.split(' ');

describe('the context of a Fastify request', () => {
  test('is found in each hook and parser, before and after the body is read', async () => {
    const seen: unknown[] = [];
    const hook =
      (...words: readonly string[]) =>
      async (): Promise<void> =>
        void seen.push([...words, pathSeen()].join(' '));
    const asking = await started((app) => {
      for (const name of HOOKS) app.addHook(name as 'onRequest', hook(name));
      app.addHook('onResponse', hook('onResponse'));
      app.addContentTypeParser('application/json', async (_request: unknown, body: Readable) => {
        await hook('parser')();
        await body.toArray();
        await hook('parser', 'later')();
      });
      app.post('/here', async () => {
        await hook('handler')();
        return { done: true };
      });
    });
    await asking('/here', { ...POSTED, body: '{"a":1}' });
    const places = ['onRequest', 'preParsing', 'parser', 'parser later', ...HOOKS.slice(2, 4)];
    places.push('handler', ...HOOKS.slice(4), 'onResponse');
    await expect.poll(() => seen).toEqual(places.map((place) => `${place} /here`));
  });

  test('is found in error handlers and hooks after an unreadable body', async () => {
    const seen: unknown[] = [];
    const asking = await started((app) => {
      app.addHook('onError', async () => void seen.push(pathSeen()));
      app.addHook('onSend', async () => void seen.push(pathSeen()));
      app.setErrorHandler((_error, _request, reply) => {
        seen.push(pathSeen());
        return reply.code(400).send('unread');
      });
      app.post('/here', () => 'not reached');
    });
    expect(await asking('/here', { ...POSTED, body: '{"a"' })).toMatchObject({ body: 'unread' });
    expect(seen).toEqual(['/here', '/here', '/here']);
  });

  test('has the original path if Fastify rewrites it', async () => {
    const app = Fastify({ rewriteUrl: () => '/inner' });
    const asking = await started((own) => own.get('/inner', () => pathSeen()), {}, app);
    expect((await asking('/outer?q=1')).body).toBe('/outer');
  });

  test('is found if there is no route', async () => {
    const asking = await started((app) => {
      app.setNotFoundHandler(() => pathSeen());
    });
    expect((await asking('/missing')).body).toBe('/missing');
  });
});

const FORBIDDEN = { status: 403, body: 'Forbidden' };
const notReached = (): string => 'not reached';
const block = async (): Promise<never> => blockRequest();

describe('a blocked Fastify request', () => {
  test.each<[string, (app: FastifyInstance) => unknown]>([
    ...HOOKS.map((name): [string, (app: FastifyInstance) => unknown] => [
      `the hook ${name}`,
      (app) => app.addHook(name as 'onRequest', block),
    ]),
    ['a parser', (app) => app.addContentTypeParser('application/json', block)],
  ])('is answered alike if %s blocks it', async (_where, add) => {
    const asking = await started((app) => {
      add(app);
      app.post('/', async () => ({ answer: notReached() }));
    });
    expect(await asking('/', { ...POSTED, body: '{}' })).toMatchObject(FORBIDDEN);
  });

  test('is answered alike from a not-found handler and an error handler', async () => {
    const asking = await started((app) => {
      app.setNotFoundHandler(block);
      app.setErrorHandler(block);
      app.get('/fails', async () => {
        throw new Error('of the application');
      });
    });
    expect(await asking('/missing')).toMatchObject(FORBIDDEN);
    expect(await asking('/fails')).toMatchObject(FORBIDDEN);
  });

  test('runs no error handler, not even its route’s', async () => {
    const errors: unknown[] = [];
    const asking = await started((app) => {
      app.setErrorHandler((error) => errors.push(error));
      app.get('/', { errorHandler: (error) => void errors.push(error) }, block);
    });
    expect(await asking('/')).toMatchObject(FORBIDDEN);
    expect(errors).toEqual([]);
  });

  test('gets the blocked response if the handler catches the error and answers', async () => {
    const stream = Readable.from(['all', 'of it']);
    const asking = await started((app) => {
      app.get('/', { exposeHeadRoute: false }, async (_request, reply) => {
        await block().catch(() => {});
        return reply.header('etag', '"whole"').header('x-kept', 'yes').send(stream);
      });
      app.get('/text', () => block().catch(() => 'all of it'));
    });
    const { headers, ...answer } = await asking('/');
    expect(answer).toEqual(FORBIDDEN);
    expect(headers).toMatchObject({ 'x-kept': 'yes', 'cache-control': 'no-store' });
    expect(headers).not.toHaveProperty('etag');
    expect(stream.destroyed).toBe(true);
    expect(await asking('/text')).toMatchObject(FORBIDDEN);
  });

  test.each([
    ['a stream', (source: ReadableStream) => source],
    ['a response', (source: ReadableStream) => new Response(source)],
  ])('cancels the payload that is not sent: %s', async (_what, payloadOf) => {
    const cancelled = vi.fn<() => Promise<never>>(() => Promise.reject(new Error('too late')));
    const asking = await started((app) => {
      app.get('/', async (_request, reply) => {
        await block().catch(() => {});
        return reply.send(payloadOf(new ReadableStream({ cancel: cancelled })));
      });
      app.get('/bytes', () => block().catch(() => Buffer.from('all of it')));
      app.get('/nothing', (_request, reply) => block().catch(() => reply.send()));
    });
    expect(await asking('/')).toMatchObject(FORBIDDEN);
    expect(cancelled).toHaveBeenCalledOnce();
    expect(await asking('/bytes')).toMatchObject(FORBIDDEN);
    expect(await asking('/nothing')).toMatchObject(FORBIDDEN);
  });

  test('is answered in hooks before the adapter’s, whose errors are Fastify’s', async () => {
    const app = Fastify();
    app.addHook('onRequest', async ({ url }) => {
      if (url === '/blocked') blockRequest();
      throw new Error('of the application');
    });
    const asking = await started(
      (child) =>
        child.setErrorHandler((_error, _request, reply) => reply.code(500).send('handled')),
      {},
      app,
    );
    expect(await asking('/blocked')).toMatchObject(FORBIDDEN);
    expect((await asking('/')).status).toBe(500);
  });

  test('runs onResponse hooks, and keeps headers of both kinds', async () => {
    const statuses: number[] = [];
    const asking = await started((app) => {
      app.addHook('onResponse', async (_request, reply) => void statuses.push(reply.statusCode));
      app.get('/', (_request, reply) => {
        reply.header('set-cookie', ['a=1', 'b=2']).header('x-none', undefined);
        reply.raw.setHeader('x-raw', 'yes');
        return blockRequest();
      });
    });
    const { headers, ...answer } = await asking('/');
    expect(answer).toEqual(FORBIDDEN);
    expect(headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], 'x-raw': 'yes' });
    await expect.poll(() => statuses).toEqual([403]);
  });
});

test('a route of Fastify without parameters has none in the record', async () => {
  const asking = await started((app) => app.get('/', () => currentContext().http?.request));
  const { body } = await asking('/?q=1');
  expect(JSON.parse(body)).toMatchObject({ parameters: { query: { q: '1' } } });
  expect(JSON.parse(body)).not.toHaveProperty('parameters.other');
});
