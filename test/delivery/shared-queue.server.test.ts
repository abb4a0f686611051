import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../src/queue/postgres.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { applicationsOf, messages, openReceiver, openSender } from '../helpers/sender.ts';
import { measureRate } from './measured-rate.ts';

const NONE = { delivered: 0, dead: 0, discarded: 0, settledElsewhere: 0, pending: 0 } as const;

describe.runIf(postgresPrograms !== undefined)('two senders on one PostgreSQL queue', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  const queuesIn = async (schema: string): Promise<() => MessageQueue> => {
    const where = { connection: server.connection, schema };
    await createPostgresSchema(where);
    return () => createPostgresQueue(where);
  };

  test('flush of one does not wait for what the other has delivered', async () => {
    const open = await queuesIn('shared');
    const receiver = await openReceiver();
    const settings = applicationsOf({ 'shop-1': receiver });
    const first = openSender({ queue: open(), settings });
    const second = openSender({ queue: open(), settings, role: 'deliver' });
    for (let call = 0; call < 20; call += 1) await first.send(messages(10));
    const { delivered, settledElsewhere, ...others } = await first.flush();
    expect(delivered + settledElsewhere).toBeLessThanOrEqual(200);
    expect(others).toEqual({ dead: 0, discarded: 0, pending: 0 });
    expect(await second.stats()).toMatchObject({ delivered: 200, pending: 0 });
  });

  test('flush of one waits for what the other has left in the queue', async () => {
    const open = await queuesIn('left');
    const receiver = await openReceiver();
    const settings = applicationsOf({ 'shop-1': receiver });
    const agent = openSender({ queue: open(), settings, role: 'enqueue' });
    await agent.send(messages(300));
    await agent.close();
    const sender = openSender({ queue: open(), settings });
    expect(await sender.flush()).toEqual({ ...NONE, delivered: 300 });
    expect(await sender.close()).toMatchObject({ delivered: 0, left: 0 });
  });

  test('close of one counts what the other has left in the queue', async () => {
    const open = await queuesIn('closing');
    const receiver = await openReceiver();
    const settings = applicationsOf({ 'shop-1': receiver });
    const agent = openSender({ queue: open(), settings, role: 'enqueue' });
    await agent.send(messages(300));
    await agent.close();
    const sender = openSender({ queue: open(), settings });
    expect(await sender.close()).toMatchObject({ delivered: 300, left: 0 });
  });

  test('a rate limit holds for both', async () => {
    const { perSecond, mostBeyond } = await measureRate(await queuesIn('limited'), 20, 3000);
    // A tenth of a request is 5 ms between the event and the time that was measured.
    expect(mostBeyond).toBeLessThanOrEqual(1.1);
    // On an idle machine it is more than nine tenths of the limit.
    expect(perSecond).toBeGreaterThan(10);
  });
});
