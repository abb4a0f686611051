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
