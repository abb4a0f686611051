/**
 * The database of `DATABASE_URL`. Without it, a throwaway server: of the programs in `POSTGRES_BIN`, of Debian's,
 * or of those on the path.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { createPostgresSchema } from 'security-event-delivery/queue/postgres';
import { ended } from './ended.ts';

const DEBIAN = '/usr/lib/postgresql';

interface Database {
  /** Where it is: what all processes are told. */
  readonly environment: { readonly DATABASE_URL: string };
  stop(): Promise<void>;
}

function programs(): string | undefined {
  const { POSTGRES_BIN, PATH = '' } = process.env;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  const debian = versions.map((version) => join(DEBIAN, version, 'bin'));
  const folders =
    POSTGRES_BIN === undefined ? [...debian, ...PATH.split(delimiter)] : [POSTGRES_BIN];
  return folders.find((folder) =>
    ['initdb', 'postgres'].every((program) => existsSync(join(folder, program))),
  );
}

/** `undefined` where there is neither. */
export async function openDatabase(): Promise<Database | undefined> {
  const given = process.env['DATABASE_URL'];
  const bin = programs();
  if (given === undefined && bin === undefined) return undefined;
  const database =
    given === undefined
      ? await startServer(bin ?? '')
      : { environment: { DATABASE_URL: given }, stop: () => Promise.resolve() };
  await whenUp(database);
  return database;
}

async function startServer(bin: string): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  try {
    return await startServerIn(folder, bin);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

/** A server refuses to run as root: then it runs as the user that its package has made. */
async function startServerIn(folder: string, bin: string): Promise<Database> {
  const isRoot = process.getuid?.() === 0;
  const user = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups'];
  const as = ['--pdeathsig', 'QUIT', ...(isRoot ? user : []), '--'];
  if (isRoot) execFileSync('chown', ['postgres:postgres', folder]);
  const data = join(folder, 'data');
  execFileSync('setpriv', [...as, join(bin, 'initdb'), '-D', data, '-A', 'trust', '-U', 'fleet']);
  const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${folder}`];
  const server = spawn('setpriv', [...as, join(bin, 'postgres'), '-D', data, ...settings]);
  await once(server, 'spawn');
  return {
    environment: {
      DATABASE_URL: `postgresql://fleet@/postgres?host=${encodeURIComponent(folder)}`,
    },
    async stop() {
      server.kill('SIGINT');
      await ended(server);
      rmSync(folder, { recursive: true });
    },
  };
}

/** The schema is made once it answers; ten processes may do so at once. */
async function whenUp({ environment }: Database): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await createPostgresSchema({ connection: environment.DATABASE_URL });
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await wait(100);
    }
  }
}
