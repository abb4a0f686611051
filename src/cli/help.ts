/** Help, made of the same tables that arguments are read by. */
import { COMMON_OPTIONS } from './arguments.ts';
import type { ArgumentRow, Command, CommandGroup, OptionRow, OptionTable } from './command.ts';
import { EXIT_CODES } from './failure.ts';

export const PROGRAM = 'security-events';

type Row = readonly [term: string, what: string];

const INDENT = '  ';

/** Two columns; a term that is too wide has a line of its own. */
function columns(rows: readonly Row[]): string[] {
  const width = Math.min(Math.max(...rows.map(([term]) => term.length)), 26);
  return rows.flatMap(([term, what]) =>
    term.length > width
      ? [`${INDENT}${term}`, `${INDENT}${' '.repeat(width)}  ${what}`]
      : [`${INDENT}${term.padEnd(width)}  ${what}`],
  );
}

function argumentWord({ name, isRequired, isRepeated }: ArgumentRow): string {
  const word = isRepeated === true ? `${name}…` : name;
  return isRequired === true ? word : `[${word}]`;
}

function optionTerm(name: string, { type, short, value }: OptionRow): string {
  const first = short === undefined ? '' : `-${short}, `;
  return `${first}--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}`;
}

const section = (title: string, rows: readonly Row[]): string[] =>
  rows.length === 0 ? [] : ['', title, ...columns(rows)];

const optionRows = (table: OptionTable): Row[] =>
  Object.entries(table).map(([name, row]) => [optionTerm(name, row), row.what]);

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Help of one command; `name` with that of its group. */
export function commandHelp(name: string, command: Command): string {
  const { summary, words, options, notes = [], examples } = command;
  const usage = [PROGRAM, name, '[options]', ...words.map(argumentWord)].join(' ');
  const lines = [
    `Usage: ${usage}`,
    '',
    sentence(summary),
    ...section(
      'Arguments',
      words.map((row) => [row.name, row.what]),
    ),
    ...section('Options', optionRows({ ...options, ...COMMON_OPTIONS })),
    ...notes.flatMap((note) => ['', note]),
    '',
    'Examples',
    ...examples.flatMap(({ command: line, what }) => [
      `${INDENT}${line}`,
      `${INDENT}${INDENT}${what}`,
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Help of a group: the commands below it. */
export function groupHelp(name: string, { summary, commands }: CommandGroup): string {
  const rows = Object.entries(commands).map(([word, command]): Row => [word, command.summary]);
  const lines = [
    `Usage: ${PROGRAM} ${name} COMMAND [options]`,
    '',
    sentence(summary),
    ...section('Commands', rows),
    '',
    `${PROGRAM} ${name} COMMAND --help tells about one of them.`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Help of the program: its commands and exit codes. */
export function programHelp(summaries: Readonly<Record<string, string>>): string {
  const codes = Object.entries(EXIT_CODES).map(([code, what]): Row => [code, what]);
  const lines = [
    `Usage: ${PROGRAM} COMMAND [options]`,
    '',
    'Signed webhooks and log records of security events: receive, send, check.',
    ...section('Commands', Object.entries(summaries)),
    ...section('Exit codes', codes),
    '',
    'Secrets come from the environment (SECURITY_EVENTS_SECRET, --secret-env NAME) or a file',
    '(--secret-file PATH), never from arguments.',
    '',
    `${PROGRAM} COMMAND --help tells about one of them, with examples; --version tells the version.`,
  ];
  return `${lines.join('\n')}\n`;
}
