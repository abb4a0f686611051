/** Set, test, save and deliver, with real receivers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { TestOptions } from '../../src/configure/configuration.ts';
import { createConfiguration } from '../../src/configure/create-configuration.ts';
import { createWebhookSender } from '../../src/delivery/create-sender.ts';
import { verify } from '../../src/index.ts';
import { settingsFile } from '../../src/settings/settings-file.ts';
import {
  createFakeClock,
  type ReceivedRequest,
  type Receiver,
  startReceiver,
} from '../../src/testing/index.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

function configurationOf(options: TestOptions = { network: 'allow-private' }) {
  const file = join(temporaryFolder(), 'settings.json');
  return { file, configuration: createConfiguration({ file, ...options }) };
}

async function receiver(options?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const started = await startReceiver(options);
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}

const isSignedBy = (request: ReceivedRequest | undefined, secret: string): boolean =>
  request !== undefined && verify(request.body, request.headers['x-svc-integrity'], secret);

const messageOf = (request: ReceivedRequest | undefined) =>
  (JSON.parse(String(request?.body)) as Record<string, unknown>[])[0];

const response = (name: string) => ({
  message_type: 'security_response' as const,
  message: {
    application: { name: 'shop', environment: 'production', id: 'shop' },
    properties: { ips: [], user_identifiers: [] },
    playbook: { name, id: 'any' },
  },
});

test('a webhook delivers only after it was set, tested, saved and selected', async () => {
  const there = await receiver();
  const { file, configuration } = configurationOf();
  const names = { name: 'The shop', environment: 'staging' };
  const { secret, warnings } = await configuration.setWebhook('shop', there.url, names);
  expect(warnings).toEqual(['plain-http']);

  const tested = await configuration.test('shop');
  expect(tested).toMatchObject({ ok: true, tested: 'draft', requests: [{ status: 200 }] });
  expect(isSignedBy(there.requests[0], secret)).toBe(true);
  expect(messageOf(there.requests[0])).toMatchObject({
    message_type: 'test',
    retry_count: 0,
    message: { application_id: 'shop', application_name: 'The shop', environment: 'staging' },
  });

  const settings = settingsFile(file, {}, createFakeClock());
  onTestFinished(() => settings.close());
  const sender = createWebhookSender({ settings, network: 'allow-private' });
  onTestFinished(async () => void (await sender.close()));
  await expect(sender.send([response('Block IPs')])).rejects.toMatchObject({
    code: 'ERR_UNKNOWN_APPLICATION',
  });

  await configuration.save('shop');
  await configuration.selectPlaybooks('shop', { 'Block IPs': true });
  await settings.reload();
  const { accepted, skipped } = await sender.send([response('Block IPs'), response('Notify')]);
  expect([accepted.length, skipped.map(({ reason }) => reason)]).toEqual([
    1,
    ['playbook-not-selected'],
  ]);
  expect(await sender.flush()).toMatchObject({ delivered: 1, pending: 0 });
  expect(isSignedBy(there.requests[1], secret)).toBe(true);
});

test('a draft is tested beside the saved destination', async () => {
  const [before, draft] = [await receiver(), await receiver({ script: [{ status: 500 }] })];
  const { configuration } = configurationOf();
  const saved = await configuration.setWebhook('shop', before.url);
  await configuration.save('shop');
  await configuration.setWebhook('shop', draft.url);
  expect(await configuration.test('shop')).toMatchObject({
    ok: false,
    tested: 'draft',
    undelivered: [{ status: 500 }],
  });
  await configuration.discard('shop');
  expect(await configuration.test('shop')).toMatchObject({ ok: true, tested: 'saved' });
  expect(isSignedBy(before.requests[0], saved.secret)).toBe(true);
  expect([before.requests.length, draft.requests.length]).toEqual([1, 1]);
});

test('each attempt is signed with one secret: the new one from its time on', async () => {
  const there = await receiver({ script: [{ status: 200 }, { status: 500 }, { status: 200 }] });
  const { file, configuration } = configurationOf();
  const { secret: old } = await configuration.setWebhook('shop', there.url);
  await configuration.save('shop');
  const from = new Date(Date.now() + 3_600_000);
  const { secret: next } = await configuration.rotateSecret('shop', { from });

  const clock = createFakeClock(from.getTime() - 1);
  const settings = settingsFile(file, {}, clock);
  onTestFinished(() => settings.close());
  const sender = createWebhookSender({
    settings,
    network: 'allow-private',
    schedule: { delaysMs: [1] },
  });
  onTestFinished(async () => void (await sender.close()));
  const signers = () =>
    there.requests.map((request) => [isSignedBy(request, old), isSignedBy(request, next)]);
  await sender.send([response('one')]);
  await sender.flush();
  expect(signers()).toEqual([[true, false]]);
  clock.setWallClock(from.getTime());
  // Retries are signed with the secret of their own time, too.
  await sender.send([response('two')]);
  await sender.flush();
  expect(signers()).toEqual([
    [true, false],
    [false, true],
    [false, true],
  ]);
});

test('a test has the format of the organisation', async () => {
  const there = await receiver();
  const { file, configuration } = configurationOf();
  await configuration.setWebhook('shop', there.url);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"format": 2', '"format": 1'));
  await configuration.test('shop');
  expect(messageOf(there.requests[0])).toMatchObject({ svc_payload_type: 'test' });
});

test('a test is refused for private addresses by default', async () => {
  const there = await receiver();
  const { configuration } = configurationOf({});
  await configuration.setWebhook('shop', there.url);
  expect(await configuration.test('shop')).toMatchObject({
    ok: false,
    undelivered: [{ failure: 'address-refused' }],
  });
  expect(there.connectionCount).toBe(0);
});

test('a test uses the certificates of the saved application', async () => {
  const there = await receiver({ tls: 'self-signed' });
  const { file, configuration } = configurationOf();
  await configuration.setWebhook('shop', there.url);
  await configuration.save('shop');
  expect(await configuration.test('shop')).toMatchObject({ undelivered: [{ failure: 'tls' }] });
  const settings = JSON.parse(readFileSync(file, 'utf8')) as {
    applications: { shop: { tls?: object } };
  };
  settings.applications.shop.tls = { ca: there.certificate };
  writeFileSync(file, JSON.stringify(settings));
  expect(await configuration.test('shop')).toMatchObject({ ok: true, tested: 'saved' });
  await configuration.setWebhook('shop', there.url);
  expect(await configuration.test('shop')).toMatchObject({ ok: true, tested: 'draft' });
});
