/** A primary and a synchronous standby. Their programs come from `POSTGRES_BIN`, Debian's folders or the path. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { createPostgresSchema } from 'security-event-delivery/queue/postgres';
import type { Database } from './database.ts';

const DEBIAN = '/usr/lib/postgresql';
const PROGRAMS = ['initdb', 'postgres', 'pg_basebackup'];

export function findPrograms(): string | undefined {
  const { POSTGRES_BIN, PATH = '' } = process.env;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  const usual = [...versions.map((one) => join(DEBIAN, one, 'bin')), ...PATH.split(delimiter)];
  const folders = POSTGRES_BIN === undefined ? usual : [POSTGRES_BIN];
  return folders.find((folder) => PROGRAMS.every((program) => existsSync(join(folder, program))));
}

interface Server {
  /** Resolves when it has ended. */
  end(signal: 'SIGKILL' | 'SIGQUIT'): Promise<unknown>;
}

export async function startCluster(folder: string, programs: string): Promise<Database> {
  // PostgreSQL refuses to run as root: it runs as the user that its package made.
  const isRoot = process.getuid?.() === 0;
  const user = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'];
  if (isRoot) execFileSync('chown', ['postgres:postgres', folder]);
  // They end with this process, even if it is killed.
  const options = ['--pdeathsig', 'QUIT', ...(isRoot ? user : []), '--'];
  const commandOf = (program: string, args: readonly string[]): string[] => [
    ...options,
    join(programs, program),
    ...args,
  ];
  const run = (program: string, ...args: readonly string[]) =>
    execFileSync('setpriv', commandOf(program, args), { stdio: 'ignore' });
  const start = (name: string, port: number): Server => {
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`];
    const args = ['-D', join(folder, name), '-p', `${port}`, ...settings];
    const child = spawn('setpriv', commandOf('postgres', args), { stdio: 'ignore' });
    const ended = once(child, 'exit');
    return {
      end(signal) {
        child.kill(signal);
        return ended;
      },
    };
  };
  const urlOf = (port: number): string =>
    `postgresql://fleet@/postgres?host=${encodeURIComponent(folder)}&port=${port}`;
  const [first, second] = [urlOf(5432), urlOf(5433)];

  run('initdb', '-D', join(folder, 'one'), '-A', 'trust', '-U', 'fleet');
  const primary = start('one', 5432);
  await untilDone(() => createPostgresSchema({ connection: first }));
  run('pg_basebackup', '-d', first, '-D', join(folder, 'two'), '-R', '--checkpoint=fast');
  const standby = start('two', 5433);
  // From here on a commit waits until the standby has it.
  await query(first, `alter system set synchronous_standby_names = '*'`);
  await query(first, 'select pg_reload_conf()');
  await untilDone(() => query(second, 'select 1'));
  return {
    url: `${first} ${second}`,
    async failOver() {
      await primary.end('SIGKILL');
      await query(second, 'select pg_promote()');
    },
    async stop() {
      await Promise.all([primary, standby].map((server) => server.end('SIGQUIT')));
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

/** Tries for 30 seconds: a server needs a moment to start. */
async function untilDone(work: () => Promise<unknown>, tries = 300): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (tries === 1) throw error;
    await wait(100);
    await untilDone(work, tries - 1);
  }
}
