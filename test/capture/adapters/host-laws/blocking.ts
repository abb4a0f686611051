/** What becomes of a request that is blocked, and of one that fails. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  blockRequest,
  currentContext,
  RequestBlockedError,
} from '../../../../src/capture/index.ts';
import type { Application, HostHarness, StartHost } from '../host-suite.ts';
import { closedGate } from './gate.ts';

const FORBIDDEN = {
  status: 403,
  body: 'Forbidden',
  headers: { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' },
};

function block(): never {
  throw new RequestBlockedError();
}

/** Of another copy of this package, where `instanceof` does not know it. */
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

/** What is printed meanwhile. */
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
  test.each(WAYS)('is answered with 403 and not why, thrown %s', async (_where, application) => {
    const printed = watchPrinting();
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const { ask } = await start({ ...application, onError });
    const answer = await ask('/');
    expect(answer).toMatchObject(FORBIDDEN);
    expect(JSON.stringify(answer)).not.toMatch(/blocked|why/i);
    // What a framework prints of the first may come after its answer.
    await ask('/');
    expect(printed).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('tells its report and all later events that it was blocked, and how', async () => {
    const seen: unknown[] = [];
    const look = (): void => void seen.push(currentContext().http?.response);
    let late: Promise<void> | undefined;
    const answered = closedGate();
    const { ask } = await start(() => {
      look();
      late = answered.opened.then(look);
      return blockRequest(look);
    });
    expect(await ask('/')).toMatchObject(FORBIDDEN);
    answered.open();
    await late;
    const blocked = { blocked: true, status: 403 };
    expect(seen).toEqual([{ blocked: false }, blocked, blocked]);
  });

  test('is reported as blocked also where the error alone was thrown', async () => {
    let late: Promise<unknown> | undefined;
    const answered = closedGate();
    const { ask } = await start(() => {
      late = answered.opened.then(() => currentContext().http?.response);
      block();
    });
    await ask('/');
    answered.open();
    expect(await late).toEqual({ blocked: true, status: 403 });
  });

  test('is answered with the status of its own adapter, two in one process', async () => {
    const strict = await start(() => blockRequest(), { blockedStatus: 451 });
    const other = await start(() => blockRequest());
    const [first, second] = await Promise.all([strict.ask('/'), other.ask('/')]);
    expect(first).toMatchObject({ status: 451, body: 'Unavailable For Legal Reasons' });
    expect(second).toMatchObject(FORBIDDEN);
  });

  test('keeps the headers that are not about the body it does not send', async () => {
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
    'is broken off where its answer had begun, and hurts no other',
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
    'is none that fails: its error goes where it always went, thrown %s',
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
      // An error handler may stand outside of the request's scope, but never in a blocked one.
      expect(errors[1] ?? false).toBe(false);
    },
  );
}
