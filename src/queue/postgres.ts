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

const PARTS = { clock: systemClock, newId, load: loadPg };

/** Stores incidents for the reporters of all processes. */
export interface PostgresIncidentStore extends IncidentStore {
  /** Closes the connections that it has opened. Later calls reject with `ERR_QUEUE_CLOSED`. */
  close(): Promise<void>;
}

/**
 * Creates a queue in a database that has the schema of {@link createPostgresSchema}. It connects with the
 * package `pg` when it is opened.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. `open` rejects with
 * `ERR_PEER_MISSING` if `pg` is not installed, and with `ERR_QUEUE_FAILED` if no server that takes writes can
 * be reached, or the schema is missing or has another version.
 */
export function createPostgresQueue(options: PostgresQueueOptions): DurableQueue {
  return new PostgresQueue(readQueueOptions(options), PARTS);
}

/**
 * Creates a store for the option `incidents` of `createReporter`, in a database that has the schema of
 * {@link createPostgresSchema}. An incident is kept for 30 days after its last report. The first call
 * of the store connects, and rejects like `open` of the queue.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createPostgresIncidents(options: PostgresConnectionOptions): PostgresIncidentStore {
  return new PostgresIncidents(readConnectionOptions(options), PARTS);
}

/**
 * Creates the tables and functions of the queue, in one transaction. Does nothing if they exist. Any number of
 * processes can call it at once. The user of the connection must own the schema, or be allowed to create it.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION`; `ERR_PEER_MISSING`; `ERR_QUEUE_FAILED`, also
 * if the schema has another version.
 */
export async function createPostgresSchema(
  options: PostgresConnectionOptions,
): Promise<'created' | 'present'> {
  const read = readConnectionOptions(options);
  const servers = new Servers(read, PARTS, checkWritable);
  try {
    return await servers.withClient(read.callTimeoutMs, (client) => createSchema(client, read));
  } catch (error) {
    throw failure(error);
  } finally {
    await servers.end();
  }
}
