/** Behind PgBouncer, which gives each transaction another of its few connections. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { hasPgBouncer, PgBouncer } from '../../helpers/pgbouncer.ts';
import { PostgresServer } from '../../helpers/postgres-server.ts';
import { GENEROUS_TIMEOUT, message, openReceiver, senderTo } from '../../helpers/sender.ts';
import { entryOf, failedWith, INITIAL } from '../conformance/trial.ts';
import {
  describePostgresConformance,
  type PostgresConformance,
} from './describe-postgres-conformance.ts';

const idsIn = (body: Buffer): string[] =>
  (JSON.parse(body.toString()) as { readonly message_id: string }[]).map((one) => one.message_id);

const CONFORMANCE: PostgresConformance = {
  reach: async (server) => {
    const bouncer = await PgBouncer.start(server);
    return { connection: bouncer.connection, end: () => bouncer.stop() };
  },
  options: { transactionPooling: true },
  randomRuns: 10,
};

describe.runIf(hasPgBouncer)('behind PgBouncer', () => {
  // The whole suite runs once: the version of the server makes no difference to PgBouncer.
  describe.skipIf(process.env['OLDEST_POSTGRES'] !== undefined)('the conformance suite', () => {
    describePostgresConformance(CONFORMANCE);
  });

  describe('the PostgreSQL queue', () => {
    let server: PostgresServer;
    let bouncer: PgBouncer;
    const transactionPooling = true;

    beforeAll(async () => {
      server = await PostgresServer.start();
      bouncer = await PgBouncer.start(server);
      const { connection } = bouncer;
      await createPostgresSchema({ connection, transactionPooling });
    });

    afterAll(async () => {
      await bouncer.stop();
      await server.stop();
    });

    test('lets one sender deliver what another one accepts', async () => {
      const receiver = await openReceiver();
      const { connection } = bouncer;
      const options = { connection, transactionPooling, pollMs: 50 };
      const agent = senderTo(receiver, { queue: createPostgresQueue(options), role: 'enqueue' });
      senderTo(receiver, { queue: createPostgresQueue(options), role: 'deliver' });
      const ids = Array.from({ length: 300 }, (_, index) => `m-${index}`);
      await Promise.all(ids.map((id) => agent.send([message(id)])));
      const received = () => receiver.requests.flatMap(({ body }) => idsIn(body));
      await expect
        .poll(() => received().toSorted(), { timeout: GENEROUS_TIMEOUT.timeoutMs })
        .toEqual(ids.toSorted());
    });

    const hint = failedWith('set transactionPooling: true');

    test('names transactionPooling when it is opened without it', async () => {
      const { connection } = bouncer;
      await expect(createPostgresSchema({ connection })).rejects.toEqual(hint);
      await expect(createPostgresQueue({ connection }).open(INITIAL)).rejects.toEqual(hint);
    });

    test('names transactionPooling when a pool of the caller loses its prepared statements', async () => {
      const pool = new pg.Pool({ ...bouncer.connection, max: 20 });
      const queue = createPostgresQueue({ pool });
      await queue.open(INITIAL);
      const calls = Array.from({ length: 40 }, async (_, index) => {
        await queue.enqueue([entryOf(`application-${index}`)]);
        await queue.stats();
      });
      const answers = await Promise.allSettled(calls);
      const reasons = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      expect(reasons.length).toBeGreaterThan(0);
      expect(reasons).toEqual(reasons.map(() => hint));
      await queue.close().catch(() => {});
      await pool.end();
    });
  });
});
