/** A secret for one run, in a file for the other end to read. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSecret } from '../../index.ts';

export interface TemporarySecret {
  readonly secret: string;
  /** Nobody else on the machine may read it. */
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * A file, and not the screen: there it would stay in the scrollback and in the logs of CI, and from there
 * it would get into the history of the shell that starts the other end.
 */
export async function makeTemporarySecret(): Promise<TemporarySecret> {
  const secret = generateSecret();
  const folder = await mkdtemp(join(tmpdir(), 'security-events-'));
  const path = join(folder, 'secret');
  await writeFile(path, secret, { mode: 0o600 });
  return { secret, path, remove: () => rm(folder, { recursive: true, force: true }) };
}
