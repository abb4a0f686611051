import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Tells what to do when the test is over; a concurrent test has one of its own in its context. */
export type OnFinished = typeof onTestFinished;

/** A folder that is removed when the test is over. */
export function temporaryFolder(onFinished: OnFinished = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'log-writer-'));
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

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

export function startChild(
  command: readonly string[],
  stdio: StdioOptions = ['ignore', 'pipe', 'pipe'],
  onFinished: OnFinished = onTestFinished,
): ChildProcess {
  const [file, ...args] = command as [string, ...string[]];
  const child = spawn(file, args, { stdio });
  onFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Runs to the end; what a child leaves unread is not read here either if `stdio` says so. */
export function endOf(child: ChildProcess): Promise<ChildEnd> {
  const startedMs = performance.now();
  const text = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (text.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (text.stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code, signal, ...text, durationMs: performance.now() - startedMs }),
    );
  });
}
