import { describe, expect, test } from 'vitest';
import { createWebhookSender } from '../../src/delivery/create-sender.ts';
import type { SkipReason } from '../../src/delivery/sender.ts';
import { SecurityEventError, type SecurityEventErrorCode } from '../../src/errors.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { ClaimedMessage } from '../../src/queue/queue.ts';
import { startEngine, startEngineOn } from '../helpers/fake-engine.ts';
import { createFailingQueue, wrapQueue } from '../helpers/queues.ts';
import {
  applicationsOf,
  batches,
  GENEROUS_TIMEOUT,
  ids,
  listen,
  message,
  messages,
  NONE,
  openReceiver,
  openSender,
  rejection,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

async function openFailing(options: Parameters<typeof senderTo>[1] = {}) {
  const receiver = await openReceiver();
  const failing = createFailingQueue(createMemoryQueue());
  const published = listen();
  const sender = senderTo(receiver, { ...options, queue: failing.queue });
  return { receiver, ...failing, published, sender };
}

const fails = () => Promise.reject(new Error('no server'));

describe('a queue that fails', () => {
  test('at enqueuing, also with an error of its own, rejects the call, with its messages', async () => {
    const receiver = await openReceiver();
    const memory = createMemoryQueue();
    const cause = new Error('a driver of the host');
    let calls = 0;
    const enqueue: typeof memory.enqueue = async (...call) => {
      calls += 1;
      if (calls === 1) throw cause;
      return await memory.enqueue(...call);
    };
    const sender = senderTo(receiver, { queue: wrapQueue(memory, { enqueue }) });
    const given = messages(3);
    const error = await rejection(sender.send(given));
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED', input: given, cause });
    expect(await sender.flush()).toEqual(NONE);
    await sender.send(given);
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 3 });
    expect(batches(receiver)).toEqual([ids(3)]);
  });

  test('because a message is too large reports the index of the message in the call', async () => {
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

  test('by one error for several calls rejects each with its own messages', async () => {
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

  test('at opening rejects calls, each with its own messages, and is opened again', async () => {
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

  test('at opening rejects flush, since it is unknown what waits, and has no maintenance', async () => {
    let isDown = true;
    const { sender, clock, published } = startEngineOn((memory) => ({
      open: async (state) => {
        if (isDown) throw new Error('no server');
        return await memory.open(state);
      },
    }));
    const flushed = rejection(sender.flush({ deadlineMs: 200_000 }));
    const failed = { code: 'ERR_QUEUE_FAILED', cause: { message: 'no server' } };
    expect(await clock.runUntilSettled(flushed)).toMatchObject(failed);
    const operations = published.map(([, event]) => (event as { operation: string }).operation);
    expect(new Set(operations)).toEqual(new Set(['claim']));
    isDown = false;
    expect(await clock.runUntilSettled(sender.flush())).toEqual(NONE);
  });

  test('at opening ends the flush of a process that only enqueues, and rejects its close', async () => {
    const { queue, fail } = createFailingQueue(createMemoryQueue());
    fail('open', 1);
    const url = 'http://127.0.0.1:1/';
    const sender = createWebhookSender({
      url,
      secret: SECRET,
      network: 'delegated',
      queue,
      role: 'enqueue',
    });
    await rejection(sender.send(messages(1)));
    expect(await sender.flush()).toEqual(NONE);
    expect(await rejection(sender.close())).toMatchObject({ code: 'ERR_QUEUE_FAILED' });
  });

  test('whose answer to a settling is lost still has a destination closed at once', async () => {
    const { sender, clock, published } = startEngine({
      steps: [410],
      options: (time) => {
        const { queue, loseAnswer } = createFailingQueue(createMemoryQueue({}, time));
        loseAnswer('settle');
        return { queue, goneConfirmMs: 0 };
      },
    });
    await sender.send(messages(2));
    await clock.advance(1000);
    const names = published.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(['queue-failed', 'destination-closed', 'dead']));
    expect(await sender.stats()).toMatchObject({ accepted: 2, dead: 2 });
  });

  test.each([
    ['is not reported as lost', undefined, {}],
    ['is reported as lost if the queue cannot be asked', true, { applicationState: fails }],
  ])('whose answer to a failed attempt is lost: the attempt %s', async (_, isLost, more) => {
    let hasFailed = false;
    const { sender, clock, published } = startEngineOn(
      (queue) => ({
        ...more,
        settle: async (...call) => {
          const answer = await queue.settle(...call);
          if (hasFailed) return answer;
          hasFailed = true;
          throw new Error('no answer');
        },
      }),
      { steps: [503, 200] },
    );
    await sender.send(messages(2));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 2 });
    const settled = published.filter(([name]) => name === 'attempt-settled');
    expect(settled.map(([, event]) => event['isLost'])).toEqual([isLost, undefined]);
  });

  test('whose failover lost a settled claim sends the messages again before it reports them', async () => {
    let hasFailed = false;
    const { sender, clock, poster, published } = startEngineOn((queue) => ({
      // The server fails while it settles, and the standby that takes over does not know the claim.
      settle: async (claim, results, state) => {
        if (hasFailed) return await queue.settle(claim, results, state);
        hasFailed = true;
        await queue.release(claim);
        throw new Error('the server went away');
      },
    }));
    await sender.send(messages(2));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 2 });
    expect(poster.posts).toHaveLength(2);
    await clock.advance(1000);
    const settled = published.filter(([name]) => name === 'attempt-settled');
    expect(settled.map(([, { isLost }]) => isLost)).toEqual([undefined, true]);
    expect(await sender.stats()).toMatchObject({ accepted: 2, delivered: 2 });
  });

  test('at settling until the lease has expired has the messages sent again, with a higher count', async () => {
    let failures = 0;
    const { sender, clock, poster } = startEngineOn(
      (queue) => ({
        settle: async (...call) => {
          failures += 1;
          if (failures > 2) return await queue.settle(...call);
          throw new Error('no server');
        },
      }),
      { options: { leaseMs: 150, deadlineMs: 100 } },
    );
    await sender.send(messages(2));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 2 });
    const counts = poster.posts.map(({ messages: sent }) => sent.map((one) => one['retry_count']));
    expect(counts).toEqual([
      [0, 0],
      [1, 1],
    ]);
  });

  test('with a damaged message leaves the process alive, and others are delivered', async () => {
    let isDamaged = true;
    const { sender, clock, poster, published } = startEngineOn(
      (queue) => ({
        claim: async (request) => {
          const claimed = await queue.claim(request);
          if (!('id' in claimed) || !isDamaged) return claimed;
          isDamaged = false;
          const stored = {
            get: () => {
              throw Object.assign(new Error('damaged'), { code: 'ERR_DAMAGED' });
            },
          };
          const [first] = claimed.messages as [ClaimedMessage];
          return { ...claimed, messages: [Object.defineProperties({ ...first }, { stored })] };
        },
      }),
      { options: { leaseMs: 150, deadlineMs: 100 } },
    );
    await sender.send(messages(1));
    const flushed = await clock.runUntilSettled(sender.flush());
    expect(flushed).toEqual({ ...NONE, delivered: 1 });
    expect(poster.posts).toHaveLength(1);
    expect(published).toContainEqual([
      'queue-failed',
      { operation: 'claim', retryInMs: 150, errorCode: 'ERR_DAMAGED' },
    ]);
  });

  test('at settling for ever does not hold up close', async () => {
    const { sender, receiver, fail } = await openFailing();
    fail('settle', 1_000_000);
    await sender.send(messages(2));
    await receiver.waitForRequests(1, GENEROUS_TIMEOUT);
    const report = await sender.close({ deadlineMs: 50 });
    expect(report.returned.map(({ message_id }) => message_id)).toEqual(ids(2));
    expect(batches(receiver)).toEqual([ids(2)]);
  });

  test('at looking up a closed destination does not make a call fail that others were accepted of', async () => {
    const gone = await openReceiver({ otherwise: { status: 410 } });
    const healthy = await openReceiver();
    const published = listen();
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
    expect(published.of('queue-failed')).toMatchObject([{ operation: 'enqueue' }]);
  });

  test.each<[SkipReason, SecurityEventErrorCode, number]>([
    ['queue-failed', 'ERR_QUEUE_FAILED', 1],
    ['queue-full', 'ERR_QUEUE_FULL', 0],
  ])(
    'at storing for a reopened destination skips its messages with %s',
    async (reason, code, failures) => {
      const gone = await openReceiver({ otherwise: { status: 410 } });
      const next = await openReceiver();
      const published = listen();
      let { url } = gone;
      let isFailing = false;
      const memory = createMemoryQueue();
      const queue = wrapQueue(memory, {
        reopenApplication: async (id) => {
          await memory.reopenApplication(id);
          isFailing = true;
        },
        enqueue: (...given) => {
          if (!isFailing) return memory.enqueue(...given);
          isFailing = false;
          return Promise.reject(new SecurityEventError(code));
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
        skipped: [{ index: 0, applicationId: 'moved', reason }],
      });
      expect(published.of('queue-failed')).toHaveLength(failures);
      expect(await sender.send([message('m-1', 'moved')])).toMatchObject({ accepted: ['m-1'] });
    },
  );
});
