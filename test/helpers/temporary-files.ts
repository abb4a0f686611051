/** Temporary folders and named pipes, removed at the end of a test. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Tells what to do when the test is over; a concurrent test has one of its own in its context. */
export type OnFinished = typeof onTestFinished;

/** Makes a folder that is removed at the end of the test. A concurrent test passes its own `onTestFinished`. */
export function temporaryFolder(onFinished: OnFinished = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'security-event-delivery-'));
  onFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The path of a named pipe that nobody has open. */
export function namedPipe(onFinished: OnFinished = onTestFinished): string {
  const path = join(temporaryFolder(onFinished), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** A named pipe, and a descriptor that keeps it open at both ends without reading from it. */
export function stalledPipe(onFinished: OnFinished = onTestFinished): {
  readonly path: string;
  readonly fd: number;
} {
  const path = namedPipe(onFinished);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onFinished(() => closeSync(fd));
  return { path, fd };
}
