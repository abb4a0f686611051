import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../src/queue/postgres.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { applicationsOf, messages, openReceiver, openSender } from '../helpers/sender.ts';
import { testRateLimits } from './measured-rate.ts';

describe.runIf(postgresPrograms !== undefined)('two senders on one PostgreSQL queue', () => {
  let server: PostgresServer;
  let schemas = 0;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  const newSchema = async (): Promise<() => MessageQueue> => {
    schemas += 1;
    const where = { connection: server.connection, schema: `shared_${schemas}` };
    await createPostgresSchema(where);
    return () => createPostgresQueue(where);
  };

  test('flush waits for messages that the other delivers, and counts each once', async () => {
    const open = await newSchema();
    // The flush begins before the first response.
    const receiver = await openReceiver({ otherwise: { status: 200, delayMs: 100 } });
    const options = { settings: applicationsOf({ 'shop-1': receiver }), maxMessages: 20 };
    const first = openSender({ queue: open(), ...options });
    const second = openSender({ queue: open(), ...options, role: 'deliver' });
    await first.send(messages(200));
    const { delivered, settledElsewhere, ...others } = await first.flush();
    expect(delivered + settledElsewhere).toBe(200);
    expect(others).toEqual({ dead: 0, discarded: 0, pending: 0 });
    expect(await second.stats()).toMatchObject({ delivered: 200, pending: 0 });
  });

  test('close delivers what waited in the queue when it was opened, and counts it', async () => {
    const open = await newSchema();
    const settings = applicationsOf({ 'shop-1': await openReceiver() });
    const enqueuer = openSender({ queue: open(), settings, role: 'enqueue' });
    await enqueuer.send(messages(300));
    await enqueuer.close();
    const closed = await openSender({ queue: open(), settings }).close();
    expect(closed).toMatchObject({ delivered: 300, dead: 0, remaining: 0 });
  });

  testRateLimits(newSchema);
});
