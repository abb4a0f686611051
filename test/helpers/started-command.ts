/** A command that goes on for a while, in this process: what it writes can be waited for. */
import { onTestFinished } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { type FakeTerminal, type FakeTerminalOptions, fakeTerminal } from './fake-terminal.ts';

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
