/** The packed package on Bun and Deno, whose programs come from a registry: not for every run. */
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Consumer } from '../helpers/consumer.ts';
import { root } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

/** Both channels, capture and a receiver; a queue if it is named. */
const PROGRAM = `
  import { createReporter, createWebhookSender, sign } from 'security-event-delivery';
  import { createRequestCapture } from 'security-event-delivery/capture';
  import { LogRecord } from 'security-event-delivery/contract';
  import { createMemoryQueue } from 'security-event-delivery/queue/memory';
  import { createSqliteQueue } from 'security-event-delivery/queue/sqlite';
  import { createWebhookReceiver, fetchHandler } from 'security-event-delivery/receiver';
  import { sampleMessage, startReceiver } from 'security-event-delivery/testing';

  const secret = 'a shared secret';
  const receiver = await startReceiver({ secret, script: [{ status: 503 }, { status: 204 }] });
  const file = process.argv[2];
  const sender = createWebhookSender({
    url: receiver.url,
    secret,
    network: 'allow-private',
    schedule: { delaysMs: [10] },
    queue: file === undefined ? createMemoryQueue() : createSqliteQueue({ file }),
  });
  const lines = [];
  const reporter = createReporter({
    service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
    log: { destination: { write: (line) => lines.push(line) } },
    webhook: sender,
  });
  const request = {
    method: 'GET',
    url: '/a?b=c',
    headers: { host: 'shop.example' },
    socket: { remoteAddress: '203.0.113.9' },
  };
  createRequestCapture().run(request, () => reporter.attack({ ruleset: 'xss' }));
  const { delivered } = await reporter.flush();
  const record = LogRecord.parse(JSON.parse(lines[0]));

  const handle = fetchHandler(createWebhookReceiver({ secret, onMessages: () => {} }));
  const body = JSON.stringify([sampleMessage()]);
  const headers = { 'content-type': 'application/json', 'x-svc-integrity': sign(body, secret) };
  const response = await handle(new Request('http://127.0.0.1/', { method: 'POST', headers, body }));

  await reporter.close();
  await sender.close();
  const { length: requests } = receiver.requests;
  await receiver.close();
  const { address } = record.context.actor.ip;
  console.log(JSON.stringify({ address, delivered, requests, status: response.status }));
`;
const FACTS = { address: '203.0.113.9', delivered: 1, requests: 2, status: 204 };

describe.skipIf(quickOrNightly(true, false))('the packed package', () => {
  const consumer = new Consumer();
  const folder = join(consumer.folder, 'runtimes/node_modules');

  beforeAll(async () => {
    await consumer.install({ byNpm: false });
    const source = join(root, 'test/package/runtimes/package.json');
    cpSync(source, consumer.write('runtimes/package.json', ''));
    // Exact versions without a lock file, which would have to name the programs of every platform.
    await consumer.npm('install', join(consumer.folder, 'runtimes'));
  });
  afterAll(() => consumer.remove());

  /** The program that npm chose for this machine, as a separate package. */
  function programOf(scope: string, path: string): string {
    const [name = ''] = readdirSync(join(folder, scope));
    return join(folder, scope, name, path);
  }

  const runOn = async (program: string, args: readonly string[]): Promise<unknown> =>
    JSON.parse(await consumer.output(args, program));

  test('reports, delivers and receives on Bun, with a queue in an SQLite file too', async () => {
    const file = consumer.write('bun.mjs', PROGRAM);
    const bun = programOf('@oven', 'bin/bun');
    expect(await runOn(bun, [file])).toEqual(FACTS);
    const queue = join(consumer.folder, 'queue.db');
    expect(await runOn(bun, [file, queue])).toEqual(FACTS);
  });

  test('reports, delivers and receives on Deno', async () => {
    const file = consumer.write('deno.mjs', PROGRAM);
    const args = ['run', '-A', '--quiet', '--node-modules-dir=manual', file];
    expect(await runOn(programOf('@deno', 'deno'), args)).toEqual(FACTS);
  });
});
