/** Runs programs in child processes. */
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { measureLingering } from './lingering.ts';
import { root } from './package-files.ts';
import type { OnFinished } from './temporary-files.ts';

export interface ProgramRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A file descriptor for standard output. `stdout` of the result is then empty. */
  readonly stdout?: number;
}

export interface StartedProgram {
  readonly child: ChildProcess;
  /** Resolves when the program has exited and all its output was read. */
  readonly ended: Promise<ProgramRun>;
}

/** At exit Node waits for V8's background compilation, which takes seconds for undici's WebAssembly. */
const QUICK_EXIT = '--liftoff-only';

/** Starts `node ...args` in a child process. */
export function startProgram(args: readonly string[], options: ProgramOptions): StartedProgram {
  const child = spawn(process.execPath, [QUICK_EXIT, ...args], {
    cwd: options.cwd,
    // Keeps the test runner's settings out of the program.
    env: { ...process.env, NODE_OPTIONS: '', NODE_TEST_CONTEXT: undefined, ...options.env },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
    // A program that hangs fails its own test, not the whole run.
    timeout: 60_000,
  });
  const ended = waitForExit(child).then(({ code, stdout, stderr }) => ({
    exitCode: code,
    stdout,
    stderr,
  }));
  return { child, ended };
}

export const runProgram = (args: readonly string[], options: ProgramOptions): Promise<ProgramRun> =>
  startProgram(args, options).ended;

/** Returns the command that runs a program of test/fixtures. `name` has no `.ts`. */
export const fixtureCommand = (name: string, args: readonly string[] = []): string[] => [
  process.execPath,
  QUICK_EXIT,
  join(inject('compiledFolder'), `test/fixtures/${name}.js`),
  ...args,
];

export interface FixtureRun extends ProgramRun {
  /** Time from the first output to the exit; see {@link measureLingering}. */
  readonly lingeredMs: number;
}

const withoutOutput = (): number => Number.POSITIVE_INFINITY;

/** Runs a program of test/fixtures in a child process. */
export async function runFixture(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<FixtureRun> {
  const [, , ...program] = fixtureCommand(name.replace(/\.ts$/, ''), args);
  const { child, ended } = startProgram(program, { cwd: root, env });
  let lingeredMs = withoutOutput;
  child.stdout?.once('data', () => {
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    lingeredMs = hasExited ? () => 0 : measureLingering(child.pid as number);
  });
  child.once('exit', () => {
    const measuredMs = lingeredMs();
    lingeredMs = () => measuredMs;
  });
  return { ...(await ended), lingeredMs: lingeredMs() };
}

export type LogProgram = 'append' | 'exit' | 'flood' | 'full' | 'standard';

/** Returns the command that runs one of test/fixtures/log-*.ts. */
export const logFixtureCommand = (program: LogProgram, args: readonly string[]): string[] =>
  fixtureCommand(`log-${program}`, args);

export interface ChildExit {
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

/** Resolves when the child has exited. Collects the output that `stdio` pipes. */
export function waitForExit(child: ChildProcess): Promise<ChildExit> {
  const startedMs = performance.now();
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => (text[name] += chunk));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code, signal, ...text, durationMs: performance.now() - startedMs }),
    );
  });
}

/**
 * Returns whether a program is installed. If not, prints that its tests are skipped, or throws if the environment
 * variable `REQUIRE_<PROGRAM>` is set, such as REQUIRE_STRACE.
 */
export function isInstalled(program: string): boolean {
  if (spawnSync(program, ['-V']).status === 0) return true;
  const reason = `${program} is not installed`;
  if (process.env[`REQUIRE_${program.toUpperCase()}`] !== undefined) throw new Error(reason);
  console.warn(`SKIPPED: tests that need ${program}, since ${reason}`);
  return false;
}
