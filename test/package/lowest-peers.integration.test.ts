/**
 * Uses each optional peer in the lowest version that package.json allows, next to the packed package. npm installs
 * them from a registry, so this is not for `npm test`.
 */
import { cpSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Consumer } from '../helpers/consumer.ts';
import { mmdb } from '../helpers/mmdb.ts';
import { manifest, root, textOf } from '../helpers/package-files.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const LOWEST = 'test/package/lowest-peers';

interface Pinned {
  readonly dependencies: Readonly<Record<string, string>>;
}

test('the tested version is the lowest of each range', () => {
  const { dependencies } = JSON.parse(textOf(join(LOWEST, 'package.json'))) as Pinned;
  const ranges = Object.entries(dependencies).map(([peer, version]) => [peer, `^${version}`]);
  expect(Object.fromEntries(ranges)).toEqual(manifest.peerDependencies);
});

/** Enqueues in one queue, and delivers from the same queue opened again. */
const sendLater = (queue: string): string => `
  import { createWebhookSender } from '${manifest.name}';
  import { sampleMessageToSend, startReceiver } from '${manifest.name}/testing';
  const secret = '5f0c2a9e7d3b4816'.repeat(4);
  const receiver = await startReceiver({ secret });
  const open = async (role) => {
    const to = { url: receiver.url, secret, network: 'allow-private', role };
    return createWebhookSender({ ...to, queue: await (${queue})() });
  };
  const given = () => ({ ...sampleMessageToSend(), message_id: undefined });
  const agent = await open('enqueue');
  const { accepted } = await agent.send([given(), given()]);
  await agent.close();
  const dispatcher = await open('deliver');
  await receiver.waitForRequests(1);
  const { remaining } = await dispatcher.close();
  const ids = [...receiver.acceptedCounts().keys()];
  await receiver.close();
  console.log(JSON.stringify({ remaining, delivered: ids.length, same: ids.every((id) => accepted.includes(id)) }));
`;

const SENT = { remaining: 0, delivered: 2, same: true };

describe.skipIf(quickOrNightly(true, false))('with the lowest version', () => {
  const consumer = new Consumer();

  beforeAll(async () => {
    await consumer.install({ byNpm: false });
    for (const file of ['package.json', 'package-lock.json']) {
      cpSync(join(root, LOWEST, file), consumer.write(join('peers', file), ''));
    }
    await consumer.npm('ci', join(consumer.folder, 'peers'));
    // In the package's own folder, like npm's versions that differ from those of others.
    renameSync(
      join(consumer.folder, 'peers/node_modules'),
      join(consumer.installed, 'node_modules'),
    );
  });
  afterAll(() => {
    consumer.remove();
  });

  const runProgram = async (name: string, program: string): Promise<unknown> =>
    JSON.parse(await consumer.output([consumer.write(name, program)]));

  test('of @photostructure/sqlite a queue in a file is written, opened again and delivered from', async () => {
    const file = JSON.stringify(join(consumer.folder, 'queue.db'));
    const program = `
      import { createSqliteQueue } from '${manifest.name}/queue/sqlite';
      ${sendLater(`() => createSqliteQueue({ file: ${file} })`)}`;
    expect(await runProgram('sqlite.mjs', program)).toEqual(SENT);
  });

  test.runIf(postgresPrograms !== undefined)(
    'of pg a schema is made, and a queue of it written and delivered from',
    async () => {
      const server = await PostgresServer.start();
      try {
        const connection = JSON.stringify(server.connection);
        const program = `
          import { createPostgresQueue, createPostgresSchema } from '${manifest.name}/queue/postgres';
          const connection = ${connection};
          await createPostgresSchema({ connection });
          ${sendLater('() => createPostgresQueue({ connection })')}`;
        expect(await runProgram('postgres.mjs', program)).toEqual(SENT);
      } finally {
        await server.stop();
      }
    },
  );

  test('of maxmind an address is found in a database', async () => {
    const databasePath = join(consumer.folder, 'city.mmdb');
    writeFileSync(databasePath, mmdb({ '8.8.8.7': { is_tor_exit_node: true } }));
    const program = `
      import { maxmindEnricher } from '${manifest.name}/capture';
      const enricher = await maxmindEnricher({ databasePath: ${JSON.stringify(databasePath)} });
      console.log(JSON.stringify(enricher('8.8.8.7')));`;
    const facts = { proxy: false, tor: true, vpn: false };
    expect(await runProgram('maxmind.mjs', program)).toEqual(facts);
  });
});
