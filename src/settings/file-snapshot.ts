/** Reads a file of settings completely or not at all, and recognises changes. */
import { type BigIntStats, readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

/** Settings are read into memory. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface FileSnapshot {
  readonly text: string;
  readonly fingerprint: string;
}

/** Changes with the file and its content, unless two writes leave the same size and time. */
const fingerprintOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(':');

const BIG = { bigint: true } as const;

/** Follows links, which Kubernetes and others swap. */
export const fingerprintAt = async (path: string): Promise<string> =>
  fingerprintOf(await stat(path, BIG));

/** Rejects if it is not a file, is too large, or changed while it was read. */
export async function readSnapshot(path: string): Promise<FileSnapshot> {
  const before = checkStats(await stat(path, BIG));
  const bytes = await readFile(path);
  return snapshot(bytes, before, await stat(path, BIG));
}

/** Like {@link readSnapshot}, for startup. */
export function readSnapshotSync(path: string): FileSnapshot {
  const before = checkStats(statSync(path, BIG));
  const bytes = readFileSync(path);
  return snapshot(bytes, before, statSync(path, BIG));
}

/** Must run before the file is opened: opening a pipe would wait for a writer. */
function checkStats(stats: BigIntStats): BigIntStats {
  if (!stats.isFile()) throw new Error('it is not a file');
  if (stats.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
  return stats;
}

function snapshot(bytes: Buffer, before: BigIntStats, after: BigIntStats): FileSnapshot {
  const fingerprint = fingerprintOf(before);
  if (fingerprint !== fingerprintOf(after)) throw new Error('it was written to while it was read');
  const text = bytes.toString();
  // In another encoding a secret would be read as a different one.
  if (!bytes.equals(Buffer.from(text))) throw new Error('it is not UTF-8');
  return { text, fingerprint };
}
