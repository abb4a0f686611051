/** Moves from an SQLite file to PostgreSQL and back by a process of their own, which kill -9 ends again and again. */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { fixtureCommand, startChild } from '../../helpers/child-programs.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../../helpers/seeded-random.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { contentOf } from '../conformance/moving.ts';
import { closeApplication, entryOf, INITIAL } from '../conformance/trial.ts';

const MESSAGES = 4000;

/** Moves from one place to the other, as the fixture names them. Only the last run ends by itself. */
async function moveWithKills(from: string, to: string): Promise<void> {
  const random = createSeededRandom(1);
  const kills = quickOrNightly(4, 40);
  for (let run = 0; run < kills; run += 1) {
    const child = startChild(fixtureCommand('queue-move', [from, to]));
    const exited = once(child, 'exit');
    const killAt = Math.floor(((run + 1) * MESSAGES) / (kills + 1) / 500) * 500;
    child.stdout?.on('data', (text: Buffer) => {
      const read = Number(text.toString().trim().split('\n').at(-1));
      // Somewhere in the commit that follows.
      if (read >= killAt) setTimeout(() => child.kill('SIGKILL'), random() * 20);
    });
    const [, signal] = await exited;
    expect(signal).toBe('SIGKILL');
  }
  const [code] = await once(startChild(fixtureCommand('queue-move', [from, to])), 'exit');
  expect(code).toBe(0);
}

test.runIf(postgresPrograms !== undefined)(
  'a move that is killed again and again loses no message and stores none twice',
  // Each kill costs the start of a process.
  { timeout: quickOrNightly(60_000, 600_000) },
  async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const { connection } = server;
    await createPostgresSchema({ connection });
    const folder = temporaryFolder();
    const [from, back] = [join(folder, 'from.db'), join(folder, 'back.db')];
    const source = createSqliteQueue({ file: from, sync: false });
    await source.open(INITIAL);
    await source.enqueue(
      Array.from({ length: MESSAGES }, (_, n) => entryOf(`shop-${(n + 3) % 7}`)),
    );
    await closeApplication(source);
    await source.deadLetterClosed('shop-3', 500);
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
      expect([accepted, pending + dead]).toEqual([MESSAGES, MESSAGES]);
      await queue.close();
    }
  },
);
