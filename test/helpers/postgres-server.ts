import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * A PostgreSQL server of the test's own: in a temporary folder, on a Unix socket, gone with the test.
 * POSTGRES_BIN names the folder of its programs, where that is not Debian's or on the path.
 * Where the programs are missing `postgresPrograms` is undefined, and what needs them is skipped
 * loudly, or fails where REQUIRE_POSTGRES is set.
 */

const DEBIAN = '/usr/lib/postgresql';

const hasBoth = (folder: string): boolean =>
  ['initdb', 'postgres'].every((one) => existsSync(join(folder, one)));

function findPrograms(): string | undefined {
  const given = process.env['POSTGRES_BIN'];
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  const elsewhere = [
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  if (given === undefined) return elsewhere.find(hasBoth);
  // Not another version in silence.
  if (!hasBoth(given)) throw new Error(`POSTGRES_BIN: no initdb and postgres in ${given}`);
  return given;
}

export const postgresPrograms = findPrograms();

if (postgresPrograms === undefined) {
  const reason = 'no PostgreSQL server is installed (Debian: apt-get install postgresql)';
  if (process.env['REQUIRE_POSTGRES'] !== undefined) throw new Error(reason);
  console.warn(`SKIPPED: tests of the PostgreSQL queue, ${reason}`);
}

/** The server refuses to run as root. */
const SERVER_USER = 'postgres';
const isRoot = process.getuid?.() === 0;
export const asServer = isRoot
  ? ['--reuid', SERVER_USER, '--regid', SERVER_USER, '--clear-groups']
  : ([] as readonly string[]);

const numberOf = (flag: '-u' | '-g'): number =>
  Number(execFileSync('id', [flag, SERVER_USER], { encoding: 'utf8' }));

export type Settings = Readonly<Record<string, string>>;

/** Half a minute. */
const MAX_TRIES = 1500;

/** The functions that make a copy of the data of a running server consistent. Renamed in version 15. */
const BACKUP = {
  start: "pg_backup_start('standby', true)",
  stop: 'pg_backup_stop(false)',
};
const OLD_BACKUP = {
  start: "pg_start_backup('standby', true, false)",
  stop: 'pg_stop_backup(false, false)',
};

/** Files may change and vanish meanwhile. A standby gets the WAL from its primary. */
const COPY = `mkdir -m 700 "$2" && { tar -C "$1" --exclude './pg_wal/*' --exclude './pg_stat_tmp/*' \\
  --exclude ./postmaster.pid --ignore-failed-read --warning=no-file-changed --warning=no-file-removed \\
  -cf - . || [ $? -eq 1 ]; } | tar -C "$2" -xpf -`;

/** Of tests that do not kill the server. */
const QUICK: Settings = { fsync: 'off', full_page_writes: 'off' };

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

  /** Makes a server without data and does not start it: `follow` does both. */
  static async create(settings: Settings): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'queue-postgres-'));
    if (isRoot) await chown(folder, numberOf('-u'), numberOf('-g'));
    return new PostgresServer(folder, settings);
  }

  static async start(settings: Settings = QUICK): Promise<PostgresServer> {
    const server = await PostgresServer.create(settings);
    const words = ['--no-sync', '--auth=trust', '-E', 'UTF8', '--no-locale', '-U', SERVER_USER];
    const program = join(postgresPrograms ?? '', 'initdb');
    await promisify(execFile)('setpriv', [
      ...asServer,
      '--',
      program,
      ...words,
      '-D',
      server.#data,
    ]);
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
      // For a standby that is being made.
      wal_keep_size: '1GB',
      ...this.#settings,
    };
    const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const program = join(postgresPrograms ?? '', 'postgres');
    // Ends with us, however we end.
    const args = [...asServer, '--pdeathsig', 'QUIT', '--', program, '-D', this.#data, ...words];
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      // The processes of one that was killed may hold its memory for some moments more.
      if (this.#isOver()) this.#process = spawn('setpriv', args, { stdio: 'ignore' });
      if (await this.#answers()) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('the server did not start');
  }

  #isOver(): boolean {
    const server = this.#process;
    return server === undefined || server.exitCode !== null || server.signalCode !== null;
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client(this.connection);
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

  /** `QUIT`: at once, and what is not on disk is recovered; `INT`: as it should be. */
  async kill(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const server = this.#process;
    if (server === undefined || this.#isOver()) return;
    const over = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await over;
  }

  /**
   * Makes this server a standby of another one, with a copy of its data. Does what pg_basebackup does, which
   * packages of the server alone do not have.
   */
  async follow(primary: PostgresServer): Promise<void> {
    await this.kill('SIGKILL');
    await rm(this.#data, { recursive: true, force: true });
    const client = new pg.Client(primary.connection);
    await client.connect();
    try {
      const { rows } = await client.query<{ server_version_num: string }>(
        'show server_version_num',
      );
      const isOld = Number(rows[0]?.server_version_num) < 150_000;
      await client.query(`select ${isOld ? OLD_BACKUP.start : BACKUP.start}`);
      await promisify(execFile)('sh', ['-c', COPY, 'copy', primary.#data, this.#data]);
      const { stop } = isOld ? OLD_BACKUP : BACKUP;
      const { rows: labels } = await client.query<{ labelfile: string }>(
        `select labelfile from ${stop}`,
      );
      await this.#write('backup_label', labels[0]?.labelfile ?? '');
    } finally {
      await client.end();
    }
    await this.#write('standby.signal', '');
    // Without the primary's own standbys: after the promotion there is none at first.
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

  /** From now on commits wait for a standby, which has to be there. */
  async waitForStandby(): Promise<void> {
    const streaming = `select from pg_stat_replication where state = 'streaming'`;
    for (let tries = 0; (await this.query(streaming)).length === 0; tries += 1) {
      if (tries === MAX_TRIES) throw new Error('no standby');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await this.query(`alter system set synchronous_standby_names = '*'`);
    await this.query('select pg_reload_conf()');
    const isSet = `select from pg_stat_replication where sync_state = 'sync'`;
    while ((await this.query(isSet)).length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(): Promise<void> {
    await this.kill('SIGQUIT');
    await rm(this.#folder, { recursive: true, force: true });
  }

  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text, values);
      return rows;
    } finally {
      await client.end();
    }
  }
}

/** A server whose clock stands at 0 until `security_events.time` is updated, for a schema of the usual name. */
export const STANDING_CLOCK = `
  create table security_events.time (ms double precision not null);
  insert into security_events.time values (0);
  create or replace function security_events.clock_ms() returns double precision
  language sql volatile as 'select ms from security_events.time';`;
