/**
 * The database of `DATABASE_URL`. Without it: a primary and a synchronous standby in a temporary folder, run by
 * the programs in `POSTGRES_BIN`, Debian's, or those on the path.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { createPostgresSchema } from 'security-event-delivery/queue/postgres';
import { ended } from './ended.ts';

const DEBIAN = '/usr/lib/postgresql';

/** A server can only follow another one with the last of these. */
const PROGRAMS = ['initdb', 'postgres', 'pg_basebackup'];

interface Database {
  /** Where it is: one URL for each server, separated by spaces. All processes get it. */
  readonly environment: { readonly DATABASE_URL: string };
  /** Kills the primary and promotes the standby. Absent for a database of yours. */
  failOver?(): Promise<void>;
  stop(): Promise<void>;
}

function findPrograms(): string | undefined {
  const { POSTGRES_BIN, PATH = '' } = process.env;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  const debian = versions.map((version) => join(DEBIAN, version, 'bin'));
  const folders =
    POSTGRES_BIN === undefined ? [...debian, ...PATH.split(delimiter)] : [POSTGRES_BIN];
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(join(folder, program))));
}

/** Returns `undefined` if there is no database and no program to start one. */
export async function openDatabase(): Promise<Database | undefined> {
  const url = process.env['DATABASE_URL'];
  const bin = findPrograms();
  if (url !== undefined) {
    await createPostgresSchema({ connection: url });
    return { environment: { DATABASE_URL: url }, stop: () => Promise.resolve() };
  }
  if (bin === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  try {
    return await startCluster(folder, bin);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

const urlOf = (folder: string, port: number): string =>
  `postgresql://fleet@/postgres?host=${encodeURIComponent(folder)}&port=${port}`;

async function startCluster(folder: string, bin: string): Promise<Database> {
  // A server refuses to run as root: then it runs as the user that its package has made.
  const isRoot = process.getuid?.() === 0;
  const user = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'];
  const as = ['--pdeathsig', 'QUIT', ...(isRoot ? user : []), '--'];
  if (isRoot) execFileSync('chown', ['postgres:postgres', folder]);
  const run = (program: string, ...args: readonly string[]): void => {
    execFileSync('setpriv', [...as, join(bin, program), ...args], { stdio: 'ignore' });
  };
  const start = async (name: string, port: number): Promise<ChildProcess> => {
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`];
    const args = ['-D', join(folder, name), '-p', `${port}`, ...settings];
    const server = spawn('setpriv', [...as, join(bin, 'postgres'), ...args], { stdio: 'ignore' });
    await once(server, 'spawn');
    return server;
  };
  const [first, second] = [urlOf(folder, 5432), urlOf(folder, 5433)];

  run('initdb', '-D', join(folder, 'one'), '-A', 'trust', '-U', 'fleet');
  const primary = await start('one', 5432);
  await whenUp(() => createPostgresSchema({ connection: first }));
  run('pg_basebackup', '-d', first, '-D', join(folder, 'two'), '-R', '--checkpoint=fast');
  const standby = await start('two', 5433);
  // From here on a commit waits until the standby has it.
  await query(first, `alter system set synchronous_standby_names = '*'`);
  await query(first, 'select pg_reload_conf()');
  await whenUp(() => query(second, 'select 1'));

  return {
    environment: { DATABASE_URL: `${first} ${second}` },
    async failOver() {
      primary.kill('SIGKILL');
      await ended(primary);
      await query(second, 'select pg_promote()');
    },
    async stop() {
      for (const server of [primary, standby]) {
        server.kill('SIGQUIT');
        await ended(server);
      }
      rmSync(folder, { recursive: true });
    },
  };
}

async function query(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

async function whenUp(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (tries === 300) throw error;
      await wait(100);
    }
  }
}
