/** A secret for one run, in a file for the other end to read. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSecret } from '../../index.ts';
import type { Terminal } from '../terminal.ts';

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
export async function makeTemporarySecret({
  beforeForcedEnd,
}: Pick<Terminal, 'beforeForcedEnd'>): Promise<TemporarySecret> {
  const secret = generateSecret();
  const folder = await mkdtemp(join(tmpdir(), 'security-events-'));
  const path = join(folder, 'secret');
  const isGone = beforeForcedEnd(() => removeNow(folder));
  await writeFile(path, secret, { mode: 0o600 });
  const remove = async (): Promise<void> => {
    await rm(folder, { recursive: true, force: true });
    isGone();
  };
  return { secret, path, remove };
}

/** The process ends whether or not it can be removed. */
function removeNow(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Somebody else has it: only its owner may read what is in it.
  }
}
