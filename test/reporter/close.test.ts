import { describe, expect, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { nextTurn } from '../../src/runtime/yield-to-event-loop.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { openReceiver, openSender } from '../helpers/sender.ts';
import {
  ATTACK,
  INCIDENT,
  NO_RESULTS,
  NOTHING_FLUSHED,
  openReporter,
  openSendingReporter,
  webhookTo,
} from './open-reporter.ts';

const pending = (): Promise<never> => new Promise(() => {});
const fail = (): Promise<never> => Promise.reject(new Error('EIO'));

const NOTHING_CLOSED = {
  ...NO_RESULTS,
  returned: [],
  remaining: 0,
  rejected: { log: 0, webhook: 0 },
};

describe('closing a reporter', () => {
  test('delivers pending messages, and rejects later events', async () => {
    const { reporter, records, rejections } = await openSendingReporter();
    reporter.attack(ATTACK);
    reporter.incident(INCIDENT);
    const closing = reporter.close();
    expect(reporter.close()).toBe(closing);
    const receipt = reporter.attack(ATTACK);
    const rejected = { log: 1, webhook: 1 };
    expect(await closing).toEqual({ ...NOTHING_CLOSED, delivered: 2, rejected });
    expect(await receipt.settled).toEqual({ outcome: 'rejected', reason: 'ERR_REPORTER_CLOSED' });
    expect(rejections()).toEqual(['log ERR_REPORTER_CLOSED', 'webhook ERR_REPORTER_CLOSED']);
    expect(records()).toHaveLength(2);
  });

  test('returns undelivered messages', async () => {
    const { reporter, receiver } = await openSendingReporter({}, { otherwise: { status: 500 } });
    const { settled, message_id } = reporter.attack(ATTACK);
    await receiver.waitForRequests(1);
    const { returned } = await reporter.close({ deadlineMs: 0 });
    expect(returned.map((message) => message.message_id)).toEqual([message_id]);
    expect(await settled).toEqual({ outcome: 'discarded', reason: 'returned' });
  });

  test('leaves the caller’s writer and sender open', async () => {
    const receiver = await openReceiver();
    const sink = createLineSink();
    const log = createLogWriter<'open'>({ destination: sink, dialect: 'open' });
    const sender = openSender(webhookTo(receiver));
    const { reporter } = openReporter({ log, webhook: sender });
    expect(await reporter.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
    expect(await reporter.close()).toEqual(NOTHING_CLOSED);
    log.write(JSON.parse(sink.lines[0] ?? ''));
    expect(sink.lines).toHaveLength(2);
    expect((await sender.stats()).delivered).toBe(1);
  });

  test('returns the error of the log beside the other results', async () => {
    const { reporter } = openReporter({ log: { write: () => {}, flush: fail, close: fail } });
    const logError = expect.objectContaining({ code: 'ERR_WRITE_FAILED' });
    expect(await reporter.flush()).toEqual({ ...NOTHING_FLUSHED, logError });
    expect(await reporter.close()).toMatchObject({ logError });
  });

  test.each(['flush', 'close'] as const)(
    '%s does not wait for a stalled log after its deadline',
    async (method) => {
      const { reporter } = openReporter({
        log: { write: () => {}, flush: pending, close: pending },
      });
      reporter.attack(ATTACK);
      const logError = { code: 'ERR_WRITE_FAILED' };
      expect(await reporter[method]({ deadlineMs: 20 })).toMatchObject({ logError });
    },
  );

  test('happens at the end of an `await using` scope', async () => {
    const { reporter } = openReporter();
    await reporter[Symbol.asyncDispose]();
    expect(reporter.attack(ATTACK).record).toBeUndefined();
  });
});

test('flush and close reject invalid options, and close can be called again', async () => {
  const { reporter, records } = openReporter();
  const refused = expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['deadlineMs'] });
  await expect(reporter.close({ deadlineMs: -1 })).rejects.toThrow(refused);
  await expect(reporter.flush({ deadlineMs: -1 })).rejects.toThrow(refused);
  await expect(reporter.flush({ signal: 1 as never })).rejects.toThrow(
    expect.objectContaining({ path: ['signal'] }),
  );
  reporter.attack(ATTACK);
  expect(records()).toHaveLength(1);
  expect(await reporter.close()).toMatchObject({ returned: [] });
});

test('flush wraps an error of the host’s sender', async () => {
  const { reporter } = openReporter({ webhook: { send: fail, flush: fail, close: fail } });
  const cause = expect.objectContaining({ message: 'EIO' });
  await expect(reporter.flush()).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED', cause });
});

test('flush waits for the log, too, if the sender fails', async () => {
  let isFlushed = false;
  const flush = async () => {
    await nextTurn();
    isFlushed = true;
  };
  const { reporter } = openReporter({
    log: { write: () => {}, flush, close: flush },
    webhook: { send: fail, flush: fail, close: fail },
  });
  await expect(reporter.flush()).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
  expect(isFlushed).toBe(true);
});

test('flush does not wait for later events', async () => {
  const { reporter } = await openSendingReporter();
  reporter.attack(ATTACK);
  const over = new AbortController();
  const busy = (async () => {
    while (!over.signal.aborted) await reporter.attack(ATTACK).settled;
  })();
  await reporter.flush();
  over.abort();
  await busy;
  expect((await reporter.stats()).accepted).toBeGreaterThan(0);
});

test.each(['signal', 'deadlineMs'])(
  'flush resolves at its %s with the number of pending messages, and why they are pending',
  async (limit) => {
    const { reporter, receiver } = await openSendingReporter({}, { otherwise: { fault: 'hang' } });
    reporter.attack(ATTACK);
    await receiver.waitForRequests(1);
    const stop = new AbortController();
    const limits = limit === 'signal' ? { signal: stop.signal } : { deadlineMs: 20 };
    const flushed = reporter.flush(limits);
    if (limit === 'signal') stop.abort();
    const { failures, ...counts } = await flushed;
    expect(failures).toMatchObject([{ applicationId: 'shop-1', failure: 'deadline' }]);
    expect(counts).toEqual({ ...NOTHING_FLUSHED, pending: 1 });
  },
);
