/** kill -9 of dispatchers and of the server: no accepted message is lost, and each send is counted. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../../helpers/seeded-random.ts';
import { INITIAL } from '../conformance/trial.ts';
import { kill, LifeJournal, startLife } from '../life-journal.ts';

/** Number of processes at the same time. */
const LIVES = 3;

describe.runIf(postgresPrograms !== undefined)('a queue in PostgreSQL', () => {
  let server: PostgresServer;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postgres-killed-'));
    server = await PostgresServer.start({});
  });

  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const journalOf = (schema: string) => new LifeJournal(join(folder, schema));

  /** Waits until the server has ended the last calls of killed processes. */
  async function quiet(): Promise<void> {
    const others = `select count(*) as n from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()`;
    while ((await server.query(others))[0]?.['n'] !== '0') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function judge(schema: string, unseen: number): Promise<void> {
    await quiet();
    const queue = createPostgresQueue({ connection: server.connection, schema });
    await queue.open(INITIAL);
    await journalOf(schema).judge(queue, unseen);
    const [room] = await server.query(
      `select sum(messages) as m, sum(bytes) as b from ${schema}.pending_total`,
    );
    expect(room).toEqual({ m: '0', b: '0' });
    await queue.close();
  }

  /** Starts the processes of the n-th generation. */
  function generation(schema: string, number: number): Promise<ChildProcess[]> {
    const seeds = Array.from({ length: LIVES }, (_, index) => number * LIVES + index);
    const connection = JSON.stringify(server.connection);
    const { file } = journalOf(schema);
    return Promise.all(
      seeds.map((seed) => startLife('postgres-workload', [connection, schema, file, `${seed}`])),
    );
  }

  test('loses no accepted message when its dispatchers are killed again and again', async () => {
    const random = createSeededRandom(1);
    const schema = 'dispatchers';
    await createPostgresSchema({ connection: server.connection, schema });
    const generations = quickOrNightly(2, 17);
    for (let number = 0; number < generations; number += 1) {
      const lives = await generation(schema, number);
      await journalOf(schema).waitUntilBusy(number + 1);
      const ends = lives.map(async (child) => {
        await new Promise((resolve) => setTimeout(resolve, 50 + random() * 300));
        await kill(child);
      });
      await Promise.all(ends);
    }
    expect(journalOf(schema).idsOf('failed')).toEqual([]);
    // Each process has up to three steps under way.
    await judge(schema, generations * LIVES * 3);
  }, 200_000);

  test('counts every send when a dispatcher stops past its lease and goes on', async () => {
    const random = createSeededRandom(4);
    const schema = 'stopped';
    await createPostgresSchema({ connection: server.connection, schema });
    const lives = await generation(schema, 0);
    const stops = quickOrNightly(3, 20);
    for (let count = 0; count < stops; count += 1) {
      await journalOf(schema).waitUntilBusy(count + 1);
      await new Promise((resolve) => setTimeout(resolve, random() * 100));
      const child = lives[count % LIVES];
      child?.kill('SIGSTOP');
      // The lease is 300 ms.
      await new Promise((resolve) => setTimeout(resolve, 700));
      child?.kill('SIGCONT');
    }
    await Promise.all(lives.map(kill));
    expect(journalOf(schema).idsOf('failed')).toEqual([]);
    await judge(schema, (LIVES + stops) * 3);
  }, 200_000);

  test('loses no accepted message when its server is killed again and again', async () => {
    const random = createSeededRandom(2);
    const schema = 'servers';
    await createPostgresSchema({ connection: server.connection, schema });
    const lives = await generation(schema, 0);
    const kills = quickOrNightly(1, 10);
    for (let count = 0; count < kills; count += 1) {
      await journalOf(schema).waitUntilBusy(count + 2);
      await new Promise((resolve) => setTimeout(resolve, random() * 300));
      await server.kill('SIGKILL');
      await server.start();
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    await Promise.all(lives.map(kill));
    const failures = journalOf(schema).idsOf('failed');
    expect(failures.length).toBeGreaterThan(0);
    await judge(schema, failures.length + LIVES * 3);
  }, 200_000);
});
