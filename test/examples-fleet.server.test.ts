/** The fleet example: its run from start to end, and its database. */
import { chmodSync, existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../examples/fleet/database.ts';
import { createPostgresQueue } from '../src/queue/postgres.ts';
import { runProgram } from './helpers/child-programs.ts';
import { bundlePrograms } from './helpers/compile-programs.ts';
import { root } from './helpers/package-files.ts';
import { PostgresServer, postgresPrograms } from './helpers/postgres-server.ts';
import { folderInPackage, temporaryFolder } from './helpers/temporary-files.ts';
import { INITIAL } from './queue/conformance/trial.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('a cluster that cannot be started leaves no folder', async () => {
  const [bin, temporary] = [temporaryFolder(), temporaryFolder()];
  // Root gives the folder to the server's user first.
  for (const program of ['initdb', 'postgres', 'pg_basebackup', 'chown']) {
    writeFileSync(join(bin, program), '#!/bin/sh\n');
    chmodSync(join(bin, program), 0o755);
  }
  const environment = { DATABASE_URL: undefined, POSTGRES_BIN: bin, PATH: bin, TMPDIR: temporary };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  await expect(openDatabase()).rejects.toThrow('setpriv ENOENT');
  expect(readdirSync(temporary)).toEqual([]);
});

test.runIf(postgresPrograms !== undefined)(
  'the database of DATABASE_URL is used, and stays usable',
  async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.stop());
    const { host = '', user = '' } = server.connection;
    const url = `postgresql://${user}@/postgres?host=${encodeURIComponent(host)}`;
    vi.stubEnv('DATABASE_URL', url);
    const database = await openDatabase();
    await database?.stop();
    expect(database?.url).toBe(url);
    const queue = createPostgresQueue({ connection: url });
    await queue.open(INITIAL);
    expect(await queue.close()).toEqual({ returned: [], remaining: 0 });
  },
);

/** The packages from npm have no pg_basebackup. */
const canFollow = existsSync(join(postgresPrograms ?? '', 'pg_basebackup'));
if (!canFollow) console.warn('SKIPPED: the fleet example, which needs pg_basebackup');

test.runIf(canFollow)(
  'loses nothing when a dispatcher is killed in the middle of a request, and then the primary',
  { timeout: 120_000 },
  async () => {
    const folder = folderInPackage();
    const programs = ['main', 'agent', 'dispatcher'].map((name) => `examples/fleet/${name}`);
    bundlePrograms(
      folder,
      programs.map((program) => `${program}.ts`),
    );
    // The example starts its programs by the names of their sources.
    for (const program of programs) {
      symlinkSync(`${basename(program)}.js`, join(folder, `${program}.ts`));
    }
    const { stdout, stderr, exitCode } = await runProgram(
      [join(folder, 'examples/fleet/main.js')],
      { cwd: root },
    );
    expect(stdout).toMatch(/^dispatcher-[12] is killed while the receiver answers/m);
    expect(stdout).toMatch(/^primary +is killed; the standby has every committed message/m);
    expect(stdout).toMatch(/^agent-1 +300 messages are accepted/m);
    expect(stdout).toMatch(/^agent-2 +300 messages are accepted/m);
    const numberOf = (row: string): number =>
      Number(new RegExp(`^${row} +(\\d+)$`, 'm').exec(stdout)?.[1]);
    expect(numberOf('messages that arrived')).toBe(600);
    expect(numberOf('messages lost')).toBe(0);
    // At least the request that the receiver was answering arrives twice: 1 to 50 messages.
    expect(numberOf('of them twice or more')).toBeGreaterThan(0);
    expect(numberOf('messages with retry_count above 0')).toBeGreaterThanOrEqual(
      numberOf('of them twice or more'),
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  },
);
