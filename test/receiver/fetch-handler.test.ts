/** The handler of Fetch requests, for Hono, Next and others. */
import http from 'node:http';
import { expect, test } from 'vitest';
import {
  createWebhookReceiver,
  fetchHandler,
  type ReceiverOptions,
} from '../../src/receiver/index.ts';
import { sampleMessage } from '../../src/testing/index.ts';
import { sign } from '../../src/webhook/signature.ts';
import { getRequestListener, listening } from '../helpers/hosts.ts';
import { deferred } from '../helpers/promises.ts';

const SECRET = 'secret-of-the-test';

function receiverOf(options: Partial<ReceiverOptions> = {}) {
  const handled: (string | null)[] = [];
  const receiver = createWebhookReceiver({
    secret: SECRET,
    onMessages: (messages) => void handled.push(...messages.map(({ id }) => id)),
    ...options,
  });
  return { receiver, handled };
}

const BODY = JSON.stringify([{ ...sampleMessage('test'), message_id: 'a' }]);

const initOf = (body: string) => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', 'x-svc-integrity': sign(body, SECRET) },
});
const requestOf = (body: string) => new Request('http://a/', initOf(body));

test.each([
  ['was read', (request: Request) => request.text()],
  ['is being read', (request: Request) => request.body?.getReader()],
])('rejects a Request whose body %s', async (_how, read) => {
  const request = requestOf('[]');
  await read(request);
  await expect(fetchHandler(receiverOf().receiver)(request)).rejects.toMatchObject({
    code: 'ERR_RAW_BODY_GONE',
  });
});

test('answers a Request without a body', async () => {
  const { body: _, ...init } = initOf('');
  const answer = await fetchHandler(receiverOf().receiver)(new Request('http://a/', init));
  expect([answer.status, await answer.text()]).toEqual([400, 'body-invalid\n']);
});

test('passes the handling of the messages to waitUntil', async () => {
  const { receiver, handled } = receiverOf();
  const works: Promise<unknown>[] = [];
  const handle = fetchHandler(receiver, { waitUntil: (work) => works.push(work) });
  const url = await listening(http.createServer(getRequestListener(handle)));
  expect((await fetch(url, initOf(BODY))).status).toBe(204);
  expect(works).toHaveLength(1);
  await works[0];
  expect(handled).toEqual(['a']);
});

const throwing = (): never => {
  throw new TypeError('Illegal invocation');
};

test('answers after handling if waitUntil throws', async () => {
  const { promise, resolve } = deferred();
  const reported: string[] = [];
  const { receiver } = receiverOf({
    onMessages: async () => {
      await promise;
      reported.push('handled');
    },
  });
  const handle = fetchHandler(receiver, { waitUntil: throwing });
  const answering = handle(requestOf(BODY)).then(({ status }) =>
    reported.push(`answered ${status}`),
  );
  resolve();
  await answering;
  expect(reported).toEqual(['handled', 'answered 204']);
});

test('ignores a rejection of waitUntil', async () => {
  const { receiver, handled } = receiverOf();
  const waitUntil = (async () => {
    throw new Error('later');
  }) as () => void;
  const answer = await fetchHandler(receiver, { waitUntil })(requestOf(BODY));
  await receiver.idle();
  expect([answer.status, handled]).toEqual([204, ['a']]);
});

/** Like Next's subclass of Request. */
class OwnRequest extends Request {
  readonly geo = {};
}

test('can be a route of Next', async () => {
  const { receiver, handled } = receiverOf({ answer: 'handled' });
  const route: {
    POST: (request: OwnRequest, context: { params: Promise<object> }) => Promise<Response>;
  } = { POST: fetchHandler(receiver) };
  const request = new OwnRequest('http://a/hooks', initOf(BODY));
  const answer = await route.POST(request, { params: Promise.resolve({}) });
  expect([answer.status, await answer.text(), handled]).toEqual([204, '', ['a']]);
});
