/** The `dead` commands on a PostgreSQL queue. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebhookSender } from '../../../src/index.ts';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { addDeadLetters, deadLetterSpecs } from '../../helpers/queues.ts';
import { GENEROUS_TIMEOUT, openReceiver, SECRET } from '../../helpers/sender.ts';
import { outcome, runCommand } from '../../helpers/terminal.ts';

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
    // Longer than a test may take: replayed messages are found by notification, not by polling.
    return () => createPostgresQueue({ connection, schema, pollMs: 60_000 });
  };

  test('a running service delivers replayed messages at once', async () => {
    const open = await inSchema('at_work');
    const queue = open();
    await addDeadLetters(queue, deadLetterSpecs(250));
    const receiver = await openReceiver();
    const { url } = receiver;
    const service = createWebhookSender({ url, secret: SECRET, network: 'allow-private', queue });
    await service.stats();
    const words = ['dead', 'replay', '--all', '--postgres', '--schema', 'at_work'];
    expect(await runCommand(words, { environment })).toEqual(
      outcome(0, '250 dead letters replayed\n'),
    );
    while (receiver.acceptedCounts().size < 250) {
      await receiver.waitForRequests(receiver.requests.length + 1, GENEROUS_TIMEOUT);
    }
    await service.close();
    expect(new Set(receiver.acceptedCounts().values())).toEqual(new Set([1]));
  });

  test.each(['DATABASE_URL', '--transaction-pooling'])(
    'a connection string of %s finds the queue, in the usual schema',
    async (by) => {
      const { connection } = server;
      await createPostgresSchema({ connection });
      const text = `postgresql://postgres@/postgres?host=${encodeURIComponent(folder())}`;
      const words = ['--postgres', ...(by === 'DATABASE_URL' ? [] : [by])];
      const given = { DATABASE_URL: text };
      expect(await runCommand(['dead', 'list', ...words], { environment: given })).toEqual(
        outcome(0, '', '0 dead letters\n'),
      );
    },
  );

  test('a missing schema exits with 3', async () => {
    const words = ['dead', 'list', '--postgres', '--schema', 'nowhere'];
    const { exitCode, stderr } = await runCommand(words, { environment });
    expect(exitCode).toBe(3);
    expect(stderr).toContain('the schema is missing');
  });
});
