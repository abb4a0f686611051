/** Runs a command line: finds the command, reads its arguments, runs it and reports errors. */
import { readFile } from 'node:fs/promises';
import { closestName } from '../closest-name.ts';
import { type Command, commandHelp, PROGRAM, readArguments, table, wrap } from './command.ts';
import {
  type CommandError,
  describeError,
  EXIT_CODES,
  type ExitCode,
  usageError,
} from './errors.ts';
import { endReasonOf, paint, printable, type Terminal } from './terminal.ts';

export type Commands = Readonly<Record<string, Command>>;

/** Loaders of the commands, by first word, in the order of help. Only the needed module is loaded. */
const MODULES: Readonly<Record<string, () => Promise<{ readonly commands: Commands }>>> = {
  listen: () => import('./listen/listen.ts'),
  view: () => import('./view.ts'),
  test: () => import('./test.ts'),
  send: () => import('./send/send.ts'),
  validate: () => import('./validate.ts'),
  secret: () => import('./signature.ts'),
  sign: () => import('./signature.ts'),
  verify: () => import('./signature.ts'),
  settings: () => import('./settings/commands.ts'),
  dead: () => import('./dead/commands.ts'),
};

/** Every command by its full name, in the order of help. */
export async function loadCommands(): Promise<Commands> {
  const modules = await Promise.all(Object.values(MODULES).map((load) => load()));
  return Object.assign({}, ...modules.map(({ commands }) => commands)) as Commands;
}

const rowsOf = (commands: Commands) =>
  Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);

// Also correct in the bundle, whose files are as deep below the package as this one.
const MANIFEST = new URL('../../package.json', import.meta.url);

async function version(): Promise<string> {
  return `${(JSON.parse(await readFile(MANIFEST, 'utf8')) as { version: string }).version}\n`;
}

async function programHelp(columns: number): Promise<string> {
  const secrets =
    'Secrets are read from the environment (SECURITY_EVENTS_SECRET, or --secret-env NAME) or from a ' +
    'file (--secret-file PATH), never from arguments.';
  const lines = [
    `Usage: ${PROGRAM} COMMAND [options]`,
    '',
    'Sends, receives and checks signed security-event webhooks.',
    '',
    'Commands:',
    ...table(rowsOf(await loadCommands()), columns),
    '',
    'Exit codes:',
    ...table(Object.entries(EXIT_CODES), columns),
    '',
    ...wrap(secrets, columns),
    '',
    ...wrap(`Run ${PROGRAM} COMMAND --help for options and examples.`, columns),
  ];
  return `${lines.join('\n')}\n`;
}

const isHelp = (word: string | undefined): boolean => word === '--help' || word === '-h';

/** Shortens the word, which may be a secret given by mistake. `group` is empty, or ends with a space. */
function unknownCommand(group: string, word: string, known: readonly string[]): CommandError {
  const near = closestName(word, known);
  return usageError(
    `unknown command ${group}${printable(word.slice(0, 40))}`,
    near === undefined ? `Run ${PROGRAM} ${group}--help.` : `Did you mean ${group}${near}?`,
  );
}

/** Returns the text to print, or runs the command and returns the exit code. */
async function dispatch(args: readonly string[], terminal: Terminal): Promise<string | ExitCode> {
  const [first, second] = args;
  const { columns } = terminal.output;
  if (first === undefined) throw usageError('no command given', `Run ${PROGRAM} --help.`);
  if (first === '--version' || first === '-V') return version();
  if (first === 'help') return dispatch([...args.slice(1), '--help'], terminal);
  if (isHelp(first)) return programHelp(columns);
  const load = Object.hasOwn(MODULES, first) ? MODULES[first] : undefined;
  if (load === undefined) throw unknownCommand('', first, Object.keys(MODULES));
  const { commands } = await load();
  const isGroup = !Object.hasOwn(commands, first);
  if (isGroup && second === undefined) {
    throw usageError(`${first} needs a command`, `Run ${PROGRAM} ${first} --help.`);
  }
  if (isGroup && isHelp(second)) {
    const head = `Usage: ${PROGRAM} ${first} COMMAND [options]\n\nCommands:\n`;
    return `${head}${table(rowsOf(commands), columns).join('\n')}\n`;
  }
  const name = isGroup ? `${first} ${second}` : first;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    const known = Object.keys(commands).map((it) => it.slice(first.length + 1));
    throw unknownCommand(`${first} `, second ?? '', known);
  }
  const { options, positionals } = readArguments(args.slice(isGroup ? 2 : 1), command);
  if (options['help'] !== undefined) return commandHelp(name, command, columns);
  return command.run({ options, positionals, terminal });
}

/** Runs the arguments after the program's name and returns the exit code. Never rejects. */
export async function runCommandLine(
  args: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const { signal, output, errors } = terminal;
  try {
    const result = await dispatch(args, terminal);
    if (typeof result === 'string') await output.write(result);
    const end = endReasonOf(signal);
    if (end === 'output-failed') throw signal.reason;
    return typeof result === 'string' ? 0 : result;
  } catch (error) {
    const end = endReasonOf(signal);
    // `| head` ends the output early, which is not a failure.
    if (end === 'output-closed') return 0;
    if (end === 'interrupted') return 130;
    // If the output failed, the command's error is only a consequence.
    const { exitCode, message, hint } = describeError(
      end === 'output-failed' ? signal.reason : error,
    );
    const line = `${paint(errors, 'red', `${PROGRAM}:`)} ${message}\n`;
    await errors.write(hint === undefined ? line : `${line}${hint}\n`);
    return exitCode;
  }
}
