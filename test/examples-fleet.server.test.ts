/** The fleet example: its run from start to end, and what it does where something is missing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../examples/fleet/database.ts';
import { ended } from '../examples/fleet/ended.ts';
import { createPostgresQueue } from '../src/queue/postgres.ts';
import { runProgram } from './helpers/child-programs.ts';
import { bundlePrograms } from './helpers/compile-programs.ts';
import { root } from './helpers/package-files.ts';
import { PostgresServer, postgresPrograms } from './helpers/postgres-server.ts';
import { temporaryFolder } from './helpers/temporary-files.ts';
import { INITIAL } from './queue/conformance/trial.ts';

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

test('the cluster is not started without setpriv, and leaves no folder', async () => {
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
    await queue.open(INITIAL);
    expect(await queue.close()).toEqual({ returned: [], left: 0 });
  },
);

/** The example runs with the programs that a distribution installs, not with the server's alone. */
const canFollow = existsSync(join(postgresPrograms ?? '', 'pg_basebackup'));
if (!canFollow) console.warn('SKIPPED: the fleet example, which needs pg_basebackup');

test.runIf(canFollow)(
  'loses nothing when a dispatcher is killed in the middle of a request, and then the primary',
  { timeout: 120_000 },
  async () => {
    // The folder is inside the package, where the package's name leads to itself.
    mkdirSync(join(root, 'reports'), { recursive: true });
    const folder = mkdtempSync(join(root, 'reports/fleet-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const programs = ['main', 'agent', 'dispatcher'].map((name) => `examples/fleet/${name}`);
    bundlePrograms(
      folder,
      programs.map((program) => `${program}.ts`),
    );
    // The example starts its programs by the names of their sources.
    for (const program of programs) {
      symlinkSync(`${basename(program)}.js`, join(folder, `${program}.ts`));
    }
    const run = await runProgram([join(folder, 'examples/fleet/main.js')], { cwd: root });
    expect(run.stderr).toMatch(/^dispatcher-[12] +killed while the receiver was answering/m);
    expect(run.stderr).toMatch(/^primary +killed; the standby has every committed message/m);
    expect(run.stderr).toMatch(/^agent-[12] +300 messages were accepted; \d+ calls/m);
    expect(run.stderr).toContain('600 of 600 messages have arrived');
    // At least the request that the receiver was answering comes twice: 1 to 50 messages.
    const [, twice, retried] =
      /(\d+) messages arrived more than once, (\d+) have a retry_count/.exec(run.stderr) ?? [];
    expect(Number(twice)).toBeGreaterThan(0);
    expect(Number(retried)).toBeGreaterThanOrEqual(Number(twice));
    expect([run.exitCode, run.stderr.trimEnd().split('\n').at(-1)]).toEqual([
      0,
      'fleet        Nothing was lost.',
    ]);
  },
);
