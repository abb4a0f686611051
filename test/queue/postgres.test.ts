import pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../src/queue/postgres.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrWhole } from '../helpers/quick-or-whole.ts';
import { describeQueueConformance } from './conformance/describe-queue-conformance.ts';
import type { QueueBounds, QueueUnderTest } from './conformance/harness.ts';

const TABLES = ['application', 'message', 'dead_letter', 'posting'];

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  let server: PostgresServer;
  let control: pg.Client;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await PostgresServer.start();
    await createPostgresSchema({ connection: server.connection });
    control = new pg.Client(server.connection);
    await control.connect();
    pool = new pg.Pool({ ...server.connection, max: 5 });
    await control.query(`
      create table security_events.time (ms double precision not null);
      insert into security_events.time values (0);
      create or replace function security_events.now_exact() returns double precision
      language sql volatile as 'select ms from security_events.time';`);
  });

  afterAll(async () => {
    await control.end();
    await pool.end();
    await server.stop();
  });

  async function underTest(bounds: QueueBounds = {}): Promise<QueueUnderTest> {
    const clear = TABLES.map((table) => `delete from security_events.${table};`);
    await control.query(`${clear.join('')}
      update security_events.room set messages = 0, bytes = 0 where messages <> 0 or bytes <> 0;
      update security_events.time set ms = ${Date.now()};`);
    const handles: MessageQueue[] = [];
    const handle = (): MessageQueue => {
      const queue = createPostgresQueue({ pool, pollMs: 200, ...bounds });
      handles.push(queue);
      return queue;
    };
    return {
      queue: handle(),
      advance: async (ms) => {
        await control.query('update security_events.time set ms = ms + $1', [ms]);
      },
      reopen: () => Promise.resolve(handle()),
      join: () => Promise.resolve(handle()),
      dispose: async () => {
        for (const queue of handles) await queue.close();
      },
    };
  }

  describeQueueConformance('the PostgreSQL queue', {
    create: underTest,
    capabilities: { durable: true, distributed: true },
    unitMs: 1000,
    toleranceMs: 0,
    blackHoleMessages: quickOrWhole(2000, 50_000),
    crowd: quickOrWhole(100, 2000),
    randomRuns: quickOrWhole(4, 40),
  });
});
