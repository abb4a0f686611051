import { EventEmitter, once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as wire from '../helpers/receiver.ts';
import {
  batches,
  ids,
  message,
  messages,
  openReceiver,
  PATIENCE,
  senderTo,
} from '../helpers/sender.ts';

/** A receiver that answers its first request when it is told to, and all others at once. */
async function openGated() {
  const gate = new EventEmitter();
  const opened = once(gate, 'open');
  const receiver = await wire.startReceiver({
    script: [(exchange) => void opened.then(() => wire.respond()(exchange)), wire.respond()],
  });
  onTestFinished(() => receiver.close());
  const sent = (): string[][] =>
    receiver.requests.map(({ body }) => {
      const elements = JSON.parse(body.toString()) as { message_id: string }[];
      return elements.map(({ message_id }) => message_id);
    });
  return { receiver, open: () => gate.emit('open'), sent };
}

/** However slow the machine: nothing here is late. */
const lateAfterMs = 600_000;

describe('batching', () => {
  test('sends to an idle destination at once, and together what comes meanwhile', async () => {
    const { receiver, open, sent } = await openGated();
    const sender = senderTo(receiver, { lateAfterMs });
    await sender.send([message('m-0')]);
    await receiver.received(1);
    for (const id of ids(4, 1)) await sender.send([message(id)]);
    expect(sent()).toEqual([['m-0']]);
    expect((await sender.stats()).inFlight).toEqual({ active: 1, waiting: 0 });
    open();
    await sender.flush();
    expect(sent()).toEqual([['m-0'], ids(4, 1)]);
    expect((await sender.stats()).inFlight).toEqual({ active: 0, waiting: 0 });
  });

  test('has one request in flight per destination, however much waits', async () => {
    const { receiver, open, sent } = await openGated();
    const sender = senderTo(receiver, { cautiousMaxMessages: 2, maxMessages: 2, lateAfterMs });
    await sender.send(messages(5));
    await receiver.received(1);
    expect(await sender.stats()).toMatchObject({ inFlight: { active: 1 }, attempts: 1 });
    open();
    await sender.flush();
    expect(sent()).toEqual([ids(2), ids(2, 2), ids(1, 4)]);
    expect(receiver.connectionCount).toBe(1);
  });

  test('waits for company where it is told to', async () => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver, { lingerMs: 3_600_000, cautiousMaxMessages: 3 });
    for (const id of ids(2)) await sender.send([message(id)]);
    expect((await sender.stats()).attempts).toBe(0);
    await sender.send([message('m-2')]);
    await receiver.waitForRequests(1, PATIENCE);
    expect(batches(receiver)).toEqual([ids(3)]);
  });

  test('waits no longer than it is told to', async () => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver, { lingerMs: 20 });
    await sender.send([message('m-0')]);
    await sender.flush();
    expect(batches(receiver)).toEqual([['m-0']]);
  });

  test('keeps a request below maxBodyBytes, counted in bytes and not in characters', async () => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver, { maxBodyBytes: 20_000 });
    await sender.send(messages(40, 'shop-1', '\u{1f512}'.repeat(250)));
    await sender.flush();
    const sizes = receiver.requests.map(({ body }) => body.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(20_000);
    expect(Math.max(...sizes)).toBeGreaterThan(18_000);
    expect(batches(receiver).flat()).toEqual(ids(40));
  });
});
