/** A queue in a PostgreSQL database, which any number of processes share. */

import type { IncidentStore } from '../incident/incident-store.ts';
import { systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { failure } from './postgres/failure.ts';
import { PostgresIncidents } from './postgres/incidents.ts';
import {
  type PostgresConnectionOptions,
  type PostgresQueueOptions,
  readConnectionOptions,
  readQueueOptions,
} from './postgres/options.ts';
import { PostgresQueue } from './postgres/postgres-queue.ts';
import { checkWritable, createSchema } from './postgres/schema.ts';
import { loadPg, Servers } from './postgres/servers.ts';
import type { DurableQueue } from './queue.ts';

export type {
  PostgresConnection,
  PostgresConnectionOptions,
  PostgresPool,
  PostgresQueueOptions,
  PostgresServer,
} from './postgres/options.ts';
export type { DurableQueue } from './queue.ts';

const SURROUNDINGS = { clock: systemClock, newId, load: loadPg };

/** What was reported of incidents, for the reporters of all processes. */
export interface PostgresIncidentStore extends IncidentStore {
  /** Ends the connections that are its own. Later calls reject with `ERR_QUEUE_CLOSED`. */
  close(): Promise<void>;
}

/**
 * Makes a queue in a database that has the schema of {@link createPostgresSchema}. It connects with the
 * package `pg` when it is opened.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. `open` rejects with
 * `ERR_PEER_MISSING` if `pg` is not installed, and with `ERR_QUEUE_FAILED` if no server that takes writes can
 * be reached, or the schema is missing or has another version.
 */
export function createPostgresQueue(options: PostgresQueueOptions): DurableQueue {
  return new PostgresQueue(readQueueOptions(options), SURROUNDINGS);
}

/**
 * Makes a store for the option `incidents` of `createReporter`, in a database that has the schema of
 * {@link createPostgresSchema}. An incident is known for 30 days after its last report. The store connects
 * with its first call, which rejects as `open` of the queue does.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createPostgresIncidents(options: PostgresConnectionOptions): PostgresIncidentStore {
  return new PostgresIncidents(readConnectionOptions(options), SURROUNDINGS);
}

/**
 * Makes what the queue needs in the database, in one transaction. What is there stays. Any number of
 * processes can call it at once. The user of the connection has to own the schema, or be allowed to create it.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION`; `ERR_PEER_MISSING`; `ERR_QUEUE_FAILED`, also
 * if the schema has another version.
 */
export async function createPostgresSchema(
  options: PostgresConnectionOptions,
): Promise<'created' | 'present'> {
  const read = readConnectionOptions(options);
  const servers = new Servers(read, SURROUNDINGS, checkWritable);
  try {
    return await servers.withClient(read.callTimeoutMs, (client) => createSchema(client, read));
  } catch (error) {
    throw failure(error);
  } finally {
    await servers.end();
  }
}
