import { describe, expect, test } from 'vitest';
import { received } from '../../src/contract/index.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import {
  applicationsOf,
  batches,
  ids,
  message,
  messages,
  NONE,
  openReceiver,
  openSender,
  rejection,
  senderTo,
} from '../helpers/sender.ts';

const SOON = { schedule: { delaysMs: [5, 5, 5, 5, 5] } } as const;

describe('a sender', () => {
  test('delivers what it accepts in order, signed over the bytes that arrive, under its headers', async () => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver, { headers: { 'X-Team': 'blue' } });
    const { accepted, skipped } = await sender.send(messages(5));
    expect({ accepted, skipped }).toEqual({ accepted: ids(5), skipped: [] });
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 5 });
    expect(batches(receiver).flat()).toEqual(ids(5));
    for (const request of receiver.requests) {
      expect(request.signatureOk).toBe(true);
      expect(request.method).toBe('POST');
      expect(request.headers).toMatchObject({
        'content-type': 'application/json',
        'content-length': String(request.body.length),
        'x-team': 'blue',
      });
      expect(() => received.WebhookBodyV2.parse(JSON.parse(request.body.toString()))).not.toThrow();
    }
  });

  test('counts every sending in retry_count, under the same id and with a new date_created', async () => {
    const statuses = [500, 502, 429, 404];
    const receiver = await openReceiver({ script: statuses.map((status) => ({ status })) });
    const sender = senderTo(receiver, SOON);
    await sender.send([message('m-0')]);
    expect(await sender.flush()).toMatchObject({ delivered: 1 });
    expect(batches(receiver)).toEqual([['m-0'], ['m-0'], ['m-0'], ['m-0'], ['m-0']]);
    expect(receiver.requests.flatMap(({ retryCounts }) => retryCounts)).toEqual([0, 1, 2, 3, 4]);
    expect(receiver.requests.map(({ signatureOk }) => signatureOk)).toEqual(Array(5).fill(true));
    const dates = receiver.requests.map(({ messages: [one] }) => one?.['date_created']) as string[];
    expect(new Set(dates).size).toBe(5);
    expect(dates.toSorted((a, b) => a.localeCompare(b))).toEqual(dates);
    const { delivered, pending } = await sender.stats();
    expect({ delivered, pending }).toEqual({ delivered: 1, pending: 0 });
  });

  test('sends the messages as they were at the call, although the caller changes them', async () => {
    const receiver = await openReceiver({ script: [{ status: 500 }] });
    const sender = senderTo(receiver, SOON);
    const given = sampleMessageToSend('security_event') as unknown as {
      message_id: string;
      message: { humanized_description: string; ips: { address: string; geo: object }[] };
    };
    const before = structuredClone(given.message);
    const batch = [given];
    const sending = sender.send(batch as never);
    given.message_id = 'changed';
    given.message.humanized_description = 'changed';
    for (const ip of given.message.ips) Object.assign(ip.geo, { city: 'changed' });
    given.message.ips.length = 0;
    batch.length = 0;
    const { accepted } = await sending;
    await sender.flush();
    expect(receiver.requests).toHaveLength(2);
    for (const { messages: sent } of receiver.requests) {
      expect(sent).toMatchObject([{ message_id: accepted[0], message: before }]);
    }
    expect(accepted).toHaveLength(1);
    expect(accepted[0]).not.toBe('changed');
  });
});

describe('send refuses the whole call and hands it back', () => {
  const wrong = messages(10);
  wrong[5] = { ...message('m-5'), message: { application_id: 'shop-1' } } as never;
  const strange = messages(10);
  strange[5] = message('m-5', 'shop-2');

  test.each([
    ['for an invalid message', wrong, 'ERR_INVALID_MESSAGE', [5, 'message']],
    [
      'for an application without settings',
      strange,
      'ERR_UNKNOWN_APPLICATION',
      [5, 'message', 'application_id'],
    ],
    ['for more than may wait', messages(11), 'ERR_QUEUE_FULL', ['maxPendingMessages']],
  ])('%s', async (_what, given, code, path) => {
    const receiver = await openReceiver();
    const sender = openSender({
      settings: applicationsOf({ 'shop-1': receiver }),
      maxBodyBytes: 4000,
      maxPendingMessages: 10,
    });
    const error = await rejection(sender.send(given));
    expect(error).toMatchObject({ name: 'SecurityEventError', code, input: given });
    expect((error as { path: unknown[] }).path.slice(0, path.length)).toEqual(path);
    const { accepted, pending } = await sender.stats();
    expect({ accepted, pending }).toEqual({ accepted: 0, pending: 0 });
    expect(await sender.flush()).toMatchObject({ pending: 0 });
    await sender.send(messages(10));
    await sender.flush();
    expect(batches(receiver).flat()).toEqual(ids(10));
  });
});
