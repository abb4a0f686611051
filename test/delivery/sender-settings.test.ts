import { describe, expect, test } from 'vitest';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { withOtherPromise } from '../helpers/promises.ts';
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
  rejection,
  SECRET,
} from '../helpers/sender.ts';

const SOON = { schedule: { delaysMs: [5, 5, 5, 5, 5] }, minProbeWaitMs: 5 } as const;

const response = (name: string) =>
  sampleMessageToSend('security_response', { message: { playbook: { name } } });

const skip = (index: number, reason: string) => ({ index, applicationId: 'shop-1', reason });

describe('settings', () => {
  test('may be a function, asked for each application', async () => {
    const receiver = await openReceiver();
    const sender = openSender({
      settings: async (id) =>
        id === 'shop-1'
          ? { name: 'shop', environment: 'test', url: receiver.url, secret: SECRET }
          : undefined,
    });
    const unknown = [message('m-0'), message('m-1', 'shop-2')];
    const error = await rejection(sender.send(unknown));
    expect(error).toMatchObject({ code: 'ERR_UNKNOWN_APPLICATION', input: unknown });
    await sender.send(messages(2));
    await sender.flush();
    expect(batches(receiver)).toEqual([ids(2)]);
  });

  test('are waited for where the global Promise is not that of async functions', async () => {
    const receiver = await openReceiver();
    const shop = { name: 'shop', environment: 'test', url: receiver.url, secret: SECRET };
    const given = messages(3);
    const accepted = await withOtherPromise(async () => {
      const sender = openSender({ settings: async (id) => (id === 'shop-1' ? shop : undefined) });
      const told = await sender.send(given);
      const unknown = await rejection(sender.send([message('m-3', 'shop-2')]));
      expect(unknown).toMatchObject({ code: 'ERR_UNKNOWN_APPLICATION' });
      await sender.flush();
      return told.accepted;
    });
    expect(accepted).toHaveLength(3);
    expect(batches(receiver)).toEqual([ids(3)]);
  });

  test('with an address that is refused hold back that destination alone, and say so (D82)', async () => {
    const receiver = await openReceiver();
    const told = listen();
    const settings = applicationsOf({
      metadata: { url: 'http://169.254.169.254/latest' },
      works: receiver,
    });
    const sender = openSender({ settings, network: 'allow-private' });
    await sender.send([message('m-0', 'metadata'), message('m-1', 'works')]);
    const flushed = await sender.flush({ deadlineMs: 200 });
    expect(flushed).toMatchObject({ delivered: 1, pending: 1 });
    expect(flushed.failures).toEqual([{ applicationId: 'metadata', because: 'refused' }]);
    expect(told.of('destination-missing')).toMatchObject([
      { applicationId: 'metadata', because: 'refused' },
    ]);
    const { returned, failures } = await sender.close({ deadlineMs: 0 });
    expect(returned).toMatchObject([{ message_id: 'm-0', sends: 0 }]);
    expect(failures).toEqual(flushed.failures);
  });

  test('that cannot be read refuse the call, and hand it back', async () => {
    const sender = openSender({
      settings: () => {
        throw new Error('the database is away');
      },
    });
    const given = messages(2);
    const error = await rejection(sender.send(given));
    expect(error).toMatchObject({ code: 'ERR_SETTINGS_FAILED', input: given });
  });

  test('skip what is not selected, each message with its reason (D60)', async () => {
    const receiver = await openReceiver();
    const sender = openSender({
      settings: {
        applications: {
          'shop-1': {
            name: 'shop',
            environment: 'test',
            url: receiver.url,
            secret: SECRET,
            modules: { sqli: true, xss: false },
            playbooks: { 'Block IPs': true },
          },
        },
      },
    });
    expect(await sender.send([message('m-0')], { module: 'xss' })).toEqual({
      accepted: [],
      skipped: [skip(0, 'module-not-selected')],
    });
    expect((await sender.send([message('m-1')], { module: 'sqli' })).accepted).toEqual(['m-1']);
    expect((await sender.send([message('m-2')])).accepted).toEqual(['m-2']);
    const mixed = await sender.send([response('Lock users'), response('Block IPs')]);
    expect(mixed.skipped).toEqual([skip(0, 'playbook-not-selected')]);
    expect(mixed.accepted).toHaveLength(1);
    await sender.flush();
    expect(receiver.messageIds().size).toBe(3);
  });

  test('of format 1 make elements of format v1, and skip what has no form there', async () => {
    const receiver = await openReceiver();
    const sender = openSender({
      settings: { format: 1, ...applicationsOf({ 'shop-1': receiver }) },
    });
    const updated = sampleMessageToSend('http_scan', { message: { incident_status: 'updated' } });
    const { accepted, skipped } = await sender.send([
      message('m-0'),
      updated,
      sampleMessageToSend('http_scan'),
    ]);
    expect(accepted).toHaveLength(2);
    expect(skipped).toEqual([{ index: 1, applicationId: 'shop-1', reason: 'v1-incident-update' }]);
    await sender.flush();
    expect(receiver.requests.map(({ signatureOk }) => signatureOk)).toEqual([true]);
    const elements = receiver.requests.flatMap((request) => request.messages);
    expect(elements.map((element) => element['svc_payload_type'])).toEqual([
      'security_event',
      'pulse',
    ]);
    expect(elements[0]).not.toHaveProperty('message_id');
  });

  test('may give the secret by a function, which is asked before every attempt', async () => {
    const secrets = ['first', 'second', 'third'];
    let asked = 0;
    const receiver = await openReceiver({
      secret: secrets,
      script: [{ status: 500 }, { status: 500 }],
    });
    const [application] = Object.values(applicationsOf({ 'shop-1': receiver }).applications);
    const secret = async () => secrets[asked++] ?? '';
    const sender = openSender({
      ...SOON,
      settings: () => ({ ...(application as NonNullable<typeof application>), secret }),
    });
    await sender.send(messages(1));
    await sender.flush();
    expect(asked).toBe(3);
    expect(receiver.requests.map(({ signatureOk }) => signatureOk)).toEqual([true, true, true]);
  });

  test('are asked again for each attempt: a new URL is used from the next one on', async () => {
    const old = await openReceiver({ otherwise: { status: 500 } });
    const next = await openReceiver();
    let { url } = old;
    const sender = openSender({
      ...SOON,
      settings: () => ({ name: 'shop', environment: 'test', url, secret: SECRET }),
    });
    await sender.send(messages(1));
    await old.waitForRequests(1, PATIENCE);
    url = next.url;
    await sender.flush();
    expect(next.requests.map(({ retryCounts }) => retryCounts)).toEqual([[old.requests.length]]);
  });

  test('that have lost the application let its messages wait, and count nothing as sent', async () => {
    const receiver = await openReceiver();
    let asked = 0;
    const sender = openSender({
      ...SOON,
      settings: () => {
        asked += 1;
        if (asked > 1 && asked < 4) return undefined;
        return { name: 'shop', environment: 'test', url: receiver.url, secret: SECRET };
      },
    });
    await sender.send(messages(1));
    await sender.flush();
    expect(asked).toBe(4);
    expect(receiver.requests.map(({ retryCounts }) => retryCounts)).toEqual([[0]]);
    expect((await sender.stats()).attempts).toBe(1);
  });
});
