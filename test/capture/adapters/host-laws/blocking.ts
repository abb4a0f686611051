/** How blocked and failed requests end. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  blockRequest,
  currentContext,
  RequestBlockedError,
} from '../../../../src/capture/index.ts';
import { deferred } from '../../../helpers/promises.ts';
import type { Application, HostHarness, StartHost } from '../host-suite.ts';

const FORBIDDEN = {
  status: 403,
  body: 'Forbidden',
  headers: { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' },
};

function block(): never {
  throw new RequestBlockedError();
}

/** From another copy of this package, which `instanceof` does not recognise. */
function blockByAnotherCopy(): never {
  const brand = Symbol.for('security-event-delivery.request-blocked');
  throw Object.assign(new Error('why'), { [brand]: true, status: 403, statusCode: 403 });
}

const WAYS: readonly (readonly [string, Application])[] = [
  ['in a handler', { serve: block }],
  ['in an async handler', { serve: async () => block() }],
  ['after waiting', { serve: () => wait(1).then(block) }],
  ['in middleware', { before: block, serve: () => 'not reached' }],
  ['by another copy of this package', { serve: blockByAnotherCopy }],
];

/** Collects what is printed. */
function watchPrinting(): unknown[][] {
  const printed: unknown[][] = [];
  const spies = (['error', 'warn', 'log'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...words) => void printed.push(words)),
  );
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return printed;
}

export function blockLaws(start: StartHost, { canBreakOff, ignoresRejections }: HostHarness): void {
  test.each(WAYS)(
    'is answered with 403 and no reason if thrown %s',
    async (_where, application) => {
      const printed = watchPrinting();
      const errors: unknown[] = [];
      const onError = (error: unknown): void => void errors.push(error);
      const { ask } = await start({ ...application, onError });
      const answer = await ask('/');
      expect(answer).toMatchObject(FORBIDDEN);
      expect(JSON.stringify(answer)).not.toMatch(/blocked|why/i);
      // A framework may print after its answer.
      await ask('/');
      expect(printed).toEqual([]);
      expect(errors).toEqual([]);
    },
  );

  test('is marked as blocked in its report and all later events', async () => {
    const seen: unknown[] = [];
    const look = (): void => void seen.push(currentContext().http?.response);
    let late: Promise<void> | undefined;
    const answered = deferred();
    const { ask } = await start(() => {
      look();
      late = answered.promise.then(look);
      return blockRequest(look);
    });
    expect(await ask('/')).toMatchObject(FORBIDDEN);
    answered.resolve();
    await late;
    const blocked = { blocked: true, status: 403 };
    expect(seen).toEqual([{ blocked: false }, blocked, blocked]);
  });

  test('is marked as blocked if only the error was thrown', async () => {
    let late: Promise<unknown> | undefined;
    const answered = deferred();
    const { ask } = await start(() => {
      late = answered.promise.then(() => currentContext().http?.response);
      block();
    });
    await ask('/');
    answered.resolve();
    expect(await late).toEqual({ blocked: true, status: 403 });
  });

  test('is answered with the status of its own adapter', async () => {
    const strict = await start(() => blockRequest(), { blockedStatus: 451 });
    const other = await start(() => blockRequest());
    const [first, second] = await Promise.all([strict.ask('/'), other.ask('/')]);
    expect(first).toMatchObject({ status: 451, body: 'Unavailable For Legal Reasons' });
    expect(second).toMatchObject(FORBIDDEN);
  });

  test('keeps the headers that do not describe the replaced body', async () => {
    const { ask } = await start((exchange) => {
      exchange.setHeader('access-control-allow-origin', 'https://shop.example');
      exchange.setHeader('x-request-id', '7');
      exchange.setHeader('content-length', '3');
      exchange.setHeader('content-encoding', 'gzip');
      exchange.setHeader('etag', '"of the page"');
      exchange.setHeader('cache-control', 'public, max-age=60');
      return blockRequest();
    });
    const { headers, ...answer } = await ask('/');
    expect(answer).toEqual({ status: 403, body: 'Forbidden' });
    expect(headers).toMatchObject({
      ...FORBIDDEN.headers,
      'access-control-allow-origin': 'https://shop.example',
      'x-request-id': '7',
    });
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers).not.toHaveProperty('etag');
    expect(headers['content-length'] ?? '9').toBe('9');
  });

  test.runIf(canBreakOff)(
    'is aborted if its answer had begun, and affects no other request',
    async () => {
      const printed = watchPrinting();
      const { ask } = await start(async (exchange) => {
        if (currentContext().http?.request.path === '/other') return exchange.answer(200, 'well');
        await exchange.begin(200);
        return blockRequest();
      });
      await expect(ask('/')).rejects.toThrow(/aborted|broke off|NGHTTP2_INTERNAL_ERROR/);
      expect(await ask('/other')).toMatchObject({ status: 200, body: 'well' });
      expect(printed).toEqual([]);
    },
  );

  const fails: readonly (readonly [string, (fail: () => never) => unknown])[] = [
    ['at once', (fail) => fail()],
    ['after waiting', (fail) => wait(1).then(fail)],
  ];
  test.each(ignoresRejections ? fails.slice(0, 1) : fails)(
    'does not include failed requests, whose errors are handled as usual: thrown %s',
    async (_when, serve) => {
      const error = new Error('of the application');
      const errors: unknown[] = [];
      const fail = (): never => {
        throw error;
      };
      const { ask } = await start({
        serve: () => serve(fail),
        onError: (given) => errors.push(given, currentContext().http?.response.blocked),
      });
      expect(await ask('/')).toMatchObject({ status: 500, body: 'handled' });
      expect(errors[0]).toBe(error);
      // An error handler may run outside the request's scope, but never in a blocked one.
      expect(errors[1] ?? false).toBe(false);
    },
  );
}
