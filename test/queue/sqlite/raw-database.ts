/** A connection of the test's own to a queue's file, through the library that the queue uses. */
import { peerPath } from '../../../src/queue/sqlite/file-worker.ts';
import { type Connection, loadSqlite } from '../../../src/queue/sqlite/worker/sqlite-library.ts';

export function withDatabase<T>(file: string, work: (connection: Connection) => T): T {
  const { DatabaseSync } = loadSqlite(peerPath());
  const connection = new DatabaseSync(file, { timeout: 5000 });
  try {
    return work(connection);
  } finally {
    connection.close();
  }
}

/** What SQLite finds wrong in the file: `ok`, or a list. */
export const integrityOf = (file: string): unknown =>
  withDatabase(file, (connection) =>
    connection
      .prepare('pragma integrity_check')
      .all()
      .map((row) => Object.values(row as object)[0])
      .join('; '),
  );

const WRONG_COUNTERS = `
with counted as (
  select id, pending, dead, damaged,
    (select count(*) from message m where m.application = a.number) as messages,
    (select count(*) from dead_letter d where d.application = a.number) as dead_letters,
    (select count(*) from damaged_message d where d.application = a.number) as damaged_messages
  from application a)
select * from counted
  where pending <> messages or dead <> dead_letters or damaged <> damaged_messages
union all
select 'queue', s.pending, s.pending_bytes, s.dead_bytes, m.messages, m.bytes, d.bytes
  from queue_state s
    cross join (select count(*) as messages, coalesce(sum(size_bytes), 0) as bytes from message) m
    cross join (select coalesce(sum(size_bytes), 0) as bytes from dead_letter) d
  where s.pending <> m.messages or s.pending_bytes <> m.bytes or s.dead_bytes <> d.bytes`;

/**
 * Returns the counters that differ from the rows that they count. The queue adds up `accepted` from its counters, so its
 * ledger always balances (law 7), even if a message was lost.
 */
export const wrongCountersOf = (file: string): readonly unknown[] =>
  withDatabase(file, (connection) => connection.prepare(WRONG_COUNTERS).all());
