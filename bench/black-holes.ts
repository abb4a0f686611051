/**
 * `npm run bench:black-holes -- --queue sqlite`: 10,000 applications have messages waiting, a tenth of
 * them are black holes: until when has each of the others been served? `--applications`, `--holes`, `--messages`
 * (of each), `--first` (the black holes before all others), `--active` and `--waiting` change
 * it. Linux only: elsewhere 127.0.0.0/8 is not all this machine's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createWebhookSender } from 'security-event-delivery';
import {
  createPostgresQueue,
  createPostgresSchema,
  type DurableQueue,
} from 'security-event-delivery/queue/postgres';
import { createSqliteQueue } from 'security-event-delivery/queue/sqlite';
import { PostgresServer } from '../test/helpers/postgres-server.ts';
import { runScene } from './black-hole-scene.ts';

const { values } = parseArgs({
  options: {
    queue: { type: 'string', default: 'memory' },
    applications: { type: 'string', default: '10000' },
    holes: { type: 'string', default: '1000' },
    messages: { type: 'string', default: '2' },
    first: { type: 'boolean', default: false },
    active: { type: 'string', default: '64' },
    waiting: { type: 'string', default: '1024' },
  },
});

interface Place {
  readonly openQueue: (() => DurableQueue) | undefined;
  readonly leave: () => Promise<void>;
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  memory: () => Promise.resolve({ openQueue: undefined, leave: () => Promise.resolve() }),
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'black-holes-'));
    return Promise.resolve({
      openQueue: () => createSqliteQueue({ file: join(folder, 'queue.db') }),
      leave: () => Promise.resolve(rmSync(folder, { recursive: true })),
    });
  },
  postgres: async () => {
    const server = await PostgresServer.start({});
    const { connection } = server;
    const given = { connection: connection as { readonly host: string } };
    await createPostgresSchema(given);
    return { openQueue: () => createPostgresQueue(given), leave: () => server.stop() };
  },
};

const secondsOf = (ms: number): string => (ms / 1000).toFixed(2);

const { queue } = values;
const enter = Object.hasOwn(PLACES, queue) ? PLACES[queue] : undefined;
if (enter === undefined)
  throw new Error(`no queue ${queue}, but ${Object.keys(PLACES).join(', ')}`);
const { openQueue, leave } = await enter();
try {
  const { firstMs, hanging } = await runScene({
    createSender: createWebhookSender,
    openQueue,
    applications: Number(values.applications),
    holes: Number(values.holes),
    holesFirst: values.first,
    messages: Number(values.messages),
    maxActiveRequests: Number(values.active),
    maxWaitingRequests: Number(values.waiting),
  });
  const at = (share: number): string =>
    secondsOf(firstMs[Math.min(firstMs.length - 1, Math.floor(firstMs.length * share))] ?? 0);
  const { user, system } = process.cpuUsage();
  process.stdout.write(
    `${queue}: ${firstMs.length} healthy of ${values.applications} served, first message after ` +
      `p50 ${at(0.5)} s, p99 ${at(0.99)} s, the last ${at(1)} s; ${hanging} requests hung then ` +
      `(${values.active} active, ${values.waiting} waiting at most); the sender's process took ${secondsOf((user + system) / 1000)} s of CPU\n`,
  );
} finally {
  await leave();
}
