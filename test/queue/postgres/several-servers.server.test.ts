/** Applications on several servers, as docs/fleet.md describes. */
import { expect, onTestFinished, test } from 'vitest';
import { serverOf } from '../../../examples/fleet/server-of.ts';
import { type DurableQueue, exportQueue, importQueue } from '../../../src/queue/move.ts';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { closeApplication, entryOf, INITIAL } from '../conformance/trial.ts';

const APPLICATIONS = Array.from({ length: 30 }, (_, index) => `shop-${index}`);

test('serverOf spreads applications, and a new server takes its share from each of the others', () => {
  const many = Array.from({ length: 3000 }, (_, index) => `shop-${index}`);
  const before = many.map((id) => serverOf(id, ['a', 'b']));
  const after = many.map((id) => serverOf(id, ['c', 'b', 'a']));
  for (const server of ['a', 'b', 'c']) {
    const share = after.filter((one) => one === server).length / many.length;
    expect(share).toBeGreaterThan(0.3);
    expect(share).toBeLessThan(0.37);
  }
  const moved = after.filter((server, index) => server !== before[index]);
  expect(new Set(moved)).toEqual(new Set(['c']));
});

test.runIf(postgresPrograms !== undefined)(
  'a queue moves to the servers of a new list, each application to its own',
  async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const open = async (schema: string): Promise<DurableQueue> => {
      const { connection } = server;
      await createPostgresSchema({ connection, schema });
      const queue = createPostgresQueue({ connection, schema });
      onTestFinished(async () => void (await queue.close()));
      await queue.open(INITIAL);
      return queue;
    };
    const old = await open('old');
    await old.enqueue([entryOf('shop-3'), entryOf('shop-3')]);
    await closeApplication(old);
    await old.deadLetterClosed('shop-3', 1);
    const others = APPLICATIONS.filter((id) => id !== 'shop-3');
    await old.enqueue(others.flatMap((id) => [entryOf(id), entryOf(id)]));
    const names = ['a', 'b', 'c'];
    for (const name of names) {
      const items = async function* () {
        for await (const item of exportQueue(old)) {
          if (serverOf(String(item['application']), names) === name) yield item;
        }
      };
      const queue = await open(name);
      await importQueue(queue, items());
      const own = APPLICATIONS.filter((id) => serverOf(id, names) === name);
      const { applications, pending, dead } = await queue.stats();
      expect([...applications.keys()].toSorted()).toEqual(own.toSorted());
      expect([pending + dead, dead]).toEqual([own.length * 2, own.includes('shop-3') ? 1 : 0]);
    }
  },
);
