/** Temporary files, folders and named pipes, removed at the end of a test. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** Registers a cleanup: `afterAll`, or a concurrent test's function of its own context. */
export type OnFinished = (cleanUp: () => void) => void;

/** Creates a folder that is removed at the end of the test. */
export function temporaryFolder(
  onFinished: OnFinished = onTestFinished,
  parent = tmpdir(),
): string {
  const folder = mkdtempSync(join(parent, 'security-event-delivery-'));
  onFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The same inside the package, since that is where its name leads to itself. */
export function folderInPackage(onFinished?: OnFinished): string {
  const parent = fileURLToPath(new URL('../../reports', import.meta.url));
  mkdirSync(parent, { recursive: true });
  return temporaryFolder(onFinished, parent);
}

/** Creates a file in its own folder, which is removed at the end of the test. */
export function temporaryFile(content: string | Uint8Array, name = 'file'): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
}

/** Creates a named pipe without opening it. Returns its path. */
export function namedPipe(onFinished: OnFinished = onTestFinished): string {
  const path = join(temporaryFolder(onFinished), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** Creates a named pipe and opens it at both ends without reading from it. */
export function stalledPipe(onFinished: OnFinished = onTestFinished): {
  readonly path: string;
  readonly fd: number;
} {
  const path = namedPipe(onFinished);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onFinished(() => closeSync(fd));
  return { path, fd };
}

/** The descriptors of this process that are open on `path`. */
export const descriptorsOf = (path: string): number[] =>
  readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        // The one that listed them.
        return false;
      }
    });
