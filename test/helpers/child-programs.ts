/** Starts programs as processes of their own. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import type { OnFinished } from './temporary-files.ts';

export interface ProgramRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A descriptor in the place of standard output, whose text is then empty. */
  readonly stdout?: number;
}

export interface StartedProgram {
  readonly child: ChildProcess;
  /** Resolves when the program has ended and everything it printed is here. */
  readonly ended: Promise<ProgramRun>;
}

/** Node waits at its end for what V8 still compiles, and may so for seconds for undici's WebAssembly. */
const QUICK_END = '--liftoff-only';

/** Starts `node ...args` as a process of its own. */
export function startProgram(args: readonly string[], options: ProgramOptions): StartedProgram {
  const child = spawn(process.execPath, [QUICK_END, ...args], {
    cwd: options.cwd,
    // A test runner's own settings and warnings are no business of the program's.
    env: { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined, ...options.env },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    // One that hangs shall fail the tests that are about it.
    timeout: 60_000,
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([exitCode]) => ({
    exitCode: exitCode as number | null,
    stdout,
    stderr,
  }));
  return { child, ended };
}

export const runProgram = (args: readonly string[], options: ProgramOptions): Promise<ProgramRun> =>
  startProgram(args, options).ended;

/** The command that runs a program of test/fixtures: its name without `.ts`. */
export const fixtureCommand = (name: string, args: readonly string[] = []): string[] => [
  process.execPath,
  QUICK_END,
  join(inject('compiledFolder'), `test/fixtures/${name}.js`),
  ...args,
];

export interface FixtureRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From the first output to the exit: how long the program lingered. */
  readonly lingeredMs: number;
}

/** Runs a program of test/fixtures as a process of its own. */
export async function runFixture(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<FixtureRun> {
  const [file = '', ...rest] = fixtureCommand(name.replace(/\.ts$/, ''), args);
  const child = spawn(file, rest, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let spokeAt = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    spokeAt ||= performance.now();
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const exited = once(child, 'exit').then(() => performance.now());
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, stdout, stderr, lingeredMs: (await exited) - spokeAt };
}

export type LogProgram = 'append' | 'exit' | 'flood' | 'full' | 'standard';

/** The command that runs one of test/fixtures/log-*.ts. */
export const programCommand = (program: LogProgram, args: readonly string[]): string[] =>
  fixtureCommand(`log-${program}`, args);

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
