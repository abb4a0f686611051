import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder that is removed when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'log-writer-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The path of a named pipe that nobody has open. */
export function namedPipe(): string {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** A named pipe, and a descriptor that keeps it open at both ends without reading from it. */
export function stalledPipe(): { readonly path: string; readonly fd: number } {
  const path = namedPipe();
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(fd));
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
): ChildProcess {
  const [file, ...args] = command as [string, ...string[]];
  const child = spawn(file, args, { stdio });
  onTestFinished(() => void child.kill('SIGKILL'));
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
