/** A PostgreSQL server for the tests of one file, with a schema whose tables are empty before each test. */
import { EventEmitter, once } from 'node:events';
import pg from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresQueueOptions,
} from '../../../src/queue/postgres.ts';
import type { DurableQueue, MessageQueue } from '../../../src/queue/queue.ts';
import { PostgresServer, type Settings } from '../../helpers/postgres-server.ts';
import { INITIAL } from '../conformance/trial.ts';

/** Not the default, so that no function of the queue can depend on its name. */
export const SCHEMA = 'own';

const TABLES = ['application', 'message', 'dead_letter', 'counter_delta'];

const CLEAR = `${TABLES.map((table) => `delete from ${SCHEMA}.${table};`).join('')}
  update ${SCHEMA}.pending_total set messages = 0, bytes = 0`;

/** Calls that wait for a lock. */
export const WAITING = `select from pg_stat_activity where wait_event_type = 'Lock'`;

/** Subscribes to a queue. Returns a function that resolves when it next notifies. */
export function nextDue(queue: MessageQueue): () => Promise<unknown> {
  const events = new EventEmitter();
  queue.onDue(() => events.emit('due'));
  return () => once(events, 'due');
}

/** Starts the server before the tests of the file. `settings` are those of the server. */
export function useDatabase(settings?: Settings) {
  const database = {} as { server: PostgresServer; control: pg.Client };
  const opened: DurableQueue[] = [];

  /** Connects the test, which for instance holds locks. */
  const connect = async (): Promise<void> => {
    database.control = new pg.Client(database.server.connection);
    database.control.on('error', () => {});
    await database.control.connect();
  };

  beforeAll(async () => {
    database.server = await PostgresServer.start(settings);
    await connect();
    await createPostgresSchema({ connection: database.server.connection, schema: SCHEMA });
  });

  afterEach(async () => {
    for (const queue of opened.splice(0)) await queue.close();
    await database.control.query(CLEAR);
  });

  afterAll(async () => {
    await database.control.end();
    await database.server.stop();
  });

  /** Creates a queue that is closed after the test. */
  const create = (options: PostgresQueueOptions = {}): DurableQueue => {
    const { connection } = database.server;
    const given = options.pool === undefined ? { connection } : {};
    const queue = createPostgresQueue({ ...given, schema: SCHEMA, ...options });
    opened.push(queue);
    return queue;
  };

  const createSchema = (schema: string): Promise<string> =>
    createPostgresSchema({ connection: database.server.connection, schema });

  const open = async (options?: PostgresQueueOptions): Promise<DurableQueue> => {
    const queue = create(options);
    await queue.open(INITIAL);
    return queue;
  };

  /** Returns the processes of the server that listen for notifications. */
  const listeners = async (): Promise<unknown[]> => {
    const text = `select pid from pg_stat_activity where query ilike 'listen%' and state = 'idle'`;
    return (await database.server.query(text)).map(({ pid }) => pid);
  };

  return { database, connect, create, createSchema, open, listeners };
}
