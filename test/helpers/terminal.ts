/** Commands of the command line, run in this process with a fake terminal. */

import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { CommandEnded, type Terminal, type TerminalOutput } from '../../src/cli/terminal.ts';
import { systemClock } from '../../src/runtime/clock.ts';

// A terminal in memory: what a command reads is given, what it writes is kept.

export interface FakeTerminalOptions {
  /** What is read from standard input, chunk by chunk. */
  readonly input?: string | Iterable<string | Uint8Array> | AsyncIterable<Uint8Array>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Both outputs and the input are a terminal, with colours: no. */
  readonly isTerminal?: boolean;
  readonly hasColours?: boolean;
  readonly columns?: number;
  readonly clock?: Terminal['clock'];
  /** Hears each text that is written to standard output, or standard error. */
  readonly onOutput?: (text: string) => void;
  readonly onErrors?: (text: string) => void;
}

export interface FakeTerminal extends Terminal {
  /** All that was written to standard output. */
  stdout(): string;
  stderr(): string;
  /** As Ctrl-C does. */
  interrupt(): void;
  /** As a reader does that has seen enough. */
  closeOutput(): void;
}

/** Like standard input of a process, it rejects when the command is interrupted. */
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
  const output = (texts: string[], hear?: (text: string) => void): TerminalOutput => ({
    isTerminal,
    columns,
    hasColours,
    async write(text) {
      texts.push(text);
      hear?.(text);
    },
  });
  const out: string[] = [];
  const err: string[] = [];
  return {
    input: {
      isTerminal,
      [Symbol.asyncIterator]: () => chunksOf(options.input, ending.signal),
    },
    output: output(out, options.onOutput),
    errors: output(err, options.onErrors),
    environment: options.environment ?? {},
    signal: ending.signal,
    // Only a process gets a second Ctrl-C.
    onForcedExit: () => () => {},
    clock: options.clock ?? systemClock,
    stdout: () => out.join(''),
    stderr: () => err.join(''),
    interrupt: () => ending.abort(new CommandEnded('interrupted')),
    closeOutput: () => ending.abort(new CommandEnded('output-closed')),
  };
}

/** Runs a command line in this process: its exit code, and what it wrote. */
export async function runCommand(
  words: readonly string[],
  options: FakeTerminalOptions = {},
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const terminal = fakeTerminal(options);
  const exitCode = await runCommandLine(words, terminal);
  return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

// A command that goes on for a while, in this process: what it writes can be waited for.

export interface StartedCommand {
  readonly terminal: FakeTerminal;
  /** Resolves to its exit code. */
  readonly ended: Promise<number>;
  /** Resolves as soon as standard output holds it; rejects where the command ends without. */
  output(pattern: RegExp): Promise<RegExpExecArray>;
  errors(pattern: RegExp): Promise<RegExpExecArray>;
}

/** It is interrupted at the end of the test. */
export function startCommand(
  words: readonly string[],
  options: FakeTerminalOptions = {},
): StartedCommand {
  const looks = new Set<() => void>();
  const lookAgain = (): void => {
    for (const look of looks) look();
  };
  const terminal = fakeTerminal({ ...options, onOutput: lookAgain, onErrors: lookAgain });
  const ended = runCommandLine(words, terminal);
  onTestFinished(async () => {
    terminal.interrupt();
    await ended;
  });
  const found = (text: () => string, pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(text());
        if (match !== null) resolve(match);
      };
      looks.add(look);
      look();
      void ended.then((exitCode) => {
        look();
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
