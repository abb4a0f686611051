import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { applicationsOf, messages, openReceiver, openSender } from '../helpers/sender.ts';
import { testRateLimits } from './measured-rate.ts';

describe.runIf(postgresPrograms !== undefined)('on one PostgreSQL queue', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  test('flush waits for messages that another sender delivers, and counts each once', async () => {
    const where = { connection: server.connection };
    await createPostgresSchema(where);
    const open = () => createPostgresQueue(where);
    const receiver = await openReceiver();
    const options = { settings: applicationsOf({ 'shop-1': receiver }), maxMessages: 20 };
    const first = openSender({ queue: open(), ...options });
    const second = openSender({ queue: open(), ...options, role: 'deliver' });
    // The flush begins before the first response, and also waits for the call.
    const sending = first.send(messages(200));
    const { delivered, settledElsewhere, ...others } = await first.flush();
    await sending;
    expect(delivered + settledElsewhere).toBe(200);
    expect(others).toEqual({ dead: 0, discarded: 0, pending: 0 });
    expect(await second.stats()).toMatchObject({ delivered: 200, pending: 0 });
  });

  describe('two processes', () => {
    let schemas = 0;
    testRateLimits(async () => {
      schemas += 1;
      const postgres = { connection: server.connection, schema: `rate_limit_${schemas}` };
      await createPostgresSchema(postgres);
      return { postgres };
    });
  });
});
