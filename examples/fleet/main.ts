/**
 * A fleet on PostgreSQL: two agents that only enqueue, two dispatchers that deliver, a primary with a
 * synchronous standby, and a receiver that is slow and refuses some requests. A dispatcher is killed in
 * the middle of a request, then the primary. All accepted messages arrive; those under way arrive twice.
 */
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { generateSecret } from 'security-event-delivery';
import { startReceiver } from 'security-event-delivery/testing';
import { type StartedProcess, startProcess } from '../processes.ts';
import { printTable, say } from '../story.ts';
import { openDatabase } from './database.ts';
import { MESSAGES_OF_AN_AGENT } from './queue.ts';

const database = await openDatabase();
if (database === undefined) {
  say('fleet', 'skipped: set DATABASE_URL, or install PostgreSQL (apt-get install postgresql)');
  process.exit(0);
}

const secret = generateSecret();
const dispatchers = new Map<string, StartedProcess>();
let killed: string | undefined;
const receiver = await startReceiver({
  secret,
  script({ index, headers, signatureOk }) {
    const name = headers['user-agent'] ?? '';
    if (!signatureOk) return { status: 401 };
    if (index % 5 === 4) return { status: 503 };
    if (killed === undefined) {
      killed = name;
      dispatchers.get(name)?.kill();
      say(name, 'is killed while the receiver answers its request');
    }
    return { status: 204, delayMs: 100 };
  },
});
const DATABASE_URL = database.url;
const start = (name: string, env: Readonly<Record<string, string>> = {}): StartedProcess =>
  startProcess(new URL(`./${name.replace(/-\d$/, '')}.ts`, import.meta.url), {
    ...env,
    NAME: name,
    DATABASE_URL,
  });
for (const name of ['dispatcher-1', 'dispatcher-2']) {
  dispatchers.set(name, start(name, { RECEIVER_URL: receiver.url, WEBHOOK_SECRET: secret }));
}
await Promise.all([...dispatchers.values()].map(({ ready }) => ready));
const agents = ['agent-1', 'agent-2'].map((name) => start(name));

await until(() => killed !== undefined);
if (database.failOver === undefined) {
  say('primary', 'is not killed, since DATABASE_URL names your database');
} else {
  await wait(300);
  await database.failOver();
  say('primary', 'is killed; the standby has every committed message, and takes over');
}
await Promise.all(agents.map(({ ended }) => ended));

const expected = 2 * MESSAGES_OF_AN_AGENT;
const taken = () => receiver.requests.filter(({ step }) => 'status' in step && step.status === 204);
const arrivals = () => taken().flatMap(({ messageIds }) => messageIds);
const arrived = () => new Set(arrivals()).size;
await until(() => arrived() === expected);
await wait(4000); // the messages of the killed dispatcher are due again when its lease expires
for (const dispatcher of dispatchers.values()) dispatcher.stop();
await Promise.all([...dispatchers.values()].map(({ ended }) => ended));

const retried = taken().flatMap(({ retryCounts }) => retryCounts.filter((count) => count > 0));
printTable([
  ['Fleet', 'Number'],
  ['messages that the agents enqueued', expected],
  ['messages that arrived', arrived()],
  [
    'of them twice or more',
    new Set(arrivals().filter((id, at, all) => all.indexOf(id) !== at)).size,
  ],
  ['requests that the receiver refused', receiver.requests.length - taken().length],
  ['messages with retry_count above 0', retried.length],
  ['messages lost', expected - arrived()],
]);
await receiver.close();
await database.stop();
process.exitCode = arrived() === expected ? 0 : 1;

/** Waits up to 60 seconds. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; !isTrue() && tries < 1200; tries += 1) await wait(50);
}
