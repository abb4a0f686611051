/** Checks the caller's options against rules, and names the invalid option in the error. */

import { suggestion } from './closest-name.ts';
import { type InputIssue, SecurityEventError } from './errors.ts';
import { isObjectLike } from './own-properties.ts';

/** The longest timeout of Node's timers. A longer one would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Rule {
  readonly expected: string;
  readonly isUsable: (value: unknown) => boolean;
}

export type Rules<K extends string> = Readonly<Record<K, Rule>>;

export const usable = (expected: string, isUsable: Rule['isUsable']): Rule => ({
  expected,
  isUsable,
});

export const oneOf = (...words: readonly unknown[]): Rule => ({
  expected: words.map((word) => JSON.stringify(word)).join(' or '),
  isUsable: (value) => words.includes(value),
});

export const integer = (min: number, max: number): Rule => ({
  expected: `an integer from ${min} to ${max}`,
  isUsable: (value) => isInteger(value, min, max),
});

export const object = (expected: string, isUsable: (value: object) => boolean): Rule => ({
  expected,
  isUsable: (value) => isObjectLike(value) && isUsable(value),
});

export const listOf = (what: string, isElement: (value: unknown) => boolean): Rule =>
  usable(`a list of ${what}`, (value) => Array.isArray(value) && value.every(isElement));

export const A_FUNCTION: Rule = usable('a function', (value) => typeof value === 'function');

export const SIGNAL: Rule = object(
  'an AbortSignal',
  (value) =>
    'aborted' in value && typeof value.aborted === 'boolean' && 'addEventListener' in value,
);

export const TEXT: Rule = usable('a string', (value) => typeof value === 'string');

export const NON_EMPTY_TEXT: Rule = usable(
  'a non-empty string',
  (value) => typeof value === 'string' && value !== '',
);

export const ANYTHING: Rule = { expected: 'anything', isUsable: () => true };

/** For a value that other code checks, with its own errors. */
export const checkedElsewhere = (expected: string): Rule => ({ ...ANYTHING, expected });

/** One option of an object: which values are usable, and its value if it is not given. */
export interface Option<Value, Default = Value> extends Rule {
  readonly default: Default;
  /** The default as the documentation shows it. */
  readonly shown: string;
  readonly isRequired: boolean;
  /** Never set: it carries the type of the option. */
  readonly type?: Value;
}

/** Options by name. The comments of its rows are the documentation of the derived type. */
export type OptionTable = Readonly<Record<string, Option<unknown, unknown>>>;

/**
 * The type of the options that a caller gives, as undefined too under `exactOptionalPropertyTypes`. `Own` replaces the
 * types of options that depend on a type parameter.
 */
export type OptionsOf<Table, Own = unknown> = {
  readonly [Name in keyof Table]?:
    | (Name extends keyof Own
        ? Own[Name]
        : Table[Name] extends Option<infer Value, unknown>
          ? Value
          : never)
    | undefined;
};

/** Options that must be given. */
export type RequiredOptions<Options, Name extends keyof Options> = {
  readonly [Key in Name]-?: Exclude<Options[Key], undefined>;
};

/** The options with their defaults. */
export type OptionValues<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer Value, infer Default>
    ? Value | Default
    : never;
};

/** An option with a default. */
export function option<Value>(rule: Rule, value: Value, shown = inCode(value)): Option<Value> {
  return { ...rule, default: value, shown, isRequired: false };
}

/** An option without a default. `shown` describes what happens if it is not given. */
export function optional<Value>(rule: Rule, shown = 'none'): Option<Value, undefined> {
  return { ...rule, default: undefined, shown, isRequired: false };
}

/** An option that must be given. */
export function required<Value>(rule: Rule): Option<Value, never> {
  return { ...rule, default: undefined as never, shown: 'required', isRequired: true };
}

const inCode = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : String(value);

/** The object that is checked. */
export interface Subject {
  /** Name of the object in errors. */
  readonly name: string;
  /** Prefix of the `path` of errors. */
  readonly path: readonly string[];
}

const THE_OPTIONS: Subject = { name: 'the options', path: [] };

/** Checks an object. Returns a copy like {@link copyOptions}. */
export function check<T>(
  given: unknown,
  rules: Rules<keyof T & string>,
  subject: Subject = THE_OPTIONS,
): Partial<T> {
  const copy = copyOptions(given, subject);
  throwAll(faultsOf(copy, rules, subject));
  return copy as Partial<T>;
}

/** Checks options with {@link check}, and adds the defaults. */
export function readOptions<Table extends OptionTable>(
  given: unknown,
  table: Table,
  subject: Subject = THE_OPTIONS,
): OptionValues<Table> {
  const copy = copyOptions(given, subject);
  const rows = Object.entries(table);
  const missing = rows.filter(([name, { isRequired }]) => isRequired && copy[name] === undefined);
  throwAll([
    ...faultsOf(copy, table, subject),
    ...missing.map(([name, row]) => unusable(row, [...subject.path, name])),
  ]);
  const values = rows.map(([name, row]) => {
    const value = copy[name];
    return [name, value === undefined ? row.default : value] as const;
  });
  return Object.fromEntries(values) as OptionValues<Table>;
}

interface Fault extends InputIssue {
  /** Like `message`, with the name of the option. */
  readonly detail: string;
}

/**
 * Returns a copy of an object without a prototype, which later changes of the original do not affect. Throws
 * `ERR_INVALID_OPTION` for any other value, and if a getter throws.
 */
export function copyOptions(given: unknown, { name, path }: Subject): Record<string, unknown> {
  let unread: string | undefined;
  try {
    if (isObjectLike(given) && !Array.isArray(given)) {
      const copy = Object.create(null) as Record<string, unknown>;
      for (const key of Object.keys(given)) {
        unread = key;
        copy[key] = Reflect.get(given, key);
      }
      return copy;
    }
  } catch (cause) {
    throw unreadableOption(unread === undefined ? path : [...path, unread], cause);
  }
  throw invalidOption(`expected ${name} to be an object`, path);
}

function faultsOf(copy: object, rules: Rules<string>, { name, path }: Subject): Fault[] {
  return Object.entries(copy).flatMap(([key, value]) => {
    const place = [...path, key];
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined) {
      const near = suggestion(key, Object.keys(rules));
      const message = `unknown key ${JSON.stringify(key)} in ${name}${near}`;
      return [{ path: place, message, detail: message }];
    }
    return value === undefined || accepts(rule, value) ? [] : [unusable(rule, place)];
  });
}

function accepts(rule: Rule, value: unknown): boolean {
  try {
    return rule.isUsable(value);
  } catch {
    // A getter or a proxy threw.
    return false;
  }
}

const unusable = ({ expected }: Pick<Rule, 'expected'>, path: readonly PropertyKey[]): Fault => ({
  path,
  message: `expected ${expected}`,
  detail: `expected ${path.map(String).join('.')} to be ${expected}`,
});

function throwAll(faults: readonly Fault[]): void {
  if (faults.length > 0) throw errorOf(faults);
}

/** Returns an error with all faults, whose message describes the first one. */
function errorOf(faults: readonly Fault[]): SecurityEventError {
  const issues = faults.map(({ path, message }) => ({ path, message }));
  const detail = faults[0]?.detail ?? '';
  return new SecurityEventError('ERR_INVALID_OPTION', { detail, issues });
}

/** Returns the error for an option whose value could not be read, because the host's code threw `cause`. */
export function unreadableOption(path: readonly string[], cause: unknown): SecurityEventError {
  const detail = `reading ${path.join('.') || 'the options'} threw`;
  return new SecurityEventError('ERR_INVALID_OPTION', { detail, path, cause });
}

export function isInteger(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

/** Returns the error for an option with another value than expected. */
export const unusableOption = (
  rule: Pick<Rule, 'expected'>,
  path: readonly PropertyKey[],
): SecurityEventError => errorOf([unusable(rule, path)]);

export const invalidOption = (detail: string, path: readonly PropertyKey[]): SecurityEventError =>
  errorOf([{ path, message: detail, detail }]);
