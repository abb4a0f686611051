import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import http from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { forward } from '../../../src/cli/listen/forward.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { deferred } from '../../helpers/promises.ts';
import { listenOn } from '../../helpers/servers.ts';

const targetOf = async (serve: http.RequestListener): Promise<URL> =>
  new URL(`http://127.0.0.1:${await listenOn(http.createServer(serve))}/`);

const HEAD_CAME = 'http.client.response.finish';

/** Resolves when the head of the target's answer has arrived. */
function headFrom({ host }: URL): Promise<void> {
  const { promise, resolve } = deferred();
  const listen = (message: unknown): void => {
    const { request } = message as { readonly request: http.ClientRequest };
    if (request.getHeader('host') === host) resolve();
  };
  subscribe(HEAD_CAME, listen);
  onTestFinished(() => void unsubscribe(HEAD_CAME, listen));
  return promise;
}

const REQUEST = { headers: {}, body: Buffer.from('[]') };

test.each([
  [
    'has not answered at all',
    undefined,
    { answer: { status: 502, headers: {}, text: 'not-forwarded\n' }, failure: 'timeout' },
  ],
  [
    'never stops answering',
    (response: http.ServerResponse) => {
      response.writeHead(202, { 'retry-after': '3' });
      response.write('a');
    },
    { answer: { status: 202, headers: { 'retry-after': '3' }, text: '' } },
  ],
])('a target that %s is left after 14 s, idle or not', async (_, answer, expected) => {
  const clock = createFakeClock();
  const came = deferred();
  const gone = deferred();
  const url = await targetOf((request, response) => {
    // Sends something now and then, so it is never idle until the deadline.
    const dripping = setInterval(() => response.headersSent && response.write('a'), 5);
    response.once('close', () => {
      clearInterval(dripping);
      gone.resolve();
    });
    answer?.(response);
    request.resume();
    came.resolve();
  });
  const head = headFrom(url);
  const { signal } = new AbortController();
  let isOver = false;
  const forwarded = forward(REQUEST, { to: url, name: 'here', signal, clock }).finally(() => {
    isOver = true;
  });
  await came.promise;
  if (answer !== undefined) await head;
  await clock.advance(13_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(await forwarded).toEqual(expected);
  await gone.promise;
});
