/** Accepted messages that are not handled yet: `idle` waits for them, and their bytes are limited. */
import { expect, test } from 'vitest';
import {
  createWebhookReceiver,
  fetchHandler,
  type ReceiverOptions,
  type WebhookRequest,
} from '../../src/receiver/index.ts';
import { sampleMessage } from '../../src/testing/index.ts';
import { sign } from '../../src/webhook/signature.ts';
import { deferred } from '../helpers/promises.ts';

const SECRET = 'secret-of-the-test';
const BODY = JSON.stringify([sampleMessage('test')]);
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  'x-svc-integrity': sign(BODY, SECRET),
};

const receiverOf = (options: Partial<ReceiverOptions>) =>
  createWebhookReceiver({ secret: SECRET, duplicates: false, onMessages: () => {}, ...options });

const requestOf = (read: Promise<void> = Promise.resolve()): WebhookRequest => ({
  method: 'POST',
  header: (name) => HEADERS[name],
  readBody: async () => {
    await read;
    return Buffer.from(BODY);
  },
});

test('idle waits for messages that are answered, but not handled yet', async () => {
  const handled: number[] = [];
  const receiver = receiverOf({ onMessages: ({ length }) => handled.push(length) });
  const request = new Request('http://a/', { method: 'POST', body: BODY, headers: HEADERS });
  expect((await fetchHandler(receiver)(request)).status).toBe(204);
  await receiver.idle();
  expect(handled).toEqual([1]);
});

test('concurrent requests are accepted up to maxHandlingBytes', async () => {
  const [read, held] = [deferred(), deferred()];
  const receiver = receiverOf({ maxHandlingBytes: 1, onMessages: () => held.promise });
  const answering = [1, 2, 3].map(() => receiver.receive(requestOf(read.promise)));
  read.resolve();
  const answers = await Promise.all(answering);
  expect(answers.map(({ status }) => status)).toEqual([204, 503, 503]);
  const handling = answers[0]?.handle?.();
  expect((await receiver.receive(requestOf())).status).toBe(503);
  held.resolve();
  await handling;
  expect((await receiver.receive(requestOf())).status).toBe(204);
});

test.each(['received', 'handled'] as const)(
  'failed messages no longer count, with the answer %s',
  async (answer) => {
    const reported: unknown[] = [];
    const receiver = receiverOf({
      answer,
      maxHandlingBytes: 1,
      onMessages: () => {
        throw new Error('at once');
      },
      onError: (error) => reported.push(error),
    });
    for (let times = 0; times < 2; times += 1) {
      const { status, handle } = await receiver.receive(requestOf());
      expect(status).toBe(answer === 'received' ? 204 : 500);
      await handle?.();
    }
    await receiver.idle();
    expect(reported).toEqual([new Error('at once'), new Error('at once')]);
  },
);
