import { once } from 'node:events';
import net from 'node:net';
import { Agent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { received } from '../../src/contract/index.ts';
import { sendNow } from '../../src/delivery/send-webhook.ts';
import {
  type MessageToSend,
  SecurityEventError,
  type SendOptions,
  type SendReport,
  sendWebhook,
  verify,
} from '../../src/index.ts';
import { newId } from '../../src/runtime/id.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { createPoster } from '../../src/webhook/http/client.ts';
import { DRAFTS } from '../contract/samples.ts';
import { clockSince } from '../helpers/clocks.ts';
import {
  hang,
  type Receiver,
  type ReceiverOptions,
  respond,
  type Step,
  startReceiver,
} from '../helpers/receiver.ts';

const SECRET = 'a secret nobody sees';
const EVENT = DRAFTS['event to send'] as MessageToSend;
const NO_RETRY = { schedule: { delaysMs: [] } };

async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close());
  return receiver;
}

const script = (...steps: Step[]): Promise<Receiver> => openReceiver({ script: steps });

const send = (
  { url }: { readonly url: string },
  messages: readonly unknown[],
  options?: SendOptions,
) =>
  sendWebhook({ url, secret: SECRET }, messages as MessageToSend[], {
    network: 'allow-private',
    ...options,
  });

/** `sendWebhook`, with deadlines that begin when the first request has arrived. */
const sendPatiently = (
  receiver: Receiver,
  messages: readonly unknown[],
  options: SendOptions,
): Promise<SendReport> =>
  sendNow(
    {
      destination: { url: receiver.url, secret: SECRET },
      messages,
      options: { network: 'allow-private', ...options },
    },
    { clock: clockSince(() => receiver.received(1)), random: systemRandom, newId, createPoster },
  );

/** A port that was free a moment ago, so that nothing listens there. */
async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('sendWebhook', () => {
  test('sends bytes whose signature a receiver can verify, under its headers, in one POST', async () => {
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
    expect(report).toMatchObject({ ok: true, delivered: messages.map(() => 'msg-1') });
    await receiver.idle();
  });

  test('tries again, over one connection, with the signature of the new bytes', async () => {
    const receiver = await script(respond({ status: 503 }), respond({ status: 204 }));
    const report = await send(receiver, [EVENT], { schedule: { delaysMs: [20] } });
    expect(report.ok).toBe(true);
    const counts = receiver.requests.map(({ body, headers }) => {
      expect(verify(body, headers['x-svc-integrity'], SECRET)).toBe(true);
      const [message] = received.WebhookBodyV2.parse(JSON.parse(body.toString()));
      return message?.retry_count;
    });
    expect(counts).toEqual([0, 1]);
    expect(receiver.connectionCount).toBe(1);
    await receiver.idle();
  });

  test("goes through a dispatcher of the caller's own, which stays open", async () => {
    const receiver = await openReceiver();
    const dispatcher = new Agent();
    onTestFinished(() => dispatcher.destroy());
    const options = { network: 'delegated', dispatcher } as const;
    expect(await send(receiver, [EVENT], options)).toMatchObject({ ok: true });
    expect(await send(receiver, [EVENT], options)).toMatchObject({ ok: true });
    expect(receiver.connectionCount).toBe(1);
    expect(dispatcher.closed).toBe(false);
  });
});

describe('a receiver that misbehaves is reported, not thrown:', () => {
  test.each<[string, Step, object, object]>([
    ['it answers 500', respond({ status: 500, body: 'SSH-2.0' }), {}, { status: 500 }],
    ['it hangs', hang(), { deadlineMs: 150 }, { failure: 'deadline' }],
  ])('%s', async (_what, step, options, end_) => {
    const receiver = await script(step);
    const report = await sendPatiently(receiver, [EVENT], { ...NO_RETRY, ...options });
    expect(report).toMatchObject({
      ok: false,
      delivered: [],
      undelivered: [{ index: 0, message_id: 'msg-1', reason: 'attempts-exhausted', ...end_ }],
      requests: [{ ...end_, outcome: 'later', retry_count: 0, message_ids: ['msg-1'] }],
    });
    expect(receiver.requests).toHaveLength(1);
    expect(JSON.stringify(report)).not.toMatch(/a secret nobody sees|SQL injection|SSH/);
    await receiver.idle();
  });

  test('nothing listens', async () => {
    const url = `http://127.0.0.1:${await closedPort()}/hook`;
    const report = await send({ url }, [EVENT], { schedule: { delaysMs: [1] } });
    expect(report).toMatchObject({
      ok: false,
      undelivered: [{ reason: 'attempts-exhausted', failure: 'connection-refused' }],
      requests: [{ retry_count: 0 }, { retry_count: 1 }],
    });
    expect(report.undelivered[0]?.detail).toContain('ECONNREFUSED');
  });

  test('its name leads to a private address, and only public ones are allowed', async () => {
    const receiver = await openReceiver();
    const url = receiver.url.replace('127.0.0.1', 'localhost');
    const report = await send({ url }, [EVENT], { ...NO_RETRY, network: 'public' });
    expect(report).toMatchObject({ ok: false, undelivered: [{ failure: 'address-refused' }] });
    expect(report.undelivered[0]?.detail).toMatch(/loopback.*allow-private/s);
    expect(receiver.connectionCount).toBe(0);
  });
});

describe("what the caller did wrong is thrown before anything is sent, with the caller's messages:", () => {
  const long = { ...EVENT, message_id: 'x'.repeat(5000) };

  test.each<[string, object, unknown, unknown, string, readonly PropertyKey[]]>([
    ['no array', {}, EVENT, {}, 'ERR_INVALID_MESSAGE', []],
    ['a message of the wrong type', {}, [EVENT, 'x'], {}, 'ERR_INVALID_MESSAGE', [1]],
    [
      'the other format',
      {},
      [EVENT],
      { format: 1 },
      'ERR_INVALID_MESSAGE',
      [0, 'svc_payload_type'],
    ],
    [
      'a message above the budget',
      {},
      [EVENT, long],
      { maxBodyBytes: 5000 },
      'ERR_MESSAGE_TOO_LARGE',
      [1],
    ],
    ['a URL that is none', { url: 'receiver' }, [EVENT], {}, 'ERR_INVALID_URL', ['url']],
    ['an empty secret', { secret: '' }, [EVENT], {}, 'ERR_INVALID_SECRET', ['secret']],
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

test('an error of a getter of the caller comes back as it is', async () => {
  const cause = new Error('no secret manager');
  const destination = {
    url: 'http://127.0.0.1:1/',
    get secret(): string {
      throw cause;
    },
  };
  await expect(sendWebhook(destination, [EVENT])).rejects.toBe(cause);
});

describe("the caller's signal", () => {
  test('aborted during an attempt ends the call at once', async () => {
    const receiver = await script(hang());
    const caller = new AbortController();
    const sending = send(receiver, [EVENT], { signal: caller.signal });
    await receiver.received(1);
    caller.abort();
    expect(await sending).toMatchObject({
      ok: false,
      undelivered: [{ reason: 'aborted', failure: 'aborted' }],
      requests: [{ failure: 'aborted', outcome: 'later' }],
    });
    await receiver.idle();
  });

  test('shared by 30 calls that wait causes no warning', async () => {
    const heard: Error[] = [];
    const hear = (warning: Error): void => void heard.push(warning);
    process.on('warning', hear);
    onTestFinished(() => void process.off('warning', hear));
    const receiver = await script(respond({ status: 500 }));
    const caller = new AbortController();
    const options = { signal: caller.signal, schedule: { delaysMs: [30_000] } };
    const sending = Array.from({ length: 30 }, () => send(receiver, [EVENT], options));
    await receiver.received(30);
    caller.abort();
    const reports = await Promise.all(sending);
    expect(reports.map(({ undelivered }) => undelivered[0]?.reason)).toEqual(
      Array.from({ length: 30 }, () => 'aborted'),
    );
    expect(heard).toEqual([]);
  });
});
