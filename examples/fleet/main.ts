/**
 * A fleet on PostgreSQL: two agents that only enqueue, two dispatchers that deliver, a primary with a
 * synchronous standby, and a receiver that is slow and refuses some requests. A dispatcher is killed in the
 * middle of a request, then the primary. All accepted messages arrive. What was under way arrives twice, with
 * the same ids and a higher `retry_count`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generateSecret } from 'security-event-delivery';
import { openDatabase } from './database.ts';
import { ended } from './ended.ts';
import { startReceiver } from './receiver.ts';
import { MESSAGES_OF_AN_AGENT, say } from './shared.ts';

const TIME_LIMIT_MS = 60_000;

const database = await openDatabase();
if (database === undefined) {
  say('fleet', 'skipped: set DATABASE_URL, or install PostgreSQL (apt-get install postgresql)');
  process.exit(0);
}
const secret = generateSecret();
const receiver = await startReceiver(secret);

const start = (program: string, ...args: readonly string[]): ChildProcess =>
  fork(fileURLToPath(new URL(`./${program}.ts`, import.meta.url)), args, {
    env: {
      ...process.env,
      ...database.environment,
      // An agent has neither.
      ...(program === 'agent' ? {} : { RECEIVER_URL: receiver.url, WEBHOOK_SECRET: secret }),
    },
    stdio: ['ignore', 2, 2, 'ipc'],
  });

const names = ['dispatcher-1', 'dispatcher-2'];
const dispatchers = new Map(names.map((name) => [name, start('dispatcher', name)]));
await Promise.all([...dispatchers.values()].map((dispatcher) => once(dispatcher, 'message')));

const agents = ['agent-1', 'agent-2'].map((name) => start('agent', name));

const unlucky = await receiver.busy();
dispatchers.get(unlucky)?.kill('SIGKILL');
dispatchers.delete(unlucky);
say(unlucky, 'killed while the receiver was answering its request');

if (database.failOver === undefined) {
  say('primary', 'not killed: the database of DATABASE_URL is yours');
} else {
  await wait(300);
  await database.failOver();
  say('primary', 'killed; the standby has every committed message, and takes over');
}
await Promise.all(agents.map(ended));

const expected = 2 * MESSAGES_OF_AN_AGENT;
const startedAt = Date.now();
while (receiver.taken.size < expected && Date.now() - startedAt < TIME_LIMIT_MS) await wait(50);
// What was in the killed request is due again when its lease expires.
await wait(4000);
for (const dispatcher of dispatchers.values()) {
  if (dispatcher.connected) dispatcher.disconnect();
  await ended(dispatcher);
}

const taken = [...receiver.taken.values()];
const twice = taken.filter(({ times }) => times > 1).length;
const retried = taken.filter(({ retryCount }) => retryCount > 0).length;
say('receiver', `${taken.length} of ${expected} messages have arrived`);
say('receiver', `${receiver.refused} requests were refused, and sent again`);
say('receiver', `${twice} messages arrived more than once, ${retried} have a retry_count above 0`);
receiver.close();
await database.stop();
if (taken.length === expected) say('fleet', 'Nothing was lost.');
else process.exitCode = 1;
