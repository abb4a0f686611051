import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createWebhookSender, sendWebhook } from '../../../src/index.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { sampleMessageToSend, startReceiver } from '../../../src/testing/index.ts';
import { createPoster } from '../../../src/webhook/http/client.ts';
import { loadUndici } from '../../../src/webhook/http/load-undici.ts';
import { listen } from '../../helpers/sender.ts';

vi.mock('../../../src/webhook/http/load-undici.ts', () => ({
  loadUndici: vi.fn<typeof loadUndici>(() =>
    Promise.reject(Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' })),
  ),
}));

const LOAD_UNDICI = '../../../src/webhook/http/load-undici.ts';
const APPLICATION = { id: 'shop-1', name: 'shop', environment: 'test' };

const REQUEST = {
  url: new URL('http://receiver.invalid/'),
  body: Buffer.from('[]'),
  headers: {},
};

beforeEach(() => {
  vi.mocked(loadUndici).mockClear();
});

test('without undici attempts fail with undici-missing, and close resolves', async () => {
  const poster = createPoster({ network: 'public', clock: systemClock });
  for (let sends = 0; sends < 2; sends += 1) {
    expect(await poster.post(REQUEST)).toMatchObject({
      kind: 'failure',
      code: 'undici-missing',
      // Says why, too: a bundle may have undici, but fail to load it.
      detail: expect.stringMatching(/undici could not be loaded .* \(ERR_MODULE_NOT_FOUND\)/),
    });
  }
  await expect(poster.close()).resolves.toBeUndefined();
});

test('undici is loaded again after it could not be loaded, and once for attempts at the same time', async () => {
  await using receiver = await startReceiver();
  const poster = createPoster({ network: 'allow-private', clock: systemClock });
  const post = () => poster.post({ ...REQUEST, url: new URL(receiver.url) });
  const failed = await Promise.all([post(), post()]);
  expect(loadUndici).toHaveBeenCalledTimes(1);
  vi.mocked(loadUndici).mockImplementationOnce(
    (await vi.importActual<{ loadUndici: typeof loadUndici }>(LOAD_UNDICI)).loadUndici,
  );
  const loaded = [...(await Promise.all([post(), post()])), await post()];
  await poster.close();
  expect(failed).toMatchObject([{ code: 'undici-missing' }, { code: 'undici-missing' }]);
  expect(loaded).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }]);
  expect(loadUndici).toHaveBeenCalledTimes(2);
});

test('undici is not loaded for an attempt that ends before it starts', async () => {
  const poster = createPoster({ network: 'public', clock: systemClock });
  const signal = AbortSignal.abort();
  const over = createPoster({ network: 'public', clock: systemClock, signal });
  const aborted = await over.post(REQUEST);
  await Promise.all([over.close(), poster.close()]);
  const closed = await poster.post(REQUEST);
  expect(aborted).toEqual({
    kind: 'failure',
    code: 'aborted',
    detail:
      'The attempt was stopped by its caller (signal); send again if the messages are still wanted.',
    timings: { totalMs: expect.any(Number) },
  });
  expect(closed).toMatchObject({ code: 'aborted' });
  expect(loadUndici).not.toHaveBeenCalled();
});

describe('without undici', () => {
  const destination = { url: 'http://receiver.invalid/', secret: 'a secret' };
  const message = { ...sampleMessageToSend(), message_id: 'm-1' };

  test('sendWebhook rejects at once with the messages, because a retry would not help', async () => {
    const messages = [message];
    // Ends a call that retries after all.
    const options = { signal: AbortSignal.timeout(2000) };
    const call = sendWebhook(destination, messages, options);
    const error: unknown = await call.catch((reason) => reason);
    expect(error).toMatchObject({
      code: 'ERR_PEER_MISSING',
      input: messages,
      message: expect.stringMatching(/loaded: undici \(`npm install undici@7`\)\. Install/),
      cause: { message: expect.stringContaining('ERR_MODULE_NOT_FOUND') },
    });
  });

  test('a sender keeps its messages and reports the reason', async () => {
    const sender = createWebhookSender({ ...destination, application: APPLICATION });
    const published = listen();
    await sender.send([message]);
    await published.until('attempt-settled');
    const flushed = await sender.flush({ deadlineMs: 200 });
    const failures = [
      {
        applicationId: 'shop-1',
        failure: 'undici-missing',
        detail: expect.stringContaining('undici'),
      },
    ];
    expect(flushed).toMatchObject({ delivered: 0, dead: 0, pending: 1, failures });
    const closed = await sender.close({ deadlineMs: 0 });
    expect(closed).toMatchObject({ returned: [{ message_id: 'm-1' }], failures });
  });
});
