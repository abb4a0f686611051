import { describe, expect, test } from 'vitest';
import { received } from '../../src/contract/index.ts';
import {
  type MessageToSend,
  SecurityEventError,
  type SendOptions,
  sendWebhook,
  verify,
} from '../../src/index.ts';
import { DRAFTS } from '../contract/samples.ts';
import { openReceiver } from '../helpers/poster.ts';
import { respond } from '../helpers/receiver.ts';

const SECRET = 'a secret nobody sees';
const EVENT = DRAFTS['event to send'] as MessageToSend;

const send = (
  { url }: { readonly url: string },
  messages: readonly unknown[],
  options?: SendOptions,
) =>
  sendWebhook({ url, secret: SECRET }, messages as MessageToSend[], {
    network: 'allow-private',
    ...options,
  });

test('sendWebhook sends bytes whose signature a receiver can verify, under its headers, in one POST', async () => {
  const receiver = await openReceiver();
  const messages = Object.values(DRAFTS);
  const report = await send(receiver, messages, { headers: { 'X-Team': 'blue' } });
  const [request] = receiver.requests;
  expect(receiver.requests).toHaveLength(1);
  expect(request?.method).toBe('POST');
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(request?.body.length),
    'user-agent': expect.stringMatching(/^security-event-delivery\/\d+\.\d+\.\d+/),
    'x-team': 'blue',
  });
  expect(verify(request?.body ?? '', request?.headers['x-svc-integrity'], SECRET)).toBe(true);
  expect(request?.headers).not.toHaveProperty('transfer-encoding');
  const body = received.WebhookBodyV2.parse(JSON.parse(request?.body.toString() ?? ''));
  expect(body.map(({ message_type }) => message_type)).toEqual(
    messages.map(({ message_type }) => message_type),
  );
  expect(report).toMatchObject({
    ok: true,
    delivered: messages.map(({ message_id }) => message_id),
  });
  await receiver.idle();
});

test('the report of a failed call has no secret and no payload', async () => {
  const receiver = await openReceiver({ script: [respond({ status: 503, body: SECRET })] });
  const report = await send(receiver, [EVENT], { schedule: { delaysMs: [] } });
  expect(report.undelivered).toMatchObject([{ message_id: EVENT.message_id, status: 503 }]);
  expect(JSON.stringify(report)).not.toMatch(/a secret nobody sees|SQL injection/);
});

describe("what the caller did wrong is thrown before anything is sent, with the caller's messages:", () => {
  test.each<[string, object, unknown, unknown, string, readonly PropertyKey[]]>([
    ['a message of the wrong type', {}, [EVENT, 'x'], {}, 'ERR_INVALID_MESSAGE', [1]],
    ['a URL that is none', { url: 'receiver' }, [EVENT], {}, 'ERR_INVALID_URL', ['url']],
    ['an unknown option', {}, [EVENT], { retries: 1 }, 'ERR_INVALID_OPTION', ['retries']],
  ])('%s', async (_what, destination, messages, options, code, path) => {
    const receiver = await openReceiver();
    const sending = sendWebhook(
      { url: receiver.url, secret: SECRET, ...destination },
      messages as MessageToSend[],
      { network: 'allow-private', ...(options as SendOptions) },
    );
    const error: unknown = await sending.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SecurityEventError);
    expect(error).toMatchObject({ code, path, kind: 'caller' });
    expect((error as SecurityEventError).input).toBe(messages);
    expect(Object.keys(error as object)).not.toContain('input');
    expect(JSON.stringify(error)).not.toMatch(/a secret nobody sees|SQL injection/);
    expect(receiver.connectionCount).toBe(0);
  });
});

test('a URL with a private address is refused before anything is sent, unless an option allows it', async () => {
  const messages = [EVENT];
  const destination = { url: 'http://[::1]:1/hook', secret: SECRET };
  const error: unknown = await sendWebhook(destination, messages).catch((reason) => reason);
  expect(error).toMatchObject({ code: 'ERR_ADDRESS_REFUSED', path: ['network'], input: messages });
  expect(String(error)).toContain("network: 'allow-private'");
});
