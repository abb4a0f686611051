/** The database of `DATABASE_URL`; without it, a throwaway server of the PostgreSQL that is installed. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { createPostgresSchema } from 'security-event-delivery/queue/postgres';
import { ended } from './ended.ts';
import type { Place } from './shared.ts';

const DEBIAN = '/usr/lib/postgresql';

interface Database extends Place {
  readonly environment: { readonly DATABASE_URL: string };
}

function programs(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted().toReversed() : [];
  return versions.map((version) => join(DEBIAN, version, 'bin')).find((one) => existsSync(one));
}

/** `undefined` where there is neither. */
export async function openDatabase(): Promise<Place | undefined> {
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

/** A server refuses to run as root: then it runs as the user that its package has made. */
async function startServer(bin: string): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
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
