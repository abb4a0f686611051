import { describe, expect, test, vi } from 'vitest';
import { captureRequests, type LambdaFlushFailure } from '../../../src/capture/adapters/lambda.ts';
import { identify } from '../../../src/capture/index.ts';
import { createReporter } from '../../../src/index.ts';
import { context, event } from '../../helpers/lambda-events.ts';
import { openReceiver, SECRET } from '../../helpers/sender.ts';

const reporterTo = (url: string) =>
  createReporter({
    service: { svc_id: 'shop-1', name: 'shop', env: 'test' },
    log: false,
    webhook: { url, secret: SECRET, network: 'allow-private', schedule: { delaysMs: [1] } },
  });

const onUndelivered = () => vi.fn<(result: LambdaFlushFailure) => unknown>();

const deadlineOf = async (leftMs: number, flushDeadlineMs?: number) => {
  const flush = vi.fn<(options: { readonly deadlineMs: number }) => Promise<void>>(async () => {});
  const handler = captureRequests(() => 'result', { flush: { flush }, flushDeadlineMs });
  await handler(event(), context(leftMs));
  return flush.mock.calls[0]?.[0].deadlineMs;
};

describe('the flush of a Lambda function', () => {
  test('delivers the events of the request before the result is returned', async () => {
    const receiver = await openReceiver();
    const reporter = reporterTo(receiver.url);
    const handler = captureRequests(
      () => {
        identify({ uid: 7 });
        reporter.attack({ ruleset: 'xss' });
        return { statusCode: 204 };
      },
      { flush: reporter },
    );
    expect(await handler(event(), context())).toEqual({ statusCode: 204 });
    expect(receiver.requests).toHaveLength(1);
    await reporter.close();
  });

  test('has a deadline below that of the function', async () => {
    expect(await deadlineOf(30_000)).toBe(2000);
    expect(await deadlineOf(30_000, 5000)).toBe(5000);
    expect(await deadlineOf(1000.7)).toBe(750);
    expect(await deadlineOf(100)).toBe(0);
  });

  test.each([undefined, {}])(
    'has its own deadline with the context %j of a test',
    async (given) => {
      const flush = vi.fn<() => Promise<void>>(async () => {});
      const handler = captureRequests(() => 'result', { flush: { flush } });
      await handler(event(), given as never);
      expect(flush).toHaveBeenCalledWith({ deadlineMs: 2000 });
    },
  );

  test('runs if the handler fails, and its own failure changes nothing', async () => {
    const closed = new Error('closed');
    const flush = vi.fn<() => Promise<never>>(() => Promise.reject(closed));
    const options = { flush: { flush }, onUndelivered: onUndelivered() };
    const error = new Error('of the handler');
    const failing = captureRequests(() => Promise.reject(error), options);
    await expect(failing(event(), context())).rejects.toBe(error);
    expect(options.onUndelivered.mock.calls).toEqual([[{ error: closed }]]);
    expect(await captureRequests(() => 'result', options)(event(), context())).toBe('result');
    expect(flush).toHaveBeenCalledTimes(2);
  });

  test('reports the first result with messages left, and again after a success', async () => {
    const left = { delivered: 0, dead: 0, pending: 1 };
    const lost = { delivered: 1, dead: 1, pending: 0 };
    const delivered = { delivered: 2, dead: 0, pending: 0 };
    const noLine = { ...delivered, logError: new Error('disk full') };
    const results = [left, left, delivered, lost, undefined, noLine, left];
    const options = {
      flush: { flush: async () => results.shift() },
      onUndelivered: onUndelivered().mockImplementation(() => {
        throw new Error('of the host');
      }),
    };
    const handler = captureRequests(() => 'result', options);
    while (results.length > 0) expect(await handler(event(), context())).toBe('result');
    expect(options.onUndelivered.mock.calls).toEqual([[left], [lost], [noLine]]);
  });

  test('waits half as long after each call that delivers nothing, but at least 100 ms', async () => {
    const deadlines: number[] = [];
    let delivered = 0;
    const flush = async ({ deadlineMs }: { readonly deadlineMs: number }) => {
      deadlines.push(deadlineMs);
      return { delivered, dead: 0, pending: 1 };
    };
    const handler = captureRequests(() => 'result', { flush: { flush } });
    for (let call = 0; call < 7; call += 1) await handler(event(), context());
    delivered = 1;
    await handler(event(), context());
    await handler(event(), context());
    expect(deadlines.splice(0)).toEqual([2000, 1000, 500, 250, 125, 100, 100, 100, 2000]);
    // Cut short by the function's own timeout, which says nothing about the receiver.
    delivered = 0;
    await handler(event(), context(300));
    await handler(event(), context());
    expect(deadlines).toEqual([50, 2000]);
  });
});
