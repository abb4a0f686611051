/** What a command is: its words and options as data, from which it is read and explained, and its work. */
import type { Terminal } from './terminal.ts';

/** An option as parseArgs knows it, with what help tells about it. */
export interface OptionRow {
  readonly type: 'boolean' | 'string';
  readonly short?: string;
  /** May be given more than once. */
  readonly multiple?: boolean;
  /** The word for its value in help, in capitals. */
  readonly value?: string;
  /** One line of help, without a full stop; the default in brackets at its end. */
  readonly what: string;
}

export type OptionTable = Readonly<Record<string, OptionRow>>;

/** The type that an option's value has once it is read. */
type ValueOf<R extends OptionRow> = R['type'] extends 'boolean'
  ? true
  : R extends { readonly multiple: true }
    ? readonly string[]
    : string;

export type OptionValues<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> };

/** A word that is no option. */
export interface ArgumentRow {
  readonly name: string;
  readonly what: string;
  readonly isRequired?: boolean;
  /** The last argument only: any number of it. */
  readonly isRepeated?: boolean;
}

export interface Example {
  readonly command: string;
  readonly what: string;
}

export interface CommandCall<T extends OptionTable = OptionTable> {
  readonly options: OptionValues<T>;
  /** As many as the table of arguments allows. */
  readonly words: readonly string[];
  readonly terminal: Terminal;
}

export interface CommandDefinition<T extends OptionTable = OptionTable> {
  /** One line, without a full stop. */
  readonly summary: string;
  readonly words: readonly ArgumentRow[];
  readonly options: T;
  /** Paragraphs of help after the options: what its verdicts mean, what it never does. */
  readonly notes?: readonly string[];
  readonly examples: readonly Example[];
  /** Gives the exit code: 0 yes, 1 the answer is no. What it throws is told by `failure.ts`. */
  readonly run: (call: CommandCall<T>) => Promise<0 | 1>;
}

export type Command = CommandDefinition;

/** Commands below a command: `settings set`, `dead list`. */
export interface CommandGroup {
  readonly summary: string;
  readonly commands: Readonly<Record<string, Command>>;
}

/** Ties the options that `run` sees to the table they are read by. */
export function defineCommand<const T extends OptionTable>(
  definition: CommandDefinition<T>,
): Command {
  // Sound: a command is run with what `readArguments` made of this very table, and nothing else.
  return definition as unknown as Command;
}
