/** Three workers share a queue in an SQLite file. One is killed, and the others deliver its messages. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createWebhookSender } from 'security-event-delivery';
import { createSqliteQueue } from 'security-event-delivery/queue/sqlite';
import { sampleMessageToSend } from 'security-event-delivery/testing';

const WORKERS = ['worker-1', 'worker-2', 'worker-3'];
const TOTAL = 300; // messages, a third by each worker
type Messages = readonly { readonly message_id: string }[];
const say = (who: string, text: string): void => console.log(`${who.padEnd(9)} ${text}`);

async function work(name: string, file: string, url: string): Promise<void> {
  const sender = createWebhookSender({
    url,
    secret: 'a shared secret',
    queue: createSqliteQueue({ file }),
    network: 'allow-private', // the receiver is on this machine
    userAgent: name,
    maxMessages: 10,
    deadlineMs: 1000,
    leaseMs: 2000, // a killed worker keeps its messages from the others for so long
  });
  const ids = Array.from({ length: TOTAL / 3 }, (_, index) => ({ message_id: `${name}-${index}` }));
  await sender.send(ids.map((id) => sampleMessageToSend('security_event', id)));
  say(name, `accepted ${TOTAL / 3} messages: they are in the file`);
  process.send?.('accepted');
  await once(process, 'disconnect');
  await sender.close();
}

async function main(): Promise<void> {
  const workers = new Map<string, ChildProcess>();
  const counts = new Map<string, number>(); // by message id, how often it came
  const twice = () => [...counts.values()].filter((count) => count > 1).length;
  const take = (messages: Messages, name: string): void => {
    const before = twice();
    for (const { message_id: id } of messages) counts.set(id, (counts.get(id) ?? 0) + 1);
    if (twice() > before) say(name, `sent these ${messages.length} again, after the lease`);
    if (ready.size < WORKERS.length) return;
    ready.clear(); // no other one is killed
    workers.get(name)?.kill('SIGKILL');
    workers.delete(name);
    say(name, `killed: it sent ${messages.length} messages and has no answer yet`);
  };
  const answer: RequestListener = (request, response) => {
    setTimeout(() => response.writeHead(204).end(), 50);
    void json(request).then((body) => take(body as Messages, request.headers['user-agent'] ?? ''));
  };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = mkdtempSync(join(tmpdir(), 'shared-file-'));
  const ready = new Set<string>();
  for (const name of WORKERS) {
    const worker = fork(fileURLToPath(import.meta.url), [name, join(folder, 'queue.db'), url]);
    worker.once('message', () => ready.add(name));
    workers.set(name, worker);
  }
  const isOver = () => counts.size === TOTAL && twice() > 0;
  for (let tries = 0; !isOver() && tries < 400; tries += 1) await wait(50);
  for (const worker of workers.values()) worker.disconnect();
  await Promise.all([...workers.values()].map((worker) => once(worker, 'exit')));
  server.close();
  rmSync(folder, { recursive: true });
  say('receiver', `has ${counts.size} of ${TOTAL} messages, ${twice()} of them came twice`);
  say('main', isOver() ? 'Nothing was lost.' : 'Messages were lost.');
}

const [, , name, file = '', url = ''] = process.argv;
await (name === undefined ? main() : work(name, file, url));
