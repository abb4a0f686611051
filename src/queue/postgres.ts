/** A queue in a PostgreSQL database, which any number of processes share. */

import type { IncidentStore } from '../incident/incident-store.ts';
import { systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { connected, withClient } from './postgres/database.ts';
import { PostgresIncidents } from './postgres/incidents.ts';
import { loadPg } from './postgres/load-pg.ts';
import {
  type PostgresConnectionOptions,
  type PostgresQueueOptions,
  readConnectionOptions,
  readQueueOptions,
} from './postgres/postgres-options.ts';
import { PostgresQueue } from './postgres/postgres-queue.ts';
import { createSchema } from './postgres/schema.ts';
import type { MessageQueue } from './queue.ts';

export type {
  PostgresConnection,
  PostgresConnectionOptions,
  PostgresPool,
  PostgresQueueOptions,
} from './postgres/postgres-options.ts';
export type { MessageQueue } from './queue.ts';

/** What was told of incidents, for the reporters of all processes. */
export interface PostgresIncidentStore extends IncidentStore {
  /** Ends the connections that are its own. Later calls reject with `ERR_QUEUE_CLOSED`. */
  close(): Promise<void>;
}

/**
 * Makes a queue in a database, which has to have the schema that {@link createPostgresSchema} makes.
 * It connects when it is opened, by the package `pg`.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. `open` rejects with
 * `ERR_PEER_MISSING` where `pg` is not installed, and with `ERR_QUEUE_FAILED` where the server cannot
 * be reached or the schema is missing or of another version.
 */
export function createPostgresQueue(options: PostgresQueueOptions): MessageQueue {
  const surroundings = { clock: systemClock, newId, load: loadPg };
  return new PostgresQueue(readQueueOptions(options), surroundings);
}

/**
 * Makes a store for the option `incidents` of `createReporter`, in a database that has the schema of
 * {@link createPostgresSchema}. An incident is known for 30 days since it was last told of. It connects
 * with its first call, which rejects as `open` of the queue does.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createPostgresIncidents(options: PostgresConnectionOptions): PostgresIncidentStore {
  return new PostgresIncidents(readConnectionOptions(options), loadPg);
}

/**
 * Makes what the queue needs in the database, in one transaction; what is there stays, and what an
 * older version of the package made is migrated, for which its queues have to be closed. Any number of
 * processes may call it at once. The user of the connection has to own the schema, or be
 * allowed to create it.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION`; `ERR_PEER_MISSING`; `ERR_QUEUE_FAILED`.
 */
export async function createPostgresSchema(
  options: PostgresConnectionOptions,
): Promise<'created' | 'migrated' | 'present'> {
  const read = readConnectionOptions(options);
  const { isOwn, pool } = await connected(read, loadPg);
  try {
    return await withClient(pool, (client) => createSchema(client, read));
  } finally {
    if (isOwn) await pool.end();
  }
}
