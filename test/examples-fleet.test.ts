/** What the fleet of the examples does where something is missing or over; see examples.test.ts for the rest. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../examples/fleet/database.ts';
import { ended } from '../examples/fleet/ended.ts';
import { createPostgresQueue } from '../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from './helpers/postgres-server.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';
import { ROW } from './queue/conformance/trial.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const start = (program: string) => spawn(process.execPath, ['--eval', program]);

test('a process that has ended is not waited for, one that runs is', async () => {
  const over = start('');
  await once(over, 'exit');
  await ended(over);
  const killed = start('setInterval(() => {}, 1000)');
  killed.kill('SIGKILL');
  await ended(killed);
  expect([over.exitCode, killed.signalCode]).toEqual([0, 'SIGKILL']);
  await ended(killed);
});

test('a server is refused where there is no setpriv, and leaves no folder', async () => {
  const [bin, temporary] = [temporaryFolder(), temporaryFolder()];
  // Root gives the folder to the server's user first.
  for (const program of ['initdb', 'postgres', 'chown']) {
    writeFileSync(join(bin, program), '#!/bin/sh\n');
    chmodSync(join(bin, program), 0o755);
  }
  const environment = { DATABASE_URL: undefined, POSTGRES_BIN: bin, PATH: bin, TMPDIR: temporary };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  await expect(openDatabase()).rejects.toThrow('setpriv ENOENT');
  expect(readdirSync(temporary)).toEqual([]);
});

test.runIf(postgresPrograms !== undefined)(
  'the database that the environment names is used, and goes on',
  async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const { host = '', user = '' } = server.connection;
    const url = `postgresql://${user}@/postgres?host=${encodeURIComponent(host)}`;
    vi.stubEnv('DATABASE_URL', url);
    const database = await openDatabase();
    await database?.stop();
    expect(database?.environment).toEqual({ DATABASE_URL: url });
    const queue = createPostgresQueue({ connection: url });
    await queue.open(ROW);
    expect(await queue.close()).toEqual({ returned: [], left: 0 });
  },
);
