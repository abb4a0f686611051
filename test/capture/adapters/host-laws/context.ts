/** Where the context of a request is found. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { currentContext, identify } from '../../../../src/capture/index.ts';
import { deferred } from '../../../helpers/promises.ts';
import type { Application, Exchange, StartHost } from '../host-suite.ts';

const pathNow = (): string => currentContext().http?.request.path ?? '';

const identifiers = (): unknown => currentContext().actor?.identifiers;

/** Lets the client hang up during its request, and returns the first context that is read afterwards. */
async function contextAfterHangUp(start: StartHost): Promise<ReturnType<typeof currentContext>> {
  const client = new AbortController();
  const closed = deferred();
  const done = deferred();
  let context: ReturnType<typeof currentContext> = {};
  const serve = async (exchange: Exchange): Promise<unknown> => {
    client.abort();
    await closed.promise;
    context = currentContext();
    done.resolve();
    return exchange.answer(200, '');
  };
  const { ask, server } = await start(serve, { trustedProxies: 'loopback' });
  server.once('connection', (socket: Socket) => socket.once('close', closed.resolve));
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  await expect(ask('/', { headers, signal: client.signal })).rejects.toThrow(/abort/i);
  await done.promise;
  return context;
}

export function contextLaws(start: StartHost): void {
  test('is found in middleware and handlers, and in their asynchronous calls', async () => {
    const seen: unknown[] = [];
    const look = (): void => void seen.push(currentContext().http?.request);
    const { ask } = await start({
      before: look,
      serve: async (exchange) => {
        look();
        await wait(1);
        look();
        await new Promise((done) => setTimeout(() => done(look()), 1));
        await Promise.all([wait(1), wait(1).then(look)]);
        return exchange.answer(200, 'done');
      },
    });
    expect((await ask('/here?q=1')).body).toBe('done');
    expect(seen).toEqual(Array(5).fill(expect.objectContaining({ path: '/here', verb: 'GET' })));
    expect(currentContext()).toEqual({});
  });

  test('is separate for a hundred concurrent requests', async () => {
    const { ask } = await start(async (exchange) => {
      const path = currentContext().http?.request.path ?? '';
      await wait(Number(path.slice(1)) % 7);
      identify({ path });
      await wait(Number(path.slice(1)) % 5);
      const seen = [currentContext().http?.request.path, identifiers()];
      return exchange.answer(200, JSON.stringify(seen));
    });
    const paths = Array.from({ length: 100 }, (_, index) => `/${index}`);
    const answers = await Promise.all(paths.map((path) => ask(path)));
    expect(answers.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
      paths.map((path) => [path, { path }]),
    );
  });

  test('is that of the inner request if a host calls another in the same process', async () => {
    const inner = await start((exchange) => exchange.answer(200, pathNow()));
    const outer = await start(async (exchange) => {
      const { body } = await inner.ask('/inner');
      return exchange.answer(200, `${body} of ${pathNow()}`);
    });
    expect((await outer.ask('/outer')).body).toBe('/inner of /outer');
  });

  test('keeps the client’s address after the connection has closed', async () => {
    const { actor, http } = await contextAfterHangUp(start);
    expect(actor?.ip.address).toBe('203.0.113.9');
    expect(http?.request.remote_port).toMatch(/^[1-9]\d{3,4}$/);
  });

  test('adds no listener and no property to a request', async () => {
    expect(await outsides(start)).toEqual(await outsides(start, 'bare'));
  });

  test('is refused at start if an option is wrong', async () => {
    const application: Application = { serve: (exchange) => exchange.answer(200, '') };
    const options = { blockedStatus: 200 };
    await expect((async () => await start(application, options))()).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['blockedStatus'],
    });
  });
}

/** Headers of any kind of host request. */
function headersOf({ requests: [request] }: Exchange): Record<string, unknown> {
  const { headers } = request as { headers: Headers | Record<string, unknown> };
  return headers instanceof Headers ? Object.fromEntries(headers) : headers;
}

/** Node creates these on first access, and keeps them. */
function readBefore(exchange: Exchange): void {
  headersOf(exchange);
  for (const socket of socketsOf(exchange)) Reflect.get(socket, 'remoteAddress');
}

function socketsOf({ requests, responses }: Exchange): object[] {
  return [...requests, ...responses].flatMap((object) => {
    const socket: unknown = Reflect.get(object, 'socket');
    return typeof socket === 'object' && socket !== null ? [socket] : [];
  });
}

/** What an adapter could leave behind: names of properties, and the number of listeners by event. */
function outsideOf(exchange: Exchange): unknown {
  return [...exchange.requests, ...exchange.responses, ...socketsOf(exchange)].map((object) => [
    Reflect.ownKeys(object).map(String).toSorted(),
    object instanceof EventEmitter
      ? object.eventNames().map((name) => [String(name), object.listenerCount(name)])
      : [],
  ]);
}

/** Of a request before and after it was read; on a bare host it is not read. */
async function outsides(start: StartHost, options?: 'bare'): Promise<unknown> {
  const seen: unknown[] = [];
  const { ask } = await start(async (exchange) => {
    readBefore(exchange);
    seen.push(outsideOf(exchange));
    if (options === undefined) {
      identify({ uid: 7 });
      currentContext();
    }
    await wait(1);
    seen.push(outsideOf(exchange));
    return exchange.answer(200, '');
  }, options);
  await ask('/users/7?q=1');
  return seen;
}
