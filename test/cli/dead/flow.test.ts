/** From a message that a service could not deliver to the receiver that gets it once, over both durable queues. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebhookSender, type MessageQueue } from '../../../src/index.ts';
import { createLevelQueue } from '../../../src/queue/level.ts';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { bury, deaths } from '../../helpers/dead-letters.ts';
import { runCommand } from '../../helpers/fake-terminal.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { ids, messages, openReceiver, PATIENCE, SECRET } from '../../helpers/sender.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

interface Place {
  readonly open: () => MessageQueue;
  /** Options of the command. */
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

interface End {
  readonly times: Readonly<Record<string, number>>;
  readonly retryCounts: readonly number[];
  readonly stillDead: string;
}

const DELIVERED_ONCE: End = {
  times: { 'm-0': 1, 'm-1': 1, 'm-2': 1 },
  retryCounts: [1, 1, 1],
  stillDead: '0 dead letters\n',
};

async function wholeFlow({ open, words, environment }: Place): Promise<End> {
  const dead = (...more: string[]) => runCommand(['dead', ...more, ...words], { environment });
  let isMended = false;
  const receiver = await openReceiver({
    script: () => ({ status: isMended ? 200 : 404 }),
  });
  const service = () =>
    createWebhookSender({
      url: receiver.url,
      secret: SECRET,
      network: 'allow-private',
      queue: open(),
      refusedMaxAttempts: 1,
    });
  const before = service();
  await before.send(messages(3));
  expect(await before.flush()).toMatchObject({ dead: 3 });
  await before.close();

  const list = await dead('list', '--json', '--application', 'shop-1');
  const lines = list.stdout.split('\n').slice(0, -1);
  const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(found).toMatchObject(
    ids(3).map((id) => ({ message_id: id, reason: 'attempts-exhausted', status: 404, sends: 1 })),
  );
  const second = String(found[1]?.['id']);
  expect(await dead('show', second, '--json', '--payload')).toMatchObject({ exitCode: 0 });
  expect(receiver.requests.map(({ messageIds }) => messageIds)).toEqual([ids(3)]);

  isMended = true;
  expect(await dead('replay', second)).toMatchObject({
    exitCode: 0,
    stdout: '1 dead letter replayed\n',
  });
  expect(await dead('replay', '--all')).toMatchObject({ stdout: '2 dead letters replayed\n' });
  expect(await dead('replay', '--all')).toMatchObject({ stdout: '0 dead letters replayed\n' });
  // The command itself sends nothing.
  expect(receiver.requests).toHaveLength(1);

  const after = service();
  await receiver.waitForRequests(2, PATIENCE);
  await after.close();
  return {
    times: Object.fromEntries(receiver.messageIds()),
    retryCounts: receiver.requests.slice(1).flatMap(({ retryCounts }) => retryCounts),
    stillDead: (await dead('list')).stderr,
  };
}

test('what a service with a folder could not deliver is replayed and delivered once', async () => {
  const folder = join(temporaryFolder(), 'queue');
  const open = () => createLevelQueue({ folder, sync: false });
  expect(await wholeFlow({ open, words: ['--level', folder], environment: {} })).toEqual(
    DELIVERED_ONCE,
  );
});

describe.skipIf(postgresPrograms === undefined)('in PostgreSQL', () => {
  let server: PostgresServer;
  let environment: Record<string, string>;
  const folder = () => String(server.connection.host);

  beforeAll(async () => {
    server = await PostgresServer.start();
    const { host, port, user, database } = server.connection;
    environment = {
      PGHOST: String(host),
      PGPORT: String(port),
      PGUSER: String(user),
      PGDATABASE: String(database),
    };
  });
  afterAll(() => server.stop());

  const inSchema = async (schema: string) => {
    const { connection } = server;
    await createPostgresSchema({ connection, schema });
    // Longer than a test may take: what is replayed is told, and not found by looking.
    return () => createPostgresQueue({ connection, schema, pollMs: 60_000 });
  };

  test('what a service could not deliver is replayed and delivered once', async () => {
    const open = await inSchema('flow');
    const words = ['--postgres', '--schema', 'flow'];
    expect(await wholeFlow({ open, words, environment })).toEqual(DELIVERED_ONCE);
  });

  test('a service at work delivers what is replayed at once', async () => {
    const open = await inSchema('at_work');
    const queue = open();
    await bury(queue, deaths(250));
    const receiver = await openReceiver();
    const { url } = receiver;
    const service = createWebhookSender({ url, secret: SECRET, network: 'allow-private', queue });
    await service.stats();
    const words = ['dead', 'replay', '--all', '--postgres', '--schema', 'at_work'];
    expect(await runCommand(words, { environment })).toEqual({
      exitCode: 0,
      stdout: '250 dead letters replayed\n',
      stderr: '',
    });
    while (receiver.messageIds().size < 250) {
      await receiver.waitForRequests(receiver.requests.length + 1, PATIENCE);
    }
    await service.close();
    expect(new Set(receiver.messageIds().values())).toEqual(new Set([1]));
  });

  test.each(['DATABASE_URL', '--postgres-env', '--transaction-pooling'])(
    'a connection string of %s finds the queue, in the usual schema',
    async (by) => {
      const { connection } = server;
      await createPostgresSchema({ connection });
      const text = `postgresql://postgres@/postgres?host=${encodeURIComponent(folder())}`;
      const [words, given] =
        by === '--postgres-env'
          ? [[by, 'QUEUE'], { QUEUE: text }]
          : [['--postgres', ...(by === 'DATABASE_URL' ? [] : [by])], { DATABASE_URL: text }];
      expect(await runCommand(['dead', 'list', ...words], { environment: given })).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: '0 dead letters\n',
      });
    },
  );

  test('a schema that is missing is an outage', async () => {
    const words = ['dead', 'list', '--postgres', '--schema', 'nowhere'];
    const { exitCode, stderr } = await runCommand(words, { environment });
    expect(exitCode).toBe(3);
    expect(stderr).toContain('the schema is missing');
  });
});
