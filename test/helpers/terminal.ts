/** Runs commands of the command line in this process with a fake terminal. */

import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { CommandEnded, type Terminal, type TerminalOutput } from '../../src/cli/terminal.ts';
import { systemClock } from '../../src/runtime/clock.ts';

export interface FakeTerminalOptions {
  /** Standard input, chunk by chunk. */
  readonly input?: string | Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Whether input and both outputs are a terminal. Default false. */
  readonly isTerminal?: boolean;
  readonly hasColours?: boolean;
  readonly columns?: number;
  readonly clock?: Terminal['clock'];
  /** Called with each text written to standard output. */
  readonly onOutput?: (text: string) => void;
  /** Called with each text written to standard error. */
  readonly onErrors?: (text: string) => void;
}

export interface FakeTerminal extends Terminal {
  /** Returns everything written to standard output. */
  stdout(): string;
  stderr(): string;
  /** Simulates Ctrl-C. */
  interrupt(): void;
  /** Simulates a reader that closes the pipe, such as `head`. */
  closeOutput(): void;
}

/** Rejects when the command is interrupted, like a process's standard input. */
async function* chunksOf(
  input: FakeTerminalOptions['input'] = '',
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
  aborted.catch(() => undefined);
  const parts = typeof input === 'string' ? [input] : input;
  const iterator =
    Symbol.asyncIterator in parts ? parts[Symbol.asyncIterator]() : parts[Symbol.iterator]();
  for (;;) {
    const { done, value } = await Promise.race([iterator.next(), aborted]);
    if (done === true) return;
    yield typeof value === 'string' ? Buffer.from(value) : value;
  }
}

export function fakeTerminal(options: FakeTerminalOptions = {}): FakeTerminal {
  const { isTerminal = false, hasColours = false, columns = 80 } = options;
  const ending = new AbortController();
  const output = (texts: string[], onWrite?: (text: string) => void): TerminalOutput => ({
    isTerminal,
    columns,
    hasColours,
    async write(text) {
      texts.push(text);
      onWrite?.(text);
    },
  });
  const out: string[] = [];
  const err: string[] = [];
  return {
    input: { isTerminal, [Symbol.asyncIterator]: () => chunksOf(options.input, ending.signal) },
    output: output(out, options.onOutput),
    errors: output(err, options.onErrors),
    environment: options.environment ?? {},
    signal: ending.signal,
    clock: options.clock ?? systemClock,
    stdout: () => out.join(''),
    stderr: () => err.join(''),
    interrupt: () => ending.abort(new CommandEnded('interrupted')),
    closeOutput: () => ending.abort(new CommandEnded('output-closed')),
  };
}

/** Runs a command line in this process. Returns its exit code and output. */
export async function runCommand(
  words: readonly string[],
  options: FakeTerminalOptions = {},
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const terminal = fakeTerminal(options);
  const exitCode = await runCommandLine(words, terminal);
  return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

/** The expected result of `runCommand`. */
export const outcome = (exitCode: number, stdout = '', stderr = '') => ({
  exitCode,
  stdout,
  stderr,
});

export interface StartedCommand {
  readonly terminal: FakeTerminal;
  /** Resolves to its exit code. */
  readonly ended: Promise<number>;
  /** Resolves when standard output matches. Rejects if the command ends without a match. */
  output(pattern: RegExp): Promise<RegExpExecArray>;
  errors(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Starts a long-running command in this process. Interrupts it at the end of the test. */
export function startCommand(
  words: readonly string[],
  options: FakeTerminalOptions = {},
): StartedCommand {
  const checks = new Set<() => void>();
  const runChecks = (): void => {
    for (const check of checks) check();
  };
  const terminal = fakeTerminal({ ...options, onOutput: runChecks, onErrors: runChecks });
  const ended = runCommandLine(words, terminal);
  onTestFinished(async () => {
    terminal.interrupt();
    await ended;
  });
  const found = (text: () => string, pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const match = pattern.exec(text());
        if (match !== null) resolve(match);
      };
      checks.add(check);
      check();
      void ended.then((exitCode) => {
        check();
        reject(
          new Error(`ended with ${exitCode} without ${pattern}:\n${text()}${terminal.stderr()}`),
        );
      });
    });
  return {
    terminal,
    ended,
    output: (pattern) => found(() => terminal.stdout(), pattern),
    errors: (pattern) => found(() => terminal.stderr(), pattern),
  };
}
