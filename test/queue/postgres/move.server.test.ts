/** Moves from an SQLite file to PostgreSQL and back, also with kill -9 in the middle. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { exportQueue, importQueue } from '../../../src/queue/move.ts';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { contentOf } from '../conformance/moving.ts';
import { closeApplication, DEAD, entryOf, INITIAL } from '../conformance/trial.ts';
import { fillForKills, MOVED_MESSAGES, moveWithKills, TIMEOUT_MS } from '../killed-moves.ts';

const request = {
  ofHealth: ['healthy'],
  maxMessages: 100,
  maxBytes: 1e9,
  leaseMs: 60_000,
} as const;

test.runIf(postgresPrograms !== undefined)(
  'an SQLite queue moves to PostgreSQL and back with everything that it holds',
  async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const folder = temporaryFolder();
    const source = createSqliteQueue({ file: join(folder, 'source.db') });
    await source.open(INITIAL);
    await source.enqueue(Array.from({ length: 1500 }, (_, n) => entryOf(`shop-${n % 300}`)));
    await source.enqueue([entryOf('shop-1')], 60_000);
    for (let round = 0; round < 20; round += 1) {
      const claim = await source.claim(request);
      if (!('messages' in claim)) throw new Error('nothing is due');
      const retry = { kind: 'retry', afterMs: round, retryState: { round } } as const;
      const results = claim.messages.map((_, index) => (index % 2 === 0 ? DEAD : retry));
      const state = { ...INITIAL, health: 'failing', circuitBreaker: { round } } as const;
      await source.settle(claim, results, { ...state, pauseMs: round * 60_000 });
    }
    await source.enqueue([entryOf('closed'), entryOf('closed')]);
    await closeApplication(source);
    await source.deadLetterClosed('closed', 1);
    const content = await contentOf(source);
    const { connection } = server;
    await createPostgresSchema({ connection });
    const queue = createPostgresQueue({ connection });
    expect(await importQueue(queue, exportQueue(source))).toBe(content.length);
    expect(await importQueue(queue, exportQueue(source))).toBe(0);
    expect(await contentOf(queue)).toEqual(content);
    const back = createSqliteQueue({ file: join(folder, 'back.db') });
    await importQueue(back, exportQueue(queue));
    expect(await contentOf(back)).toEqual(content);
    const [before, after] = [await source.stats(), await back.stats()];
    expect([after.pending, after.dead]).toEqual([before.pending, before.dead]);
    for (const one of [source, queue, back]) await one.close();
  },
);

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
