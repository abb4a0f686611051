import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * A PostgreSQL server for one test file: in a temporary folder, on a Unix socket.
 * POSTGRES_BIN names the folder of its programs. Default: Debian's folder, then the path.
 * Without the programs `postgresPrograms` is undefined, and tests that need them are skipped with a
 * message, or fail if REQUIRE_POSTGRES is set.
 */

const DEBIAN = '/usr/lib/postgresql';

const hasBoth = (folder: string): boolean =>
  ['initdb', 'postgres'].every((one) => existsSync(join(folder, one)));

function findPrograms(): string | undefined {
  const configured = process.env['POSTGRES_BIN'];
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  const folders = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  if (configured === undefined) return folders.find(hasBoth);
  // Throws rather than silently using another version.
  if (!hasBoth(configured))
    throw new Error(`POSTGRES_BIN: no initdb and postgres in ${configured}`);
  return configured;
}

export const postgresPrograms = findPrograms();

if (postgresPrograms === undefined) {
  const reason = 'no PostgreSQL server is installed (Debian: apt-get install postgresql)';
  if (process.env['REQUIRE_POSTGRES'] !== undefined) throw new Error(reason);
  console.warn(`SKIPPED: tests of the PostgreSQL queue, ${reason}`);
}

/** User of the server when the test runs as root, which PostgreSQL refuses to do. */
const SERVER_USER = 'postgres';
const isRoot = process.getuid?.() === 0;
export const setprivUser = isRoot
  ? ['--reuid', SERVER_USER, '--regid', SERVER_USER, '--clear-groups']
  : ([] as readonly string[]);

const numberOf = (flag: '-u' | '-g'): number =>
  Number(execFileSync('id', [flag, SERVER_USER], { encoding: 'utf8' }));

export type Settings = Readonly<Record<string, string>>;

/** Tries every 20 ms: half a minute. */
const MAX_TRIES = 1500;

/** Functions that make a copy of a running server's data consistent. Version 15 renamed them. */
const BACKUP = { start: "pg_backup_start('standby', true)", stop: 'pg_backup_stop(false)' };
const OLD_BACKUP = {
  start: "pg_start_backup('standby', true, false)",
  stop: 'pg_stop_backup(false, false)',
};

/** Copies the data folder. Files may change or vanish meanwhile. A standby gets the WAL from its primary. */
const COPY = `mkdir -m 700 "$2" && { tar -C "$1" --exclude './pg_wal/*' --exclude './pg_stat_tmp/*' \\
  --exclude ./postmaster.pid --ignore-failed-read --warning=no-file-changed --warning=no-file-removed \\
  -cf - . || [ $? -eq 1 ]; } | tar -C "$2" -xpf -`;

/** Settings for tests that do not kill the server. */
const NOT_CRASH_SAFE: Settings = { fsync: 'off', full_page_writes: 'off' };

/** Returns whether a server or proxy accepts connections. */
export async function canConnect(connection: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client(connection);
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

export class PostgresServer {
  readonly connection: pg.ClientConfig;
  readonly #folder: string;
  readonly #settings: Settings;
  #process: ChildProcess | undefined;

  constructor(folder: string, settings: Settings) {
    this.#folder = folder;
    this.#settings = settings;
    this.connection = { host: folder, port: 5432, user: SERVER_USER, database: 'postgres' };
  }

  /** Creates a server without data. `follow` adds the data and starts it. */
  static async create(settings: Settings): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'queue-postgres-'));
    if (isRoot) await chown(folder, numberOf('-u'), numberOf('-g'));
    return new PostgresServer(folder, settings);
  }

  static async start(settings: Settings = NOT_CRASH_SAFE): Promise<PostgresServer> {
    const server = await PostgresServer.create(settings);
    const flags = ['--no-sync', '--auth=trust', '-E', 'UTF8', '--no-locale', '-U', SERVER_USER];
    const command = [join(postgresPrograms ?? '', 'initdb'), ...flags, '-D', server.#data];
    await promisify(execFile)('setpriv', [...setprivUser, '--', ...command]);
    await server.start();
    return server;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  async start(): Promise<void> {
    const settings = {
      listen_addresses: '',
      unix_socket_directories: this.#folder,
      // For a standby that is being created.
      wal_keep_size: '1GB',
      ...this.#settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const program = join(postgresPrograms ?? '', 'postgres');
    // The kernel stops the server when this process dies.
    const args = [...setprivUser, '--pdeathsig', 'QUIT', '--', program, '-D', this.#data, ...flags];
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      // After a kill, the old processes may hold the shared memory for a moment.
      if (this.#isStopped()) this.#process = spawn('setpriv', args, { stdio: 'ignore' });
      if (await canConnect(this.connection)) return;
      await wait(20);
    }
    throw new Error('the server did not start');
  }

  #isStopped(): boolean {
    const server = this.#process;
    return server === undefined || server.exitCode !== null || server.signalCode !== null;
  }

  /** `SIGQUIT` stops at once and recovers at the next start. `SIGINT` shuts down cleanly. */
  async kill(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const server = this.#process;
    if (server === undefined || this.#isStopped()) return;
    const exited = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await exited;
  }

  /**
   * Makes this server a standby with a copy of the primary's data. Does not use pg_basebackup, which is in a
   * separate client package.
   */
  async follow(primary: PostgresServer): Promise<void> {
    await this.kill('SIGKILL');
    await rm(this.#data, { recursive: true, force: true });
    await primary.#withClient(async (client) => {
      const {
        rows: [version],
      } = await client.query<{ server_version_num: string }>('show server_version_num');
      const backup = Number(version?.server_version_num) < 150_000 ? OLD_BACKUP : BACKUP;
      await client.query(`select ${backup.start}`);
      await promisify(execFile)('sh', ['-c', COPY, 'copy', primary.#data, this.#data]);
      const { rows } = await client.query<{ labelfile: string }>(
        `select labelfile from ${backup.stop}`,
      );
      await this.#write('backup_label', rows[0]?.labelfile ?? '');
    });
    await this.#write('standby.signal', '');
    // Overwrites the primary's synchronous_standby_names: after promotion there is no standby to wait for.
    await this.#write(
      'postgresql.auto.conf',
      `primary_conninfo = 'host=${primary.#folder} user=${SERVER_USER}'\n`,
    );
    await this.start();
  }

  async #write(name: string, text: string): Promise<void> {
    await writeFile(join(this.#data, name), text, { mode: 0o600 });
    if (isRoot) await chown(join(this.#data, name), numberOf('-u'), numberOf('-g'));
  }

  /** Waits for a streaming standby, then makes commits wait for it (synchronous replication). */
  async waitForStandby(): Promise<void> {
    const streaming = `select from pg_stat_replication where state = 'streaming'`;
    for (let tries = 0; (await this.query(streaming)).length === 0; tries += 1) {
      if (tries === MAX_TRIES) throw new Error('no standby');
      await wait(20);
    }
    await this.query(`alter system set synchronous_standby_names = '*'`);
    await this.query('select pg_reload_conf()');
    const isSet = `select from pg_stat_replication where sync_state = 'sync'`;
    while ((await this.query(isSet)).length === 0) {
      await wait(20);
    }
  }

  async stop(): Promise<void> {
    await this.kill('SIGQUIT');
    await rm(this.#folder, { recursive: true, force: true });
  }

  query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.#withClient(async (client) => (await client.query(text, values)).rows);
  }

  async #withClient<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
}

/** SQL that stops the clock of the schema `security_events` at 0. Update `security_events.time` to advance it. */
export const STOPPED_CLOCK = `
  create table security_events.time (ms double precision not null);
  insert into security_events.time values (0);
  create or replace function security_events.clock_ms() returns double precision
  language sql volatile as 'select ms from security_events.time';`;
