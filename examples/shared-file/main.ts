/** Three workers share a queue in an SQLite file. One is killed, and the others deliver its messages. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { generateSecret } from 'security-event-delivery';
import { type IncomingRequest, startReceiver } from 'security-event-delivery/testing';
import { type StartedProcess, startProcess } from '../processes.ts';
import { printTable, say } from '../story.ts';

const secret = generateSecret();
const workers = new Map<string, StartedProcess>();
let areReady = false;
let killed: IncomingRequest | undefined;
const receiver = await startReceiver({
  secret,
  script(request) {
    const name = request.headers['user-agent'] ?? '';
    const isAgain = request.messageIds.some((id) => killed?.messageIds.includes(id));
    if (isAgain) say(name, 'sends the messages of the killed worker again, after its lease');
    if (killed === undefined && areReady) {
      killed = request;
      workers.get(name)?.kill();
      say(name, `is killed: it sent ${request.messageIds.length} messages and has no answer yet`);
    }
    return { status: request.signatureOk ? 204 : 401, delayMs: 50 };
  },
});

const folder = mkdtempSync(join(tmpdir(), 'shared-file-'));
const QUEUE_FILE = join(folder, 'queue.db');
for (const name of ['worker-1', 'worker-2', 'worker-3']) {
  const env = { WORKER: name, RECEIVER_URL: receiver.url, WEBHOOK_SECRET: secret };
  workers.set(name, startProcess(new URL('./worker.ts', import.meta.url), { ...env, QUEUE_FILE }));
}
const all = [...workers.values()];
await Promise.all(all.map(({ ready }) => ready));
areReady = true;
const sent = () => receiver.requests.flatMap(({ messageIds }) => messageIds);
const arrived = () => new Set(sent()).size;
for (let tries = 0; sent().length <= 300 && tries < 400; tries += 1) await wait(50);
for (const worker of all) worker.stop();
await Promise.all(all.map(({ ended }) => ended));
await receiver.close();
rmSync(folder, { recursive: true });
printTable([
  ['Messages', 'Number'],
  ['accepted by the three workers', 300],
  ['arrived', `${arrived()}, ${sent().length - arrived()} of them twice`],
  ['lost', 300 - arrived()],
]);
process.exitCode = arrived() === 300 ? 0 : 1;
