import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, chown, mkdtemp, rm } from 'node:fs/promises';
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

/** The programs of some distributions are the server's alone. */
export const canFollow =
  postgresPrograms !== undefined && existsSync(join(postgresPrograms, 'pg_basebackup'));

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

  /** Makes this server a standby of another one, with a copy of its data. */
  async follow(primary: PostgresServer): Promise<void> {
    await this.kill('SIGKILL');
    await rm(this.#data, { recursive: true, force: true });
    const from = ['-h', primary.#folder, '-U', SERVER_USER, '-R', '--checkpoint=fast', '--no-sync'];
    const program = join(postgresPrograms ?? '', 'pg_basebackup');
    const args = [...asServer, '--', program, '-D', this.#data, ...from];
    await promisify(execFile)('setpriv', args);
    // Of the primary: after the promotion there is no standby at first.
    await appendFile(join(this.#data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n");
    await this.start();
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
  create or replace function security_events.now_exact() returns double precision
  language sql volatile as 'select ms from security_events.time';`;
