/**
 * A PgBouncer in front of a test's PostgreSQL server, in transaction mode with a few connections. If it is
 * not installed, its tests are skipped with a message, or fail if REQUIRE_PGBOUNCER is set.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type pg from 'pg';
import {
  canConnect,
  type PostgresServer,
  postgresPrograms,
  setprivUser,
} from './postgres-server.ts';

const PORT = 6432;

/** Debian installs it in a folder that is only on root's path. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
const program = folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path));

export const hasPgBouncer = program !== undefined && postgresPrograms !== undefined;

if (program === undefined) {
  const reason = 'no PgBouncer is installed (Debian: apt-get install pgbouncer)';
  if (process.env['REQUIRE_PGBOUNCER'] !== undefined) throw new Error(reason);
  console.warn(`SKIPPED: tests of the PostgreSQL queue behind a proxy, ${reason}`);
}

const settingsOf = (folder: string): string => `\
[databases]
* = host=${folder} port=5432

[pgbouncer]
listen_addr =
listen_port = ${PORT}
unix_socket_dir = ${folder}
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
`;

/** Listens on a Unix socket in its server's folder. */
export class PgBouncer {
  readonly connection: pg.ClientConfig;
  readonly #process: ChildProcess;

  private constructor(connection: pg.ClientConfig, started: ChildProcess) {
    this.connection = connection;
    this.#process = started;
  }

  static async start({ connection }: PostgresServer): Promise<PgBouncer> {
    const folder = `${connection.host}`;
    const settings = join(folder, 'pgbouncer.ini');
    await writeFile(settings, settingsOf(folder));
    await writeFile(join(folder, 'users.txt'), `"${connection.user}" ""\n`);
    for (const file of [settings, join(folder, 'users.txt')]) await chmod(file, 0o644);
    // The kernel stops it when this process dies.
    const args = [...setprivUser, '--pdeathsig', 'QUIT', '--', program ?? '', '--quiet', settings];
    const started = spawn('setpriv', args, { stdio: 'ignore' });
    const bouncer = new PgBouncer({ ...connection, port: PORT }, started);
    await bouncer.#untilReady();
    return bouncer;
  }

  async #untilReady(): Promise<void> {
    for (let tries = 0; tries < 1500 && this.#process.exitCode === null; tries += 1) {
      if (await canConnect(this.connection)) return;
      await wait(20);
    }
    throw new Error('PgBouncer did not start');
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await exited;
  }
}
