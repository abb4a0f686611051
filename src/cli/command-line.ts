/** The program: finds the command, reads its arguments, runs it, and tells what went wrong. */
import { readFile } from 'node:fs/promises';
import { readArguments } from './arguments.ts';
import type { Command, CommandGroup } from './command.ts';
import { COMMANDS } from './commands.ts';
import { type ExitCode, misuse, tellFailure } from './failure.ts';
import { commandHelp, groupHelp, PROGRAM, programHelp } from './help.ts';
import { nearestWord } from './nearest-word.ts';
import { packageFile } from './package-file.ts';
import { printable } from './printable.ts';
import { endOf, paint, type Terminal } from './terminal.ts';

const HELP_WORDS = ['--help', '-h'];
const VERSION_WORDS = ['--version', '-V'];

function unknownWord(what: string, word: string, known: readonly string[]): Error {
  const near = nearestWord(word, known);
  // Not quoted in full: it may be anything, a secret too.
  const name = printable(word.slice(0, 40));
  return misuse(`there is no ${what} ${name}`, near && `Did you mean ${near}?`);
}

const allHelp = (): string =>
  programHelp(
    Object.fromEntries(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary])),
  );

async function version(): Promise<string> {
  const manifest = await readFile(packageFile('package.json'), 'utf8');
  return `${(JSON.parse(manifest) as { version: string }).version}\n`;
}

interface Found {
  /** With that of its group. */
  readonly name: string;
  readonly command: Command;
  readonly args: readonly string[];
}

/** A command, or the help that was asked for in its place. */
async function find(words: readonly string[]): Promise<Found | string> {
  const [name, ...rest] = words;
  if (name === undefined) throw misuse('no command is given', `See ${PROGRAM} --help.`);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) throw unknownWord('command', name, Object.keys(COMMANDS));
  const loaded = await entry.load();
  return 'commands' in loaded
    ? findWithin(name, loaded, rest)
    : { name, command: loaded, args: rest };
}

function findWithin(name: string, group: CommandGroup, words: readonly string[]): Found | string {
  const [word, ...args] = words;
  if (word === undefined) {
    throw misuse(`${name} needs a command`, `See ${PROGRAM} ${name} --help.`);
  }
  if (HELP_WORDS.includes(word)) return groupHelp(name, group);
  const command = Object.hasOwn(group.commands, word) ? group.commands[word] : undefined;
  if (command === undefined) {
    throw unknownWord(`command ${name}`, word, Object.keys(group.commands));
  }
  return { name: `${name} ${word}`, command, args };
}

async function dispatch(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [first = ''] = words;
  const help = first === 'help' ? [...words.slice(1), '--help'] : words;
  const answer = async (text: string): Promise<0> => {
    await terminal.output.write(text);
    return 0;
  };
  if (HELP_WORDS.includes(help[0] ?? '')) return answer(allHelp());
  if (VERSION_WORDS.includes(first)) return answer(await version());
  const found = await find(help);
  if (typeof found === 'string') return answer(found);
  const { options, words: rest } = readArguments(found.args, found.command);
  if (options['help'] !== undefined) return answer(commandHelp(found.name, found.command));
  return found.command.run({ options, words: rest, terminal });
}

/**
 * Runs the words after the program's name and gives the exit code. Never rejects: what a command
 * throws is told on standard error.
 */
export async function runCommandLine(
  words: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  try {
    const exitCode = await dispatch(words, terminal);
    const end = endOf(terminal.signal);
    if (end === 'output-failed') throw terminal.signal.reason;
    // Who reads has seen enough: `| head` is no failure, whatever the verdict would have been.
    return end === 'output-closed' ? 0 : exitCode;
  } catch (error) {
    const end = endOf(terminal.signal);
    if (end === 'output-closed') return 0;
    if (end === 'interrupted') return 130;
    const { exitCode, message, hint } = tellFailure(error);
    const name = paint(terminal.errors, 'red', `${PROGRAM}:`);
    const lines = [`${name} ${message}`, ...(hint === undefined ? [] : [hint])];
    await terminal.errors.write(`${lines.join('\n')}\n`);
    return exitCode;
  }
}
