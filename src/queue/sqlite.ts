/** A queue in a file of this machine, which any number of its processes share. */

import type { DurableQueue } from './queue.ts';
import { type SqliteIncidentStore, SqliteIncidents } from './sqlite/incidents.ts';
import type { WallClock } from './sqlite/shared-file.ts';
import {
  readIncidentsOptions,
  readQueueOptions,
  type SqliteIncidentsOptions,
  type SqliteQueueOptions,
} from './sqlite/sqlite-options.ts';
import { SqliteQueue } from './sqlite/sqlite-queue.ts';

export type { DurableQueue } from './queue.ts';
export type { SqliteIncidentStore } from './sqlite/incidents.ts';
export type {
  SqliteIncidentsOptions,
  SqliteQueueDamage,
  SqliteQueueOptions,
} from './sqlite/sqlite-options.ts';

/**
 * Creates a queue that keeps its messages in an SQLite database. SQLite runs in a worker thread, so that a
 * commit never blocks the event loop. Uses Node's SQLite if that is 3.51.3 or newer, otherwise the optional
 * peer `@photostructure/sqlite` (`npm install @photostructure/sqlite@1`).
 *
 * The durability is `'power-loss'`, or `'process-crash'` with `sync: false`. Queues and processes that
 * name the same file share it. Nothing else in these processes may open or copy the file.
 *
 * `open` rejects with `ERR_PEER_MISSING`; with `ERR_QUEUE_FOREIGN` when the file belongs to another
 * program, which stays untouched; and with `ERR_QUEUE_FAILED` when the file cannot be used.
 *
 * @param clock a clock for tests; default: the machine's
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option
 */
export function createSqliteQueue(options: SqliteQueueOptions, clock?: WallClock): DurableQueue {
  return new SqliteQueue(readQueueOptions(options), clock);
}

/**
 * Creates a store for the option `incidents` of `createReporter`, for the reporters of all processes
 * that name the same file, which may be a queue's. Its first call opens the file, and rejects like `open` of
 * the queue.
 *
 * @param clock a clock for tests; default: the machine's
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option
 */
export function createSqliteIncidents(
  options: SqliteIncidentsOptions,
  clock?: WallClock,
): SqliteIncidentStore {
  return new SqliteIncidents(readIncidentsOptions(options), clock);
}
