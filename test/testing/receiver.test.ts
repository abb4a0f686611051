import { once } from 'node:events';
import net from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import {
  type Receiver,
  type ReceiverOptions,
  sampleMessage,
  sampleMessageV1,
  startReceiver,
} from '../../src/testing/index.ts';
import { sign } from '../../src/webhook/signature.ts';

async function open(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close().catch(() => {}));
  return receiver;
}

function agent(): Agent {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
}

const body = JSON.stringify([sampleMessage('security_event'), sampleMessage('http_scan')]);

interface Sent {
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly dispatcher?: Agent;
}

/** Returns the status and the text of the response. */
async function post(receiver: Receiver, sent: Sent = {}): Promise<[number, string]> {
  const answered = await request(receiver.url, {
    method: 'POST',
    body: sent.body ?? body,
    headers: { 'x-svc-integrity': sign(sent.body ?? body, 'secret'), ...sent.headers },
    dispatcher: sent.dispatcher ?? agent(),
  });
  return [answered.statusCode, await answered.body.text()];
}

describe('a received request', () => {
  test('is described', async () => {
    const receiver = await open({ secret: 'secret' });
    const before = Date.now();
    await post(receiver, { headers: { 'X-Team': 'blue' } });
    const [received] = receiver.requests;
    expect(received).toMatchObject({
      index: 0,
      method: 'POST',
      path: '/hook',
      headers: { 'x-team': 'blue', 'content-length': String(body.length) },
      body: Buffer.from(body),
      signatureOk: true,
      messages: JSON.parse(body),
      messageIds: [sampleMessage().message_id, sampleMessage('http_scan').message_id],
      retryCounts: [0, 0],
      step: { status: 200 },
      socketId: 1,
    });
    expect(received?.receivedAt).toBeGreaterThanOrEqual(before);
    expect(received?.receivedAt).toBeLessThanOrEqual(Date.now());
  });

  test('has the ids of format 1', async () => {
    const receiver = await open();
    const elements = [sampleMessageV1('security_event'), sampleMessageV1('pulse'), { other: 1 }];
    await post(receiver, { body: JSON.stringify(elements) });
    expect(receiver.requests[0]).toMatchObject({
      messages: elements,
      messageIds: ['event-1', 'incident-1'],
      retryCounts: [],
    });
  });

  test.each(['', '{"message_id":"m"}', '[null]', '"text"'])(
    'has no messages if the body is %j',
    async (text) => {
      const receiver = await open();
      await post(receiver, { body: text });
      expect(receiver.requests[0]).toMatchObject({ messages: [], messageIds: [], retryCounts: [] });
    },
  );

  test('is not listed if the sender goes away before its end', async () => {
    const receiver = await open();
    const socket = net.connect(Number(new URL(receiver.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n12345');
    while (receiver.connectionCount === 0) await turn();
    socket.resetAndDestroy();
    while (receiver.openConnectionCount > 0) await turn();
    expect(receiver.requests).toEqual([]);
  });

  test('has the given path', async () => {
    const receiver = await open({ path: '/a/b?c' });
    expect(receiver.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/a\/b\?c$/);
    await post(receiver);
    expect(receiver.requests[0]?.path).toBe('/a/b?c');
  });
});

describe('signatures', () => {
  test.each<[string, ReceiverOptions['secret'], Record<string, string>, boolean | undefined]>([
    ['are valid with the secret', 'secret', {}, true],
    ['are valid with one of several', ['new', 'secret'], {}, true],
    ['are invalid with another', 'other', {}, false],
    ['are invalid for another body', 'secret', { 'x-svc-integrity': sign('', 'secret') }, false],
    ['are not checked without a secret', undefined, {}, undefined],
    ['are not checked without secrets', [], {}, undefined],
  ])('%s', async (_, secret, headers, signatureOk) => {
    const receiver = await open(secret === undefined ? {} : { secret });
    await post(receiver, { headers });
    expect(receiver.requests[0]?.signatureOk).toBe(signatureOk);
  });
});

describe('answers', () => {
  test('follow the script, then the default', async () => {
    const busy = { status: 503, retryAfter: 7, headers: { 'x-a': 'b' }, body: 'busy' };
    const script = [busy, { status: 400, body: Buffer.from('hi') }];
    const receiver = await open({ script, otherwise: { status: 204 } });
    const first = await request(receiver.url, { method: 'POST', body, dispatcher: agent() });
    expect(first.statusCode).toBe(503);
    expect(first.headers).toMatchObject({ 'retry-after': '7', 'x-a': 'b' });
    expect(await first.body.text()).toBe('busy');
    expect(await post(receiver)).toEqual([400, 'hi']);
    expect(await post(receiver)).toEqual([204, '']);
    expect(receiver.requests.map(({ step }) => step)).toEqual([...script, { status: 204 }]);
  });

  test('may be chosen by a function of the request', async () => {
    const receiver = await open({
      script: ({ messages, index }) =>
        messages.length === 1 ? { status: 500, body: `${index}` } : undefined,
      otherwise: { status: 202 },
    });
    expect(await post(receiver)).toEqual([202, '']);
    expect(await post(receiver, { body: '[{}]' })).toEqual([500, '1']);
  });

  test('wait for delayMs', async () => {
    const receiver = await open({ otherwise: { status: 200, delayMs: 60 } });
    const startedAt = performance.now();
    expect(await post(receiver)).toEqual([200, '']);
    expect(performance.now() - startedAt).toBeGreaterThan(58);
  });

  test('share a connection that stays open', async () => {
    const receiver = await open();
    const dispatcher = agent();
    await post(receiver, { dispatcher });
    await post(receiver, { dispatcher });
    expect(receiver.requests.map(({ socketId }) => socketId)).toEqual([1, 1]);
    expect([receiver.connectionCount, receiver.openConnectionCount]).toEqual([1, 1]);
    await post(receiver);
    expect(receiver.requests.map(({ socketId }) => socketId)).toEqual([1, 1, 2]);
    expect(receiver.connectionCount).toBe(2);
  });
});

describe('messageIds', () => {
  test('counts messages each time they were answered with 2xx', async () => {
    const receiver = await open({
      script: [{ status: 500 }, { status: 200 }, { status: 299 }, { status: 300 }],
    });
    const one = JSON.stringify([{ message_id: 'a' }, { message_id: 'b' }]);
    await post(receiver, { body: one });
    expect(receiver.acceptedCounts()).toEqual(new Map());
    await post(receiver, { body: one });
    await post(receiver, { body: '[{"message_id":"a"}]' });
    await post(receiver, { body: '[{"message_id":"c"}]' });
    expect(Object.fromEntries(receiver.acceptedCounts())).toEqual({ a: 2, b: 1 });
  });

  test('counts nothing if the sender went away before the answer', async () => {
    const receiver = await open({ otherwise: { status: 200, delayMs: 3_600_000 } });
    const caller = new AbortController();
    const gone = request(receiver.url, {
      method: 'POST',
      body,
      signal: caller.signal,
      dispatcher: agent(),
    });
    await receiver.waitForRequests(1);
    caller.abort();
    await expect(gone).rejects.toMatchObject({ name: 'AbortError' });
    while (receiver.openConnectionCount > 0) await turn();
    await turn();
    expect(receiver.acceptedCounts()).toEqual(new Map());
  });
});

describe('waitForRequests', () => {
  test('resolves at the given number', async () => {
    const receiver = await open();
    expect(await receiver.waitForRequests(0)).toEqual([]);
    const waiting = receiver.waitForRequests(2);
    await post(receiver);
    await post(receiver);
    expect(await waiting).toHaveLength(2);
    expect(await receiver.waitForRequests(1)).toBe(receiver.requests);
  });

  test('rejects after the timeout, with the progress', async () => {
    const receiver = await open();
    await post(receiver);
    await expect(receiver.waitForRequests(3, { timeoutMs: 10 })).rejects.toThrow(
      expect.objectContaining({
        code: 'ERR_TIMED_OUT',
        message: expect.stringContaining('1 of 3 requests'),
      }),
    );
  });

  test('may have no timeout', async () => {
    const receiver = await open();
    const waiting = receiver.waitForRequests(1, { timeoutMs: Number.POSITIVE_INFINITY });
    await systemClock.sleep(20);
    await post(receiver);
    expect(await waiting).toHaveLength(1);
  });

  test('rejects when the receiver is closed', async () => {
    const receiver = await open();
    const waiting = Promise.allSettled([receiver.waitForRequests(1)]);
    await receiver.close();
    const [{ reason }] = (await waiting) as [PromiseRejectedResult];
    expect(reason).toMatchObject({ code: 'ERR_TIMED_OUT' });
    expect(String(reason)).toContain('the receiver was closed');
    await expect(receiver.waitForRequests(1)).rejects.toMatchObject({ code: 'ERR_TIMED_OUT' });
  });
});

describe('a function that throws', () => {
  test.each([
    ['an error', new Error('assertion of the test'), 'assertion of the test'],
    ['anything else', 'text', 'text'],
  ])('%s resets the connection, and rejects the waits of the test', async (_, thrown, message) => {
    const receiver = await startReceiver({
      script: () => {
        throw thrown;
      },
    });
    await expect(post(receiver)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(receiver.requests).toEqual([]);
    await expect(receiver.waitForRequests(1)).rejects.toThrow(message);
    await expect(receiver.close()).rejects.toThrow(message);
  });
});

describe('close', () => {
  test('ends waits, and stops listening', async () => {
    const receiver = await startReceiver({ otherwise: { fault: 'hang' } });
    const waiting = receiver.waitForRequests(2);
    const settled = Promise.allSettled([post(receiver), waiting]);
    await receiver.waitForRequests(1);
    await receiver.close();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(post(receiver)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('may be called twice, and works with `await using`', async () => {
    const receiver = await startReceiver();
    expect(receiver.close()).toBe(receiver.close());
    await receiver.close();
    await expect(post(receiver)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const disposed = await startReceiver();
    await disposed[Symbol.asyncDispose]();
    await expect(post(disposed)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

test.each([
  ['path', ''],
  ['path', 'hook'],
  ['path', 'http://a/'],
  ['secret', ''],
  ['secret', ['secret', '']],
  ['tls', 'revoked'],
])('%s: %j is refused', async (name, value) => {
  const refusal = { code: 'ERR_INVALID_OPTION', path: [name] };
  await expect(startReceiver({ [name]: value })).rejects.toMatchObject(refusal);
});
