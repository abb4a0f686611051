/** The database of the fleet: the one of `DATABASE_URL`, or else a cluster in a temporary folder. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createPostgresSchema } from 'security-event-delivery/queue/postgres';
import { findPrograms, startCluster } from './cluster.ts';

export interface Database {
  /** One URL for each server, separated by spaces. */
  readonly url: string;
  /** Kills the primary and promotes the standby. Absent for the database of `DATABASE_URL`. */
  failOver?(): Promise<void>;
  stop(): Promise<void>;
}

/** Returns `undefined` if there is no database and no program to start one. */
export async function openDatabase(): Promise<Database | undefined> {
  const url = process.env['DATABASE_URL'];
  if (url !== undefined) {
    await createPostgresSchema({ connection: url });
    return { url, stop: () => Promise.resolve() };
  }
  const programs = findPrograms();
  if (programs === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  try {
    return await startCluster(folder, programs);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}
