/** Messages that are reported in one run go to the sender in one call, and each fares as if it had gone alone. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { Receipt } from '../../src/reporter/receipt.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import { MAX_BATCH_MESSAGES, SendBatcher } from '../../src/reporter/send-batcher.ts';
import { withSlowPromise } from '../helpers/promises.ts';
import { createFailingQueue, wrapQueue } from '../helpers/queues.ts';
import { openReceiver, openSender, SECRET } from '../helpers/sender.ts';
import { ATTACK, openReporter, SERVICE } from './open-reporter.ts';

/** Refused by the sender alone. */
const WRONG = { webhook: { message: { evil: true } } } as const;

function opened({ queue = createMemoryQueue(), modules, url = 'https://a.example' }: Given) {
  const calls: number[] = [];
  const counted = wrapQueue(queue, {
    enqueue: (entries) => {
      calls.push(entries.length);
      return queue.enqueue(entries);
    },
  });
  const { env: environment, name, svc_id } = SERVICE;
  const application = { name, environment, url, secret: SECRET, ...(modules && { modules }) };
  const settings = { applications: { [svc_id]: application } };
  const sender = openSender({ settings, queue: counted });
  return { ...openReporter({ log: false, webhook: sender }), sender, calls };
}

interface Given {
  readonly queue?: MessageQueue;
  readonly modules?: Readonly<Record<string, boolean>>;
  readonly url?: string;
}

const endsOf = (receipts: readonly Receipt[]) =>
  Promise.all(receipts.map(({ settled }) => settled));

const reportedWithOneInvalid = (reporter: Reporter) =>
  [{}, WRONG, {}].map((context) => reporter.attack(ATTACK, context));

const ENDS = ['delivered', 'rejected', 'delivered'];

const microtask = async (): Promise<void> => {};

describe('messages reported in one synchronous run', () => {
  test('are accepted in one call, in their order, and each gets its own result', async () => {
    const receiver = await openReceiver();
    const { reporter, calls } = opened(receiver);
    const receipts = [1, 2, 3].map(() => reporter.attack(ATTACK));
    const ends = await endsOf(receipts);
    expect(ends).toEqual(receipts.map(() => ({ outcome: 'delivered' })));
    expect(calls).toEqual([3]);
    const ids = receipts.map(({ message_id }) => message_id);
    expect(receiver.requests.flatMap(({ messageIds }) => messageIds)).toEqual(ids);
    await reporter.attack(ATTACK).settled;
    expect(calls).toEqual([3, 1]);
  });

  test('are sent in calls of at most MAX_BATCH_MESSAGES', async () => {
    const { reporter, calls } = opened({});
    for (let count = 0; count <= MAX_BATCH_MESSAGES; count += 1) reporter.attack(ATTACK);
    await expect.poll(async () => (await reporter.stats()).accepted).toBe(MAX_BATCH_MESSAGES + 1);
    // They are under way at the same time, and the longer one may have to give way.
    expect(calls.toSorted((one, other) => other - one)).toEqual([MAX_BATCH_MESSAGES, 1]);
  });

  test('are sent in separate calls if their modules differ', async () => {
    const { reporter, calls } = opened({ modules: { waf: true } });
    const reported = ['waf', 'rasp', 'waf'].map((module) => reporter.attack(ATTACK, { module }));
    const skipped = { outcome: 'skipped', reason: 'module-not-selected' };
    expect(await reported[1]?.settled).toEqual(skipped);
    await expect.poll(async () => (await reporter.stats()).accepted).toBe(2);
    expect(calls).toEqual([1, 1]);
  });
});

describe('a call of the sender', () => {
  test('accepts no message after its end, also with a replaced Promise', async () => {
    const { reporter, sender } = opened({});
    await sender.close();
    const receipts: Receipt[] = [];
    await withSlowPromise(async () => {
      receipts.push(reporter.attack(ATTACK));
      // Microtasks alone, in which a sender that is closed refuses the call.
      for (let count = 0; count < 30; count += 1) await microtask();
      receipts.push(reporter.attack(ATTACK));
    });
    const ends = await endsOf(receipts);
    const closed = { outcome: 'rejected', reason: 'ERR_SENDER_CLOSED' };
    expect(ends).toEqual([closed, closed]);
  });

  test('fails all messages of the run when it throws synchronously', async () => {
    const reason = new Error('at once');
    const batcher = new SendBatcher(() => {
      throw reason;
    });
    const results: unknown[] = [];
    const message = { message_id: 'a', message_type: 'test', message: {} };
    for (const selection of [{}, {}]) {
      batcher.send(message, selection, (result) => results.push(result));
    }
    await batcher.waitForAnswers();
    const failed = { status: 'rejected', reason };
    expect(results).toEqual([failed, failed]);
  });
});

test('the host’s own sender gets one plain message in each call, and may change its selection', async () => {
  const given: unknown[] = [];
  const selections: object[] = [];
  const send = async (messages: readonly unknown[], selection: object) => {
    given.push(...messages);
    selections.push(Object.assign(selection, { seen: selections.length }));
    return { accepted: ['any'], skipped: [] };
  };
  const webhook = { send, flush: async () => ({}), close: async () => ({}) } as never;
  const { reporter } = openReporter({ webhook });
  for (let count = 0; count < 3; count += 1) reporter.attack(ATTACK);
  await reporter.flush();
  expect((await reporter.stats()).accepted).toBe(3);
  expect(given[0]).toStrictEqual({
    message_id: expect.any(String),
    message_type: 'security_event',
    message: expect.any(Object),
  });
  expect(selections).toEqual([{ seen: 0 }, { seen: 1 }, { seen: 2 }]);
});

describe('valid messages beside an invalid one', () => {
  test.each(['close', 'flush'] as const)(
    'are accepted before a %s of the host’s sender in the same run',
    async (method) => {
      const { reporter, sender } = opened(await openReceiver());
      const receipts = reportedWithOneInvalid(reporter);
      expect(await sender[method]()).toMatchObject({ delivered: 2 });
      expect((await endsOf(receipts)).map(({ outcome }) => outcome)).toEqual(ENDS);
    },
  );

  test('are accepted up to the quota before a close in the same run', async () => {
    const receiver = await openReceiver();
    const queue = createMemoryQueue({ maxPendingMessages: 2 });
    const { reporter, sender, rejected } = opened({ ...receiver, queue });
    for (let count = 0; count < 3; count += 1) reporter.attack(ATTACK);
    expect(await sender.close()).toMatchObject({ delivered: 2 });
    expect(rejected.map(({ error }) => error.code)).toEqual(['ERR_QUEUE_FULL']);
  });

  test('are rejected with ERR_SENDER_CLOSED if the queue closes before they are sent singly', async () => {
    const queue = createMemoryQueue();
    const refusing = wrapQueue(queue, {
      enqueue: async (entries) => {
        if (entries.length === 1) throw new SecurityEventError('ERR_QUEUE_CLOSED');
        throw new SecurityEventError('ERR_QUEUE_FULL');
      },
    });
    const { reporter, sender } = opened({ queue: refusing });
    const receipts = [reporter.attack(ATTACK), reporter.attack(ATTACK)];
    await sender.close({ deadlineMs: 0 });
    const ends = await endsOf(receipts);
    const closed = { outcome: 'rejected', reason: 'ERR_SENDER_CLOSED' };
    expect(ends).toEqual([closed, closed]);
  });
});

describe('a failed call', () => {
  test('rejects only the message that it is about, as if that had been sent alone', async () => {
    const { reporter, rejected } = opened(await openReceiver());
    const receipts = reportedWithOneInvalid(reporter);
    expect((await endsOf(receipts)).map(({ outcome }) => outcome)).toEqual(ENDS);
    expect(rejected).toHaveLength(1);
    expect(rejected[0]?.error).toMatchObject({
      code: 'ERR_INVALID_MESSAGE',
      input: [{ message_id: receipts[1]?.message_id }],
    });
    expect(rejected[0]?.error.path.slice(0, 2)).toEqual(['webhook', 'message']);
    expect(rejected[0]?.error.message).toContain('webhook.message.');
    expect(await reporter.stats()).toMatchObject({ accepted: 2, rejected: { webhook: 1 } });
  });

  test('rejects each message when the queue fails, and sends none again', async () => {
    const { queue, loseAnswer } = createFailingQueue(createMemoryQueue());
    loseAnswer('enqueue');
    const { reporter, rejected, calls } = opened({ queue });
    const receipts = [reporter.attack(ATTACK), reporter.attack(ATTACK)];
    const ends = await endsOf(receipts);
    const failed = { outcome: 'rejected', reason: 'ERR_QUEUE_FAILED' };
    expect(ends).toEqual([failed, failed]);
    expect(calls).toEqual([2]);
    const inputs = rejected.map(({ error }) => error.input);
    expect(inputs).toMatchObject(receipts.map(({ message_id }) => [{ message_id }]));
    expect(rejected[0]?.error).not.toBe(rejected[1]?.error);
  });

  test('is reported in the context of its event', async () => {
    const store = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const sender = openSender({ url: 'https://a.example', secret: SECRET });
    const onRejected = () => seen.push(store.getStore());
    const { reporter } = openReporter({ log: false, webhook: sender, onRejected });
    const receipts = ['first', 'second'].map((name) =>
      store.run(name, () => reporter.attack(ATTACK, WRONG)),
    );
    for (const { settled } of receipts) await settled;
    expect(seen).toEqual(['first', 'second']);
  });
});
