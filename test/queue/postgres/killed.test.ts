/** kill -9 of dispatchers and of the server: nothing that was accepted is lost, no sending is forgotten. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../../src/queue/postgres.ts';
import { createSeededRandom } from '../../../src/testing/index.ts';
import { fixtureCommand } from '../../helpers/fixture-command.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import { quickOrWhole } from '../../helpers/quick-or-whole.ts';
import { ROW } from '../conformance/trial.ts';

/** So many processes live at the same time. */
const LIVES = 3;

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  expect(child.signalCode).toBe('SIGKILL');
}

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

  const journal = (schema: string): string => join(folder, schema);

  async function live(schema: string, seed: number): Promise<ChildProcess> {
    const connection = JSON.stringify(server.connection);
    const args = [connection, schema, journal(schema), `${seed}`];
    const [node = '', ...rest] = fixtureCommand('postgres-life', args);
    const child = spawn(node, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (child.stdout !== null) await once(child.stdout, 'data');
    return child;
  }

  /** What was written down, by its first word and, where there is one, the verdict. */
  function told(schema: string): (word: string, verdict?: string) => string[] {
    const words = () => {
      const lines = readFileSync(journal(schema), 'utf8').split('\n').slice(0, -1);
      return lines.map((line) => line.split(' '));
    };
    return (word, verdict) =>
      words()
        .filter(([first, , third]) => first === word && third === (verdict ?? third))
        .map(([, id = '']) => id);
  }

  /** Until so much was written down: on a busy machine that takes longer than the time that is left to them. */
  async function busy(schema: string, generations: number): Promise<void> {
    const words = told(schema);
    const isBusy = () =>
      words('accepted').length > 20 * generations && words('sent').length > 10 * generations;
    while (!isBusy()) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** What a killed process had asked for last is done all the same: until nothing of it is under way. */
  async function quiet(): Promise<void> {
    const others = `select count(*) as n from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()`;
    while ((await server.query(others))[0]?.['n'] !== '0') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** All that is there, by id how often it was sent. Empties the queue of what waits. */
  async function emptied(schema: string): Promise<Map<string, number>> {
    await quiet();
    const queue = createPostgresQueue({ connection: server.connection, schema });
    await queue.open(ROW);
    const stats = await queue.stats();
    const discarded = Object.values(stats.discarded).reduce((sum, count) => sum + count, 0);
    expect(stats.delivered + stats.pending + stats.dead + discarded).toBe(stats.accepted);
    const { items } = await queue.deadLetters({ limit: 1_000_000 });
    const found = new Map(items.map(({ stored, sends }) => [stored.messageId, sends]));
    expect([items.length, found.size]).toEqual([stats.dead, stats.dead]);
    const request = { tiers: [], early: true, maxMessages: 1000, maxBytes: 1e9 } as const;
    for (;;) {
      const claim = await queue.claim({ ...request, leaseMs: 60_000 });
      if (!('messages' in claim)) {
        // Claims of the killed end with their leases.
        if ((await queue.stats()).pending === 0) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      for (const { stored, sends } of claim.messages) found.set(stored.messageId, sends);
      const moved = claim.messages.map(() => ({ kind: 'moved' }) as const);
      expect(await queue.settle(claim, moved, { ...ROW, waitMs: 0 })).toBe('settled');
    }
    expect(found.size).toBe(stats.dead + stats.pending);
    expect((await queue.stats()).pendingBytes).toBe(0);
    const [room] = await server.query(
      `select sum(messages) as m, sum(bytes) as b from ${schema}.room`,
    );
    expect(room).toEqual({ m: '0', b: '0' });
    await queue.close();
    return found;
  }

  /** `unseen`: claims whose process cannot have written them down. */
  async function judge(schema: string, unseen: number): Promise<void> {
    const found = await emptied(schema);
    const words = told(schema);
    const ended = new Set([...words('settling', 'delivered'), ...words('purging')]);
    const accepted = words('accepted');
    expect(accepted.length).toBeGreaterThan(30);
    expect(accepted.filter((id) => !found.has(id) && !ended.has(id))).toEqual([]);
    expect(words('settled', 'delivered').filter((id) => found.has(id))).toEqual([]);
    const sent = new Map<string, number>();
    for (const id of words('sent')) sent.set(id, (sent.get(id) ?? 0) + 1);
    expect(sent.size).toBeGreaterThan(10);
    for (const [id, sends] of found) {
      const truth = sent.get(id) ?? 0;
      expect(sends, `${id} was sent ${truth} times`).toBeGreaterThanOrEqual(truth);
      expect(sends).toBeLessThanOrEqual(truth + unseen);
    }
  }

  /** The n-th of the generations that live together. */
  const generation = (schema: string, number: number): Promise<ChildProcess[]> =>
    Promise.all(Array.from({ length: LIVES }, (_, index) => live(schema, number * LIVES + index)));

  test('has all that was accepted after its dispatchers were killed again and again', async () => {
    const random = createSeededRandom(1);
    const schema = 'dispatchers';
    await createPostgresSchema({ connection: server.connection, schema });
    const generations = quickOrWhole(2, 17);
    for (let number = 0; number < generations; number += 1) {
      const lives = await generation(schema, number);
      await busy(schema, number + 1);
      const ends = lives.map(async (child) => {
        await new Promise((resolve) => setTimeout(resolve, 50 + random() * 300));
        await kill(child);
      });
      await Promise.all(ends);
    }
    expect(told(schema)('failed')).toEqual([]);
    // Three steps of each at a time.
    await judge(schema, generations * LIVES * 3);
  }, 200_000);

  test('has all that was accepted after its server was killed again and again', async () => {
    const random = createSeededRandom(2);
    const schema = 'servers';
    await createPostgresSchema({ connection: server.connection, schema });
    const lives = await generation(schema, 0);
    const kills = quickOrWhole(1, 10);
    for (let count = 0; count < kills; count += 1) {
      await busy(schema, count + 2);
      await new Promise((resolve) => setTimeout(resolve, random() * 300));
      await server.kill('SIGKILL');
      await server.start();
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    await Promise.all(lives.map(kill));
    const failures = told(schema)('failed');
    expect(failures.length).toBeGreaterThan(0);
    await judge(schema, failures.length + LIVES * 3);
  }, 200_000);
});
