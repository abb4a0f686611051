import { describe, expect, test } from 'vitest';
import { received } from '../../src/contract/index.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import {
  batches,
  ids,
  messages,
  NONE,
  openReceiver,
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

test('send refuses the whole call for more than may wait, and hands it back', async () => {
  const receiver = await openReceiver();
  const sender = senderTo(receiver, { maxPendingMessages: 10 });
  const given = messages(11);
  expect(await rejection(sender.send(given))).toMatchObject({
    code: 'ERR_QUEUE_FULL',
    path: ['maxPendingMessages'],
    input: given,
  });
  expect(await sender.stats()).toMatchObject({ accepted: 0, pending: 0 });
  await sender.send(messages(10));
  await sender.flush();
  expect(batches(receiver).flat()).toEqual(ids(10));
});
