/** Reads a file completely, or fails. */
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';

/** Settings are read into memory. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface WholeFile {
  readonly text: string;
  readonly signature: string;
}

interface Facts {
  isFile(): boolean;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Changes with the file and its content, except for writes within one tick of the file's clock. */
function signatureOf({ dev, ino, size, mtimeNs, ctimeNs }: Facts): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

const BIG = { bigint: true } as const;

/** Follows links, which Kubernetes and others swap. */
export const signatureAt = async (path: string): Promise<string> =>
  signatureOf(await stat(path, BIG));

/** Rejects if it is no file, is too large, or changed while it was read. */
export async function readWhole(path: string): Promise<WholeFile> {
  let handle: FileHandle | undefined;
  try {
    checkFacts(await stat(path, BIG));
    handle = await open(path, 'r');
    const before = await handle.stat(BIG);
    const bytes = await handle.readFile();
    return whole(bytes, before, await handle.stat(BIG));
  } finally {
    await handle?.close();
  }
}

/** Like {@link readWhole}, for startup. */
export function readWholeSync(path: string): WholeFile {
  // Before opening: opening a pipe would wait for a writer.
  checkFacts(statSync(path, BIG));
  const file = openSync(path, 'r');
  try {
    const before = fstatSync(file, BIG);
    const bytes = readFileSync(file);
    return whole(bytes, before, fstatSync(file, BIG));
  } finally {
    closeSync(file);
  }
}

function checkFacts(facts: Facts): void {
  if (!facts.isFile()) throw new Error('it is no file');
  if (facts.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
}

function whole(bytes: Buffer, before: Facts, after: Facts): WholeFile {
  const signature = signatureOf(before);
  if (signature !== signatureOf(after)) throw new Error('it was written to while it was read');
  const text = bytes.toString();
  // In another encoding a secret would be read as a different one.
  if (!bytes.equals(Buffer.from(text))) throw new Error('it is no UTF-8');
  return { text, signature };
}
