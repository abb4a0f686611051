import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { ClaimedMessage, MessageQueue } from '../../src/queue/queue.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import { createFailingQueue, type FailingQueue, wrapQueue } from '../helpers/queues.ts';
import {
  applicationsOf,
  batches,
  ids,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  PATIENCE,
  rejection,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const NONE = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0, pending: 0 } as const;

async function openFailing(options: Parameters<typeof senderTo>[1] = {}) {
  const receiver = await openReceiver();
  const failing = createFailingQueue(createMemoryQueue());
  const told = listen();
  const sender = senderTo(receiver, { ...options, queue: failing.queue });
  return { receiver, ...failing, told, sender };
}

describe('a queue that fails', () => {
  test('at taking messages in refuses the call, and hands it back', async () => {
    const { sender, receiver, fail } = await openFailing();
    fail('enqueue', 1);
    const given = messages(3);
    const error = await rejection(sender.send(given));
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED', input: given });
    expect(await sender.flush()).toEqual(NONE);
    await sender.send(given);
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 3 });
    expect(batches(receiver)).toEqual([ids(3)]);
  });

  test('in another way than it should hands the call back all the same', async () => {
    const receiver = await openReceiver();
    const cause = new Error('a driver of the host');
    const queue = wrapQueue(createMemoryQueue(), { enqueue: () => Promise.reject(cause) });
    const sender = senderTo(receiver, { queue });
    const given = messages(2);
    const error = await rejection(sender.send(given));
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED', input: given, cause });
  });

  test('to take a message that is too large for it tells its place among those that were given', async () => {
    const queue = wrapQueue(createMemoryQueue(), {
      enqueue: () => Promise.reject(new SecurityEventError('ERR_MESSAGE_TOO_LARGE', { path: [1] })),
    });
    const { url } = await openReceiver();
    const sent = { name: 'one', environment: 'test', url, secret: SECRET };
    const settings = { applications: { sent, unsent: { ...sent, modules: { waf: false } } } };
    const sender = openSender({ settings, queue });
    const given = ['sent', 'unsent', 'sent'].map((id, index) => message(`${index}`, id));
    const error = await rejection(sender.send(given, { module: 'waf' }));
    expect(error).toMatchObject({ code: 'ERR_MESSAGE_TOO_LARGE', path: [2], input: given });
  });

  test('by one error for several calls hands each its own messages', async () => {
    const receiver = await openReceiver();
    const detail = 'the disk is full';
    const shared = new SecurityEventError('ERR_QUEUE_FAILED', {
      detail,
      cause: new Error('ENOSPC'),
    });
    const queue = wrapQueue(createMemoryQueue(), { enqueue: () => Promise.reject(shared) });
    const sender = senderTo(receiver, { queue });
    const calls = [messages(1), [message('m-1')]];
    const errors = await Promise.all(calls.map((given) => rejection(sender.send(given))));
    expect(errors.map((error) => (error as SecurityEventError).input)).toEqual(calls);
    for (const error of errors) {
      expect(error).toMatchObject({ message: shared.message, cause: { message: 'ENOSPC' } });
    }
    expect(shared.input).toBeUndefined();
  });

  test('at being opened says what the queue said, to each call', async () => {
    const detail = '/var/queue';
    const open = () => Promise.reject(new SecurityEventError('ERR_QUEUE_FOREIGN', { detail }));
    const queue = wrapQueue(createMemoryQueue(), { open });
    const sender = openSender({ url: 'https://hooks.example/', secret: SECRET, queue });
    const errors = await Promise.all([
      rejection(sender.send(messages(1))),
      rejection(sender.stats()),
    ]);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_QUEUE_FOREIGN' });
      expect((error as Error).message).toContain(detail);
    }
  });

  test('at being opened refuses calls, each with its own messages, and is opened again', async () => {
    const { sender, receiver, fail } = await openFailing({ role: 'enqueue' });
    fail('open', 1);
    const [first, second] = [messages(1), [message('m-1')]];
    const errors = await Promise.all([
      rejection(sender.send(first)),
      rejection(sender.send(second)),
    ]);
    expect(errors).toMatchObject([
      { code: 'ERR_QUEUE_FAILED', input: first },
      { code: 'ERR_QUEUE_FAILED', input: second },
    ]);
    await sender.send(messages(2));
    expect(await sender.stats()).toMatchObject({ accepted: 2, pending: 2 });
    expect(receiver.requests).toEqual([]);
  });

  test('at giving messages out is asked again, and nothing is lost', async () => {
    const { sender, clock, poster, told } = startEngine({
      options: (time) => {
        const { queue, fail } = createFailingQueue(createMemoryQueue({}, time));
        fail('claim', 2);
        return { queue };
      },
    });
    await sender.send(messages(3));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 3 });
    expect(poster.posts.map(({ messages: sent }) => sent.length)).toEqual([3]);
    const failures = told.flatMap(([name, event]) => (name === 'queue-failed' ? [event] : []));
    expect(failures).toMatchObject([{ operation: 'claim' }, { operation: 'claim' }]);
    const [first, second] = failures.map((event) => event['retryInMs']);
    expect(first).toBeGreaterThanOrEqual(100);
    expect(first).toBeLessThanOrEqual(125);
    expect(second).toBeGreaterThanOrEqual(500);
    expect(second).toBeLessThanOrEqual(625);
  });

  test('at settling is told again what was delivered, and nothing is sent twice', async () => {
    const { sender, receiver, fail, told } = await openFailing();
    fail('settle', 1);
    await sender.send(messages(3));
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 3 });
    expect(batches(receiver)).toEqual([ids(3)]);
    expect(told.of('queue-failed')).toMatchObject([{ operation: 'settle' }]);
    expect(await sender.stats()).toMatchObject({ delivered: 3, pending: 0 });
  });

  test('whose answer to a settling is lost does not leave a flush waiting for ever', async () => {
    const { sender, receiver, loseAnswer, told } = await openFailing();
    loseAnswer('settle');
    await sender.send(messages(3));
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 3 });
    expect(batches(receiver)).toEqual([ids(3)]);
    expect(told.of('queue-failed')).toMatchObject([{ operation: 'settle' }]);
  });

  test('at settling until the lease is over makes the messages be sent again, counted', async () => {
    const queues: FailingQueue[] = [];
    const { sender, clock, poster } = startEngine({
      options: (time) => {
        const failing = createFailingQueue(createMemoryQueue({}, time));
        queues.push(failing);
        return { queue: failing.queue, leaseMs: 150, deadlineMs: 100 };
      },
    });
    for (const { fail } of queues) fail('settle', 2);
    await sender.send(messages(2));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 2 });
    const counts = poster.posts.map(({ messages: sent }) => sent.map((one) => one['retry_count']));
    expect(counts).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  test('at its maintenance is asked again by the next round', async () => {
    const { sender, fail, told } = await openFailing({ maintenanceIntervalMs: 5 });
    fail('expire', 1);
    await told.until('queue-failed');
    expect(told.of('queue-failed')).toMatchObject([{ operation: 'maintenance', retryInMs: 5 }]);
    await sender.send(messages(1));
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 1 });
  });

  test('with a damaged message leaves the process alive, and others are delivered', async () => {
    const { sender, clock, poster, told } = startEngine({
      options: (time) => {
        const queue = createMemoryQueue({}, time);
        let isDamaged = true;
        const claim: MessageQueue['claim'] = async (request) => {
          const claimed = await queue.claim(request);
          if (!('id' in claimed) || !isDamaged) return claimed;
          isDamaged = false;
          const damaged = { ...(claimed.messages[0] as ClaimedMessage), stored: null as never };
          return { ...claimed, messages: [damaged] };
        };
        return { queue: wrapQueue(queue, { claim }), leaseMs: 150, deadlineMs: 100 };
      },
    });
    await sender.send(messages(1));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 1 });
    expect(poster.posts).toHaveLength(1);
    expect(told).toContainEqual(['queue-failed', { operation: 'claim', retryInMs: 150 }]);
  });

  test('at settling for ever does not hold up close', async () => {
    const { sender, receiver, fail } = await openFailing();
    fail('settle', 1_000_000);
    await sender.send(messages(2));
    await receiver.waitForRequests(1, PATIENCE);
    const report = await sender.close({ deadlineMs: 50 });
    expect(report.returned.map(({ message_id }) => message_id)).toEqual(ids(2));
    expect(batches(receiver)).toEqual([ids(2)]);
  });

  test('at looking a closed destination up does not make a call fail that others were taken of', async () => {
    const gone = await openReceiver({ otherwise: { status: 410 } });
    const healthy = await openReceiver();
    const { queue, fail } = createFailingQueue(createMemoryQueue());
    const settings = applicationsOf({ gone, healthy });
    const sender = openSender({ queue, settings, goneConfirmMs: 0 });
    await sender.send([message('m-0', 'gone')]);
    await sender.flush();
    fail('applicationState', 1);
    expect(await sender.send([message('m-1', 'gone'), message('m-2', 'healthy')])).toEqual({
      accepted: ['m-2'],
      skipped: [{ index: 0, applicationId: 'gone', reason: 'destination-closed' }],
    });
    await sender.flush();
    expect(batches(healthy)).toEqual([['m-2']]);
  });

  test('at storing for a destination that was reopened skips its messages, and says why', async () => {
    const gone = await openReceiver({ otherwise: { status: 410 } });
    const next = await openReceiver();
    let { url } = gone;
    const { queue: failing, fail } = createFailingQueue(createMemoryQueue());
    const queue = wrapQueue(failing, {
      reopenApplication: async (id) => {
        await failing.reopenApplication(id);
        fail('enqueue', 1);
      },
    });
    const shop = { name: 'shop', environment: 'test', url: next.url, secret: SECRET };
    const settings = (id: string) => (id === 'moved' ? { ...shop, url } : shop);
    const sender = openSender({ queue, settings, goneConfirmMs: 0 });
    await sender.send([message('m-0', 'moved')]);
    await sender.flush();
    ({ url } = next);
    const given = [message('m-1', 'moved'), message('m-2', 'healthy')];
    expect(await sender.send(given)).toEqual({
      accepted: ['m-2'],
      skipped: [{ index: 0, applicationId: 'moved', reason: 'queue-failed' }],
    });
    expect(await sender.send([message('m-1', 'moved')])).toMatchObject({ accepted: ['m-1'] });
  });

  test.each([
    ['its own code', new SecurityEventError('ERR_QUEUE_CLOSED'), 'ERR_QUEUE_CLOSED'],
    [
      'the code of what it failed with',
      new SecurityEventError('ERR_QUEUE_FAILED', {
        cause: Object.assign(new Error('no server'), { code: 'ECONNREFUSED' }),
      }),
      'ECONNREFUSED',
    ],
    ['no code', new Error('a driver of the host'), undefined],
    ['no code that is a word', Object.assign(new Error('x'), { code: 7 }), undefined],
  ])('tells %s', async (_, error, errorCode) => {
    const queue = wrapQueue(createMemoryQueue(), { expire: () => Promise.reject(error) });
    const told = listen();
    openSender({ url: 'https://one.example', secret: SECRET, queue, maintenanceIntervalMs: 5 });
    await told.until('queue-failed');
    expect(told.of('queue-failed')[0]?.['errorCode']).toBe(errorCode);
  });
});
