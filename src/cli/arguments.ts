/** The words after a command's name, read by its own tables: every deviation is told by name. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { ArgumentRow, Command, OptionRow, OptionTable, OptionValues } from './command.ts';
import { type CommandFailure, misuse } from './failure.ts';
import { nearestWord } from './nearest-word.ts';

export interface ReadArguments {
  readonly options: OptionValues<OptionTable>;
  readonly words: readonly string[];
}

/** What every command understands. */
export const COMMON_OPTIONS = {
  help: { type: 'boolean', short: 'h', what: 'shows this help' },
} as const satisfies OptionTable;

const NO_SECRETS_HERE =
  'Other users of the machine see it in the list of processes, and shells keep it in their history: ' +
  'set SECURITY_EVENTS_SECRET, or use --secret-env NAME or --secret-file PATH.';

function unknownOption(name: string, table: OptionTable): CommandFailure {
  if (name === 'secret') {
    return misuse('a secret may not be an argument', NO_SECRETS_HERE);
  }
  const near = nearestWord(name, Object.keys(table));
  return misuse(
    `there is no option ${name.length === 1 ? '-' : '--'}${name.slice(0, 40)}`,
    near === undefined ? undefined : `Did you mean --${near}?`,
  );
}

interface OptionToken {
  readonly name: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function checkToken({ name, value, inlineValue }: OptionToken, table: OptionTable): void {
  const row = Object.hasOwn(table, name) ? table[name] : undefined;
  if (row === undefined) throw unknownOption(name, table);
  if (row.type === 'boolean' && inlineValue === true) {
    throw misuse(`--${name} takes no value`);
  }
  if (row.type !== 'string') return;
  if (value === undefined) throw misuse(`--${name} needs a value`);
  // `--port --json`: the value was forgotten. One that begins with a dash is given by `=`.
  if (inlineValue === false && value.startsWith('-') && value !== '-') {
    throw misuse(`--${name} needs a value`, `A value that begins with a dash: --${name}=VALUE.`);
  }
}

function checkOnce(tokens: readonly OptionToken[], table: OptionTable): void {
  const seen = new Set<string>();
  for (const { name } of tokens) {
    if (seen.has(name) && table[name]?.multiple !== true && table[name]?.type === 'string') {
      throw misuse(`--${name} is given more than once`);
    }
    seen.add(name);
  }
}

function checkWords(words: readonly string[], rows: readonly ArgumentRow[]): void {
  const missing = rows.find((row, index) => row.isRequired === true && words[index] === undefined);
  if (missing !== undefined) throw misuse(`${missing.name} is missing: ${missing.what}`);
  const isOpen = rows.at(-1)?.isRepeated === true;
  if (!isOpen && words.length > rows.length) {
    throw misuse(
      `there are too many arguments: ${rows.length === 0 ? 'none is expected' : `expected ${rows.map(({ name }) => name).join(' ')}`}`,
    );
  }
}

const parsedBy = ({ type, short, multiple }: OptionRow) => ({
  type,
  ...(short === undefined ? {} : { short }),
  ...(multiple === undefined ? {} : { multiple }),
});

/**
 * Reads words by a command's tables.
 *
 * @throws CommandFailure with exit code 2; it names the option, never its value.
 */
export function readArguments(
  args: readonly string[],
  { options, words }: Pick<Command, 'options' | 'words'>,
): ReadArguments {
  const table: OptionTable = { ...options, ...COMMON_OPTIONS };
  const config = {
    args: [...args],
    options: Object.fromEntries(Object.entries(table).map(([name, row]) => [name, parsedBy(row)])),
    allowPositionals: true,
    // Its own words about mistakes quote values.
    strict: false,
    tokens: true,
  } satisfies ParseArgsConfig;
  const { values, positionals, tokens } = parseArgs(config);
  const found = tokens.flatMap((token) => (token.kind === 'option' ? [token] : []));
  for (const token of found) checkToken(token, table);
  checkOnce(found, table);
  const read = { options: values as OptionValues<OptionTable>, words: positionals };
  if (read.options['help'] === undefined) checkWords(positionals, words);
  return read;
}
