import { describe, expect, test } from 'vitest';
import type { DeliveryEventName } from '../../src/index.ts';
import {
  applicationsOf,
  batches,
  ids,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  PATIENCE,
  senderTo,
  type Told,
} from '../helpers/sender.ts';

const attemptsOf = (told: Told, name: DeliveryEventName, applicationId: string): number =>
  told.events.filter((one) => one.name === name && one.event['applicationId'] === applicationId)
    .length;

describe('a destination that does not work', () => {
  test('costs the others nothing: the healthy one gets everything before the first attempt at the others is over', async () => {
    const told = listen();
    const hanging = await openReceiver({ otherwise: { fault: 'hang' } });
    const failing = await openReceiver({ otherwise: { status: 500 } });
    const healthy = await openReceiver();
    const sender = openSender({
      settings: applicationsOf({ hanging, failing, healthy }),
      // The one slot is taken by what hangs, until its answer is late.
      maxActiveRequests: 1,
      lateAfterMs: 1,
      schedule: { delaysMs: [1], repeatLast: true },
      openAfterFailures: 1_000_000,
    });
    await sender.send(messages(20, 'hanging'));
    await hanging.waitForRequests(1, PATIENCE);
    await sender.send(messages(20, 'failing'));
    for (const id of ids(30)) {
      await sender.send([message(id, 'healthy')]);
      await healthy.waitForRequests(Number(id.slice(2)) + 1, PATIENCE);
    }
    expect(batches(healthy)).toEqual(ids(30).map((id) => [id]));
    expect(attemptsOf(told, 'attempt-started', 'hanging')).toBe(1);
    expect(attemptsOf(told, 'attempt-settled', 'hanging')).toBe(0);
    expect((await sender.stats()).inFlight.waiting).toBeGreaterThanOrEqual(1);
    const { applications } = await sender.stats();
    expect(applications.get('hanging')).toMatchObject({ pending: 20, delivered: 0 });
    expect(applications.get('failing')).toMatchObject({ pending: 20, delivered: 0 });
  });

  test('is served again as soon as it works, and nothing is missing', async () => {
    // Late, so that what has failed is due again when the next request is made.
    const script = Array.from({ length: 8 }, () => ({ status: 502, delayMs: 10 }));
    const receiver = await openReceiver({ script });
    const sender = senderTo(receiver, {
      schedule: { delaysMs: [1], repeatLast: true },
      minProbeWaitMs: 1,
      openAfterFailures: 3,
      slowStartStepMs: 2,
    });
    await sender.send(messages(250));
    await sender.flush();
    expect(await sender.stats()).toMatchObject({ delivered: 250, dead: 0, pending: 0 });
    expect([...receiver.messageIds().values()]).toEqual(Array(250).fill(1));
    expect(receiver.messageIds().size).toBe(250);
    // Before it is open at most 100 go together, then one: a different one each time.
    const sizes = batches(receiver).map(({ length }) => length);
    expect(sizes.slice(0, 9)).toEqual([100, 100, 100, 1, 1, 1, 1, 1, 1]);
  });
});

describe('sizes that a receiver does not take', () => {
  test.each([413, 400, 401, 403, 500])(
    'are learned from %i: everything is served, nothing twice',
    async (status) => {
      const receiver = await openReceiver({
        otherwise: { fault: 'body-limit', maxBytes: 100_000, status },
      });
      const sender = senderTo(receiver, { schedule: { delaysMs: [1], repeatLast: true } });
      await sender.send(messages(200, 'shop-1', 'x'.repeat(2500)));
      await sender.flush();
      expect(await sender.stats()).toMatchObject({ delivered: 200, dead: 0, pending: 0 });
      expect(receiver.messageIds()).toEqual(new Map(ids(200).map((id) => [id, 1])));
      // 200 messages of 2.9 kB fit into 6 requests.
      expect(receiver.requests.length).toBeLessThan(20);
    },
  );

  test('let a message die that is refused with 413 alone, and only that one', async () => {
    const receiver = await openReceiver({
      otherwise: { fault: 'body-limit', maxBytes: 5000 },
    });
    const sender = senderTo(receiver);
    const given = messages(30);
    given[17] = message('m-17', 'shop-1', 'x'.repeat(6000));
    await sender.send(given);
    expect(await sender.flush()).toMatchObject({ delivered: 29, dead: 1 });
    expect((await sender.deadLetters()).items).toMatchObject([
      { message_id: 'm-17', reason: 'too-large', status: 413 },
    ]);
  });
});

describe('one message that always gets 500', () => {
  test('among 10,000 good ones is soon alone in its requests, and holds nobody back', async () => {
    const receiver = await openReceiver({
      script: ({ messageIds }) =>
        messageIds.includes('m-5000') ? { status: 500 } : { status: 200 },
    });
    const sender = senderTo(receiver, { schedule: { delaysMs: [1, 2, 3, 4, 5] } });
    await sender.send(messages(10_000));
    await sender.flush();
    expect(await sender.stats()).toMatchObject({ delivered: 9999, dead: 1, pending: 0 });
    expect(receiver.messageIds().size).toBe(9999);
    expect([...receiver.messageIds().values()].every((count) => count === 1)).toBe(true);
    const company = batches(receiver)
      .filter((sent) => sent.includes('m-5000'))
      .map(({ length }) => length);
    const inCompany = company.filter((length) => length > 1);
    // Twice with many others, then halved down to one.
    expect(inCompany.length).toBeLessThanOrEqual(2 + Math.ceil(Math.log2(1000)));
    expect(company.slice(inCompany.length).length).toBeGreaterThanOrEqual(1);
    expect(new Set(company.slice(inCompany.length))).toEqual(new Set([1]));
    expect((await sender.deadLetters()).items).toMatchObject([
      { message_id: 'm-5000', reason: 'attempts-exhausted', status: 500, sends: company.length },
    ]);
  });
});
