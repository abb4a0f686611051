/** The handler of Fetch requests, for Hono, Next and others. */
import http from 'node:http';
import { expect, test } from 'vitest';
import { fetchHandler } from '../../src/receiver/index.ts';
import { getRequestListener, listening } from '../helpers/hosts.ts';
import { deferred } from '../helpers/promises.ts';
import { receiverOf, signedInit } from './receivers.ts';

const request = () => new Request('http://a/', signedInit());

test.each([
  ['was read', (given: Request) => given.text()],
  ['is being read', (given: Request) => given.body?.getReader()],
])('rejects a Request whose body %s', async (_how, read) => {
  const given = request();
  await read(given);
  await expect(fetchHandler(receiverOf().receiver)(given)).rejects.toMatchObject({
    code: 'ERR_RAW_BODY_GONE',
  });
});

test('answers a Request without a body', async () => {
  const { body: _, ...init } = signedInit('');
  const answer = await fetchHandler(receiverOf().receiver)(new Request('http://a/', init));
  expect([answer.status, await answer.text()]).toEqual([400, 'body-invalid\n']);
});

test('passes the handling of the messages to waitUntil', async () => {
  const { receiver, handled } = receiverOf({ answer: 'received' });
  const works: Promise<unknown>[] = [];
  const handle = fetchHandler(receiver, { waitUntil: (work) => works.push(work) });
  const url = await listening(http.createServer(getRequestListener(handle)));
  expect((await fetch(url, signedInit())).status).toBe(204);
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
    answer: 'received',
    onMessages: async () => {
      await promise;
      reported.push('handled');
    },
  });
  const handle = fetchHandler(receiver, { waitUntil: throwing });
  const answering = handle(request()).then(({ status }) => reported.push(`answered ${status}`));
  resolve();
  await answering;
  expect(reported).toEqual(['handled', 'answered 204']);
});

test('ignores a rejection of waitUntil; idle waits for the messages', async () => {
  const { receiver, handled } = receiverOf({ answer: 'received' });
  const waitUntil = (async () => {
    throw new Error('later');
  }) as () => void;
  const answer = await fetchHandler(receiver, { waitUntil })(request());
  await receiver.idle();
  expect([answer.status, handled]).toEqual([204, ['a']]);
});
