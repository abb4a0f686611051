/** The conformance suite on a server of its own, whose time the suite moves. */
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresQueueOptions,
} from '../../../src/queue/postgres.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { PostgresServer, STOPPED_CLOCK } from '../../helpers/postgres-server.ts';
import { describeQueueConformance } from '../conformance/describe-queue-conformance.ts';
import type { QueueBounds, QueueHarness, QueueUnderTest } from '../conformance/harness.ts';

const TABLES = ['application', 'message', 'dead_letter', 'counter_delta', 'imported'];

/** A connection to a server, directly or through a proxy. */
export interface Way {
  readonly connection: pg.ClientConfig;
  readonly end: () => Promise<void>;
}

export interface PostgresConformance extends Pick<QueueHarness, 'randomRuns'> {
  readonly reach: (server: PostgresServer) => Promise<Way>;
  /** Options of each queue, besides its pool and bounds. */
  readonly options: PostgresQueueOptions;
}

export function describePostgresConformance({
  reach,
  options,
  randomRuns,
}: PostgresConformance): void {
  let server: PostgresServer;
  let way: Way;
  let control: pg.Client;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await PostgresServer.start();
    way = await reach(server);
    pool = new pg.Pool({ ...way.connection, max: 5 });
    await createPostgresSchema({ ...options, pool });
    control = new pg.Client(server.connection);
    await control.connect();
    await control.query(STOPPED_CLOCK);
  });

  afterAll(async () => {
    await control.end();
    await pool.end();
    await way.end();
    await server.stop();
  });

  async function underTest(bounds: QueueBounds = {}): Promise<QueueUnderTest> {
    const clear = TABLES.map((table) => `delete from security_events.${table};`);
    await control.query(`${clear.join('')}
      update security_events.pending_total set messages = 0, bytes = 0 where messages <> 0 or bytes <> 0;
      update security_events.queue_id set id = gen_random_uuid();
      update security_events.clock set offset_ms = 0, last_ms = 0;
      update security_events.time set ms = ${Date.now()};`);
    const handles: MessageQueue[] = [];
    const handle = (): MessageQueue => {
      const queue = createPostgresQueue({ ...options, pool, pollMs: 200, ...bounds });
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
    isDurable: true,
    randomRuns,
  });
}
