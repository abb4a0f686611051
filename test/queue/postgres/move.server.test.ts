/** Moves from an SQLite file to PostgreSQL and back, with kill -9 in the middle. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { contentOf } from '../conformance/moving.ts';
import { fillForKills, MOVED_MESSAGES, moveWithKills, TIMEOUT_MS } from '../killed-moves.ts';

test.runIf(postgresPrograms !== undefined)(
  'a move that is killed again and again loses no message and stores none twice',
  { timeout: TIMEOUT_MS },
  async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const { connection } = server;
    await createPostgresSchema({ connection });
    const folder = temporaryFolder();
    const [from, back] = [join(folder, 'from.db'), join(folder, 'back.db')];
    const source = createSqliteQueue({ file: from, sync: false });
    await fillForKills(source);
    const content = await contentOf(source);
    await source.close();
    await moveWithKills(from, JSON.stringify(connection));
    await moveWithKills(JSON.stringify(connection), back);
    for (const queue of [
      createPostgresQueue({ connection }),
      createSqliteQueue({ file: back, sync: false }),
    ]) {
      expect(await contentOf(queue)).toEqual(content);
      const { accepted, pending, dead } = await queue.stats();
      expect([accepted, pending + dead]).toEqual([MOVED_MESSAGES, MOVED_MESSAGES]);
      await queue.close();
    }
  },
);
