/** Applications on several servers, a sender for each: the way past one server that docs/fleet.md describes. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { serverOf } from '../../../examples/fleet/server-of.ts';
import type { WebhookSender } from '../../../src/index.ts';
import { type DurableQueue, exportQueue, importQueue } from '../../../src/queue/move.ts';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import {
  applicationsOf,
  batches,
  message,
  openReceiver,
  openSender,
} from '../../helpers/sender.ts';
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

describe.runIf(postgresPrograms !== undefined)('a sender for each of two servers', () => {
  test('moves what is left of the old schemas to the servers of a new list', async () => {
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
  });

  test('delivers for the applications of one server while the other is down', async () => {
    const receiver = await openReceiver();
    const settings = applicationsOf(Object.fromEntries(APPLICATIONS.map((id) => [id, receiver])));
    const names = ['a', 'b'];
    const [servers, senders] = [
      new Map<string, PostgresServer>(),
      new Map<string, WebhookSender>(),
    ];
    for (const name of names) {
      const server = await PostgresServer.start({});
      onTestFinished(() => server.stop());
      const { connection } = server;
      await createPostgresSchema({ connection });
      const queue = createPostgresQueue({ connection, callTimeoutMs: 2000, pollMs: 50 });
      servers.set(name, server);
      senders.set(name, openSender({ queue, settings }));
    }
    const send = async (id: string, applicationId: string): Promise<string> => {
      const server = serverOf(applicationId, names);
      const sent = senders.get(server)?.send([message(id, applicationId)]);
      return `${server} ${await sent?.then(
        () => 'accepted',
        (error: { readonly code: string }) => error.code,
      )}`;
    };
    const sendAll = async (round: string): Promise<ReadonlySet<string>> =>
      new Set(await Promise.all(APPLICATIONS.map((id) => send(`${round}-${id}`, id))));
    const delivered = (round: string): number =>
      new Set(
        batches(receiver)
          .flat()
          .filter((id) => id.startsWith(round)),
      ).size;

    expect(await sendAll('first')).toEqual(new Set(['a accepted', 'b accepted']));
    await expect.poll(() => delivered('first'), { timeout: 10_000 }).toBe(APPLICATIONS.length);
    await servers.get('b')?.kill('SIGKILL');
    expect(await sendAll('second')).toEqual(new Set(['a accepted', 'b ERR_QUEUE_FAILED']));
    const onA = APPLICATIONS.filter((id) => serverOf(id, names) === 'a').length;
    await expect.poll(() => delivered('second'), { timeout: 10_000 }).toBe(onA);
    await servers.get('b')?.start();
    expect(await sendAll('third')).toEqual(new Set(['a accepted', 'b accepted']));
    await expect.poll(() => delivered('third'), { timeout: 20_000 }).toBe(APPLICATIONS.length);
  }, 60_000);
});
