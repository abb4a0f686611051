import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import {
  createMemoryDuplicates,
  createWebhookReceiver,
  type RefusedElement,
  type WebhookAnswer,
  type WebhookRequest,
} from '../../src/receiver/index.ts';
import { REFUSALS, type RefusalReason } from '../../src/receiver/refusals.ts';
import { sampleMessage, sampleMessageV1 } from '../../src/testing/index.ts';
import { deferred, withReplacedPromise } from '../helpers/promises.ts';
import { receiverOf, SECRET, requestOf as signedRequest } from './receivers.ts';

interface Sent extends Partial<WebhookRequest> {
  readonly headers?: Record<string, string | undefined>;
  readonly body?: string;
}

function requestOf(elements: unknown, { body, ...sent }: Sent = {}): WebhookRequest {
  const text = body ?? JSON.stringify(elements);
  const readBody = async (maxBytes: number) =>
    text.length > maxBytes ? undefined : Buffer.from(text);
  return signedRequest(text, { readBody, ...sent });
}

const message = (id: string) => ({ ...sampleMessage('security_event'), message_id: id });

const failing = (error: Error) => async (): Promise<never> => {
  throw error;
};
const GONE = Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
const readTooMuch: WebhookRequest['readBody'] = async (_maxBytes, reading) => {
  reading.take(6);
  throw new Error('refused');
};
const throwing = (): never => {
  throw new Error('listener');
};

const outcome = ({ status, text }: WebhookAnswer) => [status, text.trim()];
const refused = (reason: RefusalReason) => [REFUSALS[reason].status, reason];

describe('a receiver', () => {
  test('with `received` handles the messages when the adapter has answered', async () => {
    const { receiver, handled, refusals, errors } = receiverOf({ answer: 'received' });
    const answer = await receiver.receive(requestOf([message('a'), message('b')]));
    expect(outcome(answer)).toEqual([204, '']);
    expect(handled).toEqual([]);
    await answer.handle?.();
    // A second call has no effect.
    await answer.handle?.();
    expect(handled).toEqual(['a', 'b']);
    expect([refusals, errors]).toEqual([[], []]);
  });

  test('answers after handling', async () => {
    const { promise, resolve } = deferred();
    const { receiver } = receiverOf({ onMessages: () => promise });
    let isAnswered = false;
    const answering = receiver.receive(requestOf([message('a')])).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await new Promise(setImmediate);
    expect(isAnswered).toBe(false);
    resolve();
    expect(await answering).toEqual({ status: 204, headers: {}, text: '' });
  });

  test('answers 500 if handling fails and it has no other options, so that nothing is lost', async () => {
    const onMessages = failing(new Error('full disk'));
    const receiver = createWebhookReceiver({ secret: SECRET, onMessages });
    expect(outcome(await receiver.receive(requestOf([message('a')])))).toEqual(refused('failed'));
  });

  test.each([
    ['another method', { method: 'PUT' }, 'method'],
    ['a wrong signature', { headers: { 'x-svc-integrity': 'a'.repeat(64) } }, 'signature-wrong'],
    ['a body that is no JSON', { body: 'x' }, 'body-invalid'],
    ['a message that breaks the contract', { body: '[{}]' }, 'message-invalid'],
    ['too many bytes', { body: `"${'x'.repeat(5000)}"` }, 'body-too-large'],
  ] as const)('refuses %s, and reports it', async (_what, sent, reason) => {
    const { receiver, handled, refusals } = receiverOf({ maxBodyBytes: 5000 });
    const answer = await receiver.receive(requestOf([message('a')], sent));
    const { status, headers } = REFUSALS[reason];
    const text = 'text/plain; charset=utf-8';
    expect(answer).toEqual({
      status,
      headers: { 'content-type': text, ...headers },
      text: `${reason}\n`,
    });
    expect(refusals).toMatchObject([{ reason, status }]);
    expect(handled).toEqual([]);
  });

  test.each([
    ['of a list', [`new-${SECRET}`, SECRET]],
    ['of a function', () => SECRET],
    ['of a promise', async () => ['another', SECRET]],
  ])('accepts the secret %s', async (_how, secret) => {
    const { receiver } = receiverOf({ secret });
    expect(await receiver.receive(requestOf([message('a')]))).toMatchObject({ status: 204 });
    // Also if the host has replaced the global Promise.
    const again = withReplacedPromise(() => receiver.receive(requestOf([message('b')])));
    expect(await again).toMatchObject({ status: 204 });
  });

  test.each([
    ['throws', () => Promise.reject(new Error('vault'))],
    ['gives none', () => ''],
    ['gives an empty list', () => []],
  ])('answers 500 if the function for the secret %s', async (_how, secret) => {
    const { receiver, errors } = receiverOf({ secret });
    const ask = () => receiver.receive(requestOf([message('a')]));
    expect(outcome(await ask())).toEqual(refused('failed'));
    expect(outcome(await withReplacedPromise(ask))).toEqual(refused('failed'));
    expect(errors).toHaveLength(2);
  });

  test('passes invalid elements to `onInvalid`, and handles the others', async () => {
    const invalid: RefusedElement[] = [];
    const { receiver, handled } = receiverOf({
      onInvalid: (elements) => invalid.push(...elements),
    });
    expect((await receiver.receive(requestOf([{}, message('a')]))).status).toBe(204);
    expect((await receiver.receive(requestOf([{}]))).status).toBe(204);
    expect(handled).toEqual(['a']);
    expect(invalid.map(({ index }) => index)).toEqual([0, 0]);
  });

  test.each(['handled', 'received'] as const)(
    'passes valid messages to `onMessages` even if `onInvalid` fails, with answer %s',
    async (answer) => {
      const failed: unknown[] = [];
      const error = new Error('full disk');
      const { receiver, handled } = receiverOf({
        answer,
        onInvalid: failing(error),
        onError: (...given) => failed.push(given),
      });
      const receive = async (): Promise<number> => {
        const { status, handle } = await receiver.receive(requestOf([{}, message('a')]));
        await handle?.();
        return status;
      };
      expect(await receive()).toBe(answer === 'received' ? 204 : 500);
      // If the request is sent again, its valid message is a duplicate.
      await receive();
      expect(handled).toEqual(['a']);
      expect(failed).toEqual([
        [error, []],
        [error, []],
      ]);
    },
  );

  test('refuses old messages if it has a tolerance', async () => {
    const { receiver, refusals } = receiverOf({ toleranceMs: 60_000 });
    const now = new Date().toISOString();
    const stale = { ...message('a'), date_created: '2026-11-21T10:00:00.000+00:00' };
    const fresh = { ...message('b'), date_created: now };
    expect(outcome(await receiver.receive(requestOf([fresh, stale])))).toEqual(refused('stale'));
    expect((await receiver.receive(requestOf([fresh]))).status).toBe(204);
    // Format 1 has no time of sending.
    expect((await receiver.receive(requestOf([sampleMessageV1('test')]))).status).toBe(204);
    expect(refusals.map(({ reason }) => reason)).toEqual(['stale']);
  });

  test('drops duplicates, but handles failed messages again', async () => {
    let isBroken = true;
    const handled: (string | null)[] = [];
    const { receiver, errors } = receiverOf({
      onMessages: (messages) => {
        if (isBroken) throw new Error('full disk');
        handled.push(...messages.map(({ id }) => id));
      },
    });
    const both = () => receiver.receive(requestOf([message('a'), message('b')]));
    expect(outcome(await both())).toEqual(refused('failed'));
    expect(errors).toEqual([new Error('full disk')]);
    isBroken = false;
    expect((await both()).status).toBe(204);
    expect((await both()).status).toBe(204);
    expect(handled).toEqual(['a', 'b']);
  });

  test('passes duplicates on with `duplicates: false`', async () => {
    const { receiver, handled } = receiverOf({ duplicates: false });
    await receiver.receive(requestOf([message('a')]));
    await receiver.receive(requestOf([message('a')]));
    expect(handled).toEqual(['a', 'a']);
  });

  test('reports a handler that fails without the duplicates of its request', async () => {
    const reported: (string | null)[][] = [];
    const duplicates = createMemoryDuplicates();
    duplicates.add(['a']);
    const { receiver } = receiverOf({
      duplicates,
      onMessages: failing(new Error('full disk')),
      onError: (_error, messages) => reported.push(messages.map(({ id }) => id)),
    });
    await receiver.receive(requestOf([message('a'), message('b')]));
    expect(reported).toEqual([['b']]);
  });

  test('reports and forgets nothing if the handler empties its list', async () => {
    const reported: unknown[] = [];
    let left = 1;
    const { receiver } = receiverOf({
      onMessages: (messages) => {
        while ((messages as unknown[]).shift() !== undefined) {
          if (left-- === 0) throw new Error('full disk');
        }
      },
      onError: (_error, messages) => reported.push(messages.map(({ id }) => id)),
    });
    const both = () => receiver.receive(requestOf([message('a'), message('b')]));
    expect(outcome(await both())).toEqual(refused('failed'));
    expect(reported).toEqual([['a', 'b']]);
    for (const _ of ['handled', 'duplicates']) expect((await both()).status).toBe(204);
    expect(left).toBe(-3);
  });

  test('reports all messages if the error comes before the duplicates are known', async () => {
    const reported: (string | null)[][] = [];
    const { receiver } = receiverOf({
      duplicates: { has: throwing, add: () => {} },
      onError: (_error, messages) => reported.push(messages.map(({ id }) => id)),
    });
    await receiver.receive(requestOf([message('a'), message('b')]));
    expect(reported).toEqual([['a', 'b']]);
  });

  test('passes signature and body to `onRefused`; a sender that goes away is no error', async () => {
    const { receiver, refusals, errors } = receiverOf({ onMessages: throwing });
    const sent = requestOf([message('a')]);
    await receiver.receive(sent);
    await receiver.receive({ ...sent, readBody: failing(GONE) });
    const signature = sent.header('x-svc-integrity');
    const body = Buffer.from(JSON.stringify([message('a')]));
    expect(refusals).toEqual([
      { reason: 'failed', status: 500, signature, body },
      { reason: 'incomplete', status: 400, signature },
    ]);
    expect(errors).toEqual([new Error('listener')]);
  });

  test('answers 500 and reports an error of `readBody`, and closes the connection', async () => {
    const { receiver, errors } = receiverOf();
    const error = new TypeError('no body');
    const headers = { host: 'a' };
    const answer = await receiver.receive(requestOf([], { readBody: failing(error), headers }));
    expect(outcome(answer)).toEqual(refused('failed'));
    expect(answer.headers).toMatchObject({ connection: 'close' });
    expect(errors).toEqual([error]);
  });

  test.each([
    ['code ECONNABORTED', Object.assign(new Error(''), { code: 'ECONNABORTED' })],
    ['code of a stream', Object.assign(new Error(''), { code: 'ERR_STREAM_PREMATURE_CLOSE' })],
    ['name AbortError', new DOMException('', 'AbortError')],
  ])('knows by the %s that the sender disconnected', async (_how, error) => {
    const { receiver, reasons, errors } = receiverOf();
    await receiver.receive(requestOf([], { readBody: failing(error) }));
    expect([reasons(), errors]).toEqual([['incomplete'], []]);
  });

  test('gives its own reason if it refused the body and `readBody` then fails', async () => {
    const { receiver, reasons, errors } = receiverOf({ maxBodyBytes: 5 });
    const sent = requestOf([], { readBody: readTooMuch });
    expect((await receiver.receive(sent)).status).toBe(413);
    expect([reasons(), errors]).toEqual([['body-too-large'], []]);
  });

  test('refuses more than `maxBodyBytes` from a `readBody` that ignores its limit', async () => {
    const { receiver, reasons } = receiverOf({ maxBodyBytes: 10 });
    expect((await receiver.receive(signedRequest())).status).toBe(413);
    expect(reasons()).toEqual(['body-too-large']);
  });

  test('rejects and reports if the raw body is gone', async () => {
    const { receiver, errors } = receiverOf();
    const gone = new SecurityEventError('ERR_RAW_BODY_GONE');
    const readBody = failing(gone);
    await expect(receiver.receive(requestOf([], { readBody }))).rejects.toBe(gone);
    expect(errors).toEqual([gone]);
  });

  test.each([
    ['text', 'busy'],
    ['null', null],
    ['an object', {}],
  ])('rejects and reports a body that is %s instead of bytes', async (_, body) => {
    const { receiver, errors, refusals } = receiverOf();
    const readBody = async () => body as never;
    const refusal = { code: 'ERR_INVALID_OPTION', path: ['readBody'] };
    const receiving = receiver.receive(requestOf([], { readBody }));
    await expect(receiving).rejects.toMatchObject(refusal);
    expect(errors).toEqual([expect.objectContaining(refusal)]);
    expect(refusals).toEqual([]);
  });

  test('gives the same answers if listeners throw', async () => {
    for (const listener of [throwing, failing(new Error('listener')) as never]) {
      const { receiver } = receiverOf({ onRefused: listener, onError: listener, secret: throwing });
      expect((await receiver.receive(requestOf([], { method: 'GET' }))).status).toBe(405);
      expect((await receiver.receive(requestOf([message('a')]))).status).toBe(500);
    }
  });

  test.each([
    ['secret', {}],
    ['secret', { secret: '' }],
    ['secret', { secret: [] }],
    ['secret', { secret: ['a', ' '] }],
    ['secret', { secret: 7 }],
    ['onMessages', { secret: 'a', onMessages: undefined }],
    ['answer', { secret: 'a', answer: 'never' }],
    ['maxBodyBytes', { secret: 'a', maxBodyBytes: 0 }],
    ['maxHandlingBytes', { secret: 'a', maxHandlingBytes: 0 }],
    ['maxUnverifiedBytes', { secret: 'a', maxUnverifiedBytes: 2 ** 21 - 1 }],
    ['bodyTimeoutMs', { secret: 'a', bodyTimeoutMs: 0 }],
    ['toleranceMs', { secret: 'a', toleranceMs: -1 }],
    ['duplicates', { secret: 'a', duplicates: true }],
    ['duplicates', { secret: 'a', duplicates: { has: () => new Set() } }],
    ['onInvalid', { secret: 'a', onInvalid: 1 }],
    ['onRefused', { secret: 'a', onRefused: 1 }],
    ['onError', { secret: 'a', onError: 1 }],
    // Only `onError` would get the messages that could not be handled.
    ['onError', { secret: 'a', answer: 'received' }],
    ['secrets', { secret: 'a', secrets: ['a'] }],
  ])('refuses an invalid %s: %j', (path, options) => {
    const given = { onMessages: () => {}, ...options } as never;
    expect(() => createWebhookReceiver(given)).toThrow(
      expect.objectContaining({ path: [path], name: 'SecurityEventError' }),
    );
  });
});
