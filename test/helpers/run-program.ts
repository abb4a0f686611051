import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

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
export const QUICK_END = '--liftoff-only';

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
