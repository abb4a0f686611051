/** Defines commands. One table of options parses the arguments and creates the help. */

import { parseArgs } from 'node:util';
import { closestName } from '../closest-name.ts';
import { type CommandError, usageError } from './errors.ts';
import type { Terminal } from './terminal.ts';

export const PROGRAM = 'security-events';

export interface OptionRow {
  readonly type: 'boolean' | 'string';
  readonly short?: string;
  /** May be repeated. */
  readonly multiple?: boolean;
  /** Placeholder for the value in help. */
  readonly value?: string;
  /** Help text: one or two sentences, with the default. */
  readonly help: string;
}

export type OptionTable = Readonly<Record<string, OptionRow>>;

export const flag = (help: string) => ({ type: 'boolean', help }) as const;
export const option = (value: string, help: string) => ({ type: 'string', value, help }) as const;
/** An option with a value that may be repeated. */
export const list = (value: string, help: string) =>
  ({ type: 'string', multiple: true, value, help }) as const;

export const JSON_OPTION = { json: flag('Print JSON.') } as const;

type ValueOf<R extends OptionRow> = R['type'] extends 'boolean'
  ? true
  : R extends { readonly multiple: true }
    ? readonly string[]
    : string;

export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> };

export interface CommandCall<T extends OptionTable = OptionTable> {
  readonly options: OptionValues<T>;
  /** The arguments that are not options, as many as `usage` allows. */
  readonly positionals: readonly string[];
  readonly terminal: Terminal;
}

export interface Command<T extends OptionTable = OptionTable> {
  /** One sentence. */
  readonly summary: string;
  /** The arguments, as help shows them: `URL [FILE]`, `[ID…]`. */
  readonly usage: string;
  readonly options: T;
  /** Paragraphs of help below the summary. */
  readonly notes?: readonly string[];
  /** Lines for a shell; those that start with `#` explain the next one. */
  readonly examples: readonly string[];
  /** Returns the exit code: 1 means a negative result. Failures are thrown (`errors.ts`). */
  readonly run: (call: CommandCall<T>) => Promise<0 | 1>;
}

/** Defines a command. The types of the options in `run` come from its option table. */
export function defineCommand<const T extends OptionTable>(command: Command<T>): Command {
  // Safe: a command only runs with options that `readArguments` read with its table.
  return command as unknown as Command;
}

const COMMON_OPTIONS = { help: { type: 'boolean', short: 'h', help: 'Show this help.' } } as const;

const NO_SECRET_ARGUMENTS =
  'Other users can see arguments in the process list, and shells keep them in their history. ' +
  'Set SECURITY_EVENTS_SECRET, or use --secret-env NAME or --secret-file PATH.';

/** @throws CommandError with exit code 2; it names the option, never its value. */
export function readArguments(
  args: readonly string[],
  { options, usage }: Pick<Command, 'options' | 'usage'>,
): { readonly options: OptionValues<OptionTable>; readonly positionals: readonly string[] } {
  const all: OptionTable = { ...options, ...COMMON_OPTIONS };
  // Not strict: only the text of a strict error names the option.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: all,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) if (token.kind === 'option') checkOption(token, all);
  if (values['help'] === undefined) checkPositionals(positionals, usage);
  return { options: values as OptionValues<OptionTable>, positionals };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function checkOption(
  { name, rawName, value, inlineValue }: OptionToken,
  options: OptionTable,
): void {
  const row = Object.hasOwn(options, name) ? options[name] : undefined;
  if (row === undefined) throw unknownOption(name, rawName, options);
  if (row.type === 'boolean') {
    if (value !== undefined) throw usageError(`--${name} takes no value`);
  } else if (value === undefined || (!inlineValue && /^-./.test(value))) {
    const hint = `If the value starts with a dash, use --${name}=VALUE.`;
    throw usageError(`--${name} needs a value`, hint);
  }
}

/** Shortens the option, which may be a secret. */
function unknownOption(name: string, rawName: string, options: OptionTable): CommandError {
  if (name === 'secret') return usageError('a secret cannot be an argument', NO_SECRET_ARGUMENTS);
  const near = closestName(name, Object.keys(options));
  return usageError(
    `unknown option ${rawName.slice(0, 42)}`,
    near === undefined ? '--help lists the options.' : `Did you mean --${near}?`,
  );
}

function checkPositionals(positionals: readonly string[], usage: string): void {
  const expected = usage === '' ? [] : usage.split(' ');
  const missing = expected.find(
    (name, at) => !name.startsWith('[') && positionals[at] === undefined,
  );
  if (missing !== undefined) throw usageError(`${missing.replace('…', '')} is missing`);
  if (usage.includes('…') || positionals.length <= expected.length) return;
  throw usageError(`too many arguments: expected ${usage === '' ? 'none' : usage}`);
}

type Row = readonly [term: string, text: string];

const INDENT = '  ';
const MAX_COLUMNS = 100;
const MIN_TEXT_COLUMNS = 24;
const MAX_TERM_COLUMNS = 22;

export function wrap(paragraph: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1);
    const isFull =
      last === undefined || last.length + 1 + word.length > Math.min(columns, MAX_COLUMNS);
    if (isFull) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Two columns. A long term gets its own line. */
export function table(rows: readonly Row[], columns: number): string[] {
  const width = Math.min(Math.max(...rows.map(([term]) => term.length)), MAX_TERM_COLUMNS);
  const indent = ' '.repeat(INDENT.length + width + 2);
  const textColumns = Math.min(columns, MAX_COLUMNS) - indent.length;
  return rows.flatMap(([term, text]) => {
    const lines = wrap(text, Math.max(textColumns, MIN_TEXT_COLUMNS));
    const isLong = term.length > width;
    const first = isLong ? [`${INDENT}${term}`] : [`${INDENT}${term.padEnd(width)}  ${lines[0]}`];
    return [...first, ...lines.slice(isLong ? 0 : 1).map((line) => indent + line)];
  });
}

const optionTerm = (name: string, { type, short, value }: OptionRow): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${type === 'string' ? ` ${value}` : ''}`;

/** Help, wrapped at the width of the terminal. */
export function commandHelp(
  name: string,
  { summary, usage, options, notes = [], examples }: Command,
  columns: number,
): string {
  const rows = Object.entries({ ...options, ...COMMON_OPTIONS });
  const lines = [
    `Usage: ${[PROGRAM, name, usage, '[options]'].filter((part) => part !== '').join(' ')}`,
    ...[summary, ...notes].flatMap((paragraph) => ['', ...wrap(paragraph, columns)]),
    '',
    'Options:',
    ...table(
      rows.map(([key, row]) => [optionTerm(key, row), row.help]),
      columns,
    ),
    '',
    'Examples:',
    ...examples.map((line) => INDENT + line),
  ];
  return `${lines.join('\n')}\n`;
}
