/**
 * Messages of validation errors: what was expected and what was found, in one clause.
 *
 * Shows the value only if a closed vocabulary or a number was expected and the value is a short word, a number
 * or a boolean; otherwise only its kind, since messages must never contain a payload.
 */
import type * as z from 'zod';

const MAX_WORD_LENGTH = 48;
const SHOWN_WORD = new RegExp(`^[\\w.:/+-]{1,${MAX_WORD_LENGTH}}$`);
const MAX_NAMED_KEYS = 5;

const KIND_NAMES: Readonly<Record<string, string>> = {
  undefined: 'nothing',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  bigint: 'a BigInt',
  symbol: 'a symbol',
  function: 'a function',
};

/** Returns the kind of a value in words: `a string`, `an array`, `nothing`. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value === '') return 'an empty string';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  return KIND_NAMES[typeof value] ?? 'an object';
}

/** Like {@link kindOf}, but returns short words, numbers and booleans themselves. */
export function shown(value: unknown): string {
  if (typeof value === 'string' && SHOWN_WORD.test(value)) return `"${value}"`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return kindOf(value);
}

/** Creates the `error` option of a zod check: what was expected, and the kind of the found value. */
export const expecting =
  (what: string) =>
  (issue: z.core.$ZodRawIssue): string =>
    `expected ${what}, found ${kindOf(issue.input)}`;

const EXPECTED_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  tuple: 'an array',
  null: 'null',
  never: 'nothing',
  nonoptional: 'a value',
};

const quoted = (words: readonly unknown[]): string =>
  words.map((word) => JSON.stringify(word)).join(', ');

const lettersOf = (word: string): string => word.toLowerCase().replaceAll(/[^a-z\d…]/g, '');

/** Returns the known word that has the same letters and digits: `sql_injection` for `SQL-Injection`. */
const nearMiss = (found: unknown, words: readonly unknown[]): unknown =>
  typeof found === 'string' && found.length <= MAX_WORD_LENGTH
    ? words.find((word) => typeof word === 'string' && lettersOf(word) === lettersOf(found))
    : undefined;

function unknownKeys(keys: readonly string[]): string {
  const named = keys.slice(0, MAX_NAMED_KEYS).map((key) => JSON.stringify(key.slice(0, 64)));
  const more = keys.length - named.length;
  const rest = more > 0 ? ` and ${more} more` : '';
  return `unknown key${keys.length > 1 ? 's' : ''} ${named.join(', ')}${rest}`;
}

const UNIT_NAMES: Readonly<Record<string, string>> = { array: ' elements', string: ' characters' };

interface Bounded {
  readonly origin: string;
  readonly input?: unknown;
}

function bound(word: string, limit: unknown, { origin, input }: Bounded): string {
  const found = Array.isArray(input) ? `${input.length}` : shown(input);
  return `expected ${word} ${String(limit)}${UNIT_NAMES[origin] ?? ''}, found ${found}`;
}

/** Returns our message for an issue, or undefined to use that of zod. */
export function errorMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = EXPECTED_NAMES[issue.expected] ?? issue.expected;
      return `expected ${expected}, found ${kindOf(issue.input)}`;
    }
    case 'invalid_value': {
      const one = issue.values.length === 1 ? '' : 'one of ';
      const found = `expected ${one}${quoted(issue.values)}, found ${shown(issue.input)}`;
      const near = nearMiss(issue.input, issue.values);
      return near === undefined ? found : `${found}; did you mean ${JSON.stringify(near)}?`;
    }
    case 'unrecognized_keys':
      return unknownKeys(issue.keys);
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? `expected a non-empty string, found ${kindOf(issue.input)}`
        : bound('at least', issue.minimum, issue);
    case 'too_big':
      return bound('at most', issue.maximum, issue);
    default:
      return undefined;
  }
}

/** Sets the message of an issue to that of its schema, or else to ours. */
export function addMessage(issue: z.core.$ZodRawIssue): void {
  const ofSchema = issue.inst?._zod.def?.error as z.core.$ZodErrorMap | undefined;
  const message = issue.message ?? ofSchema?.(issue) ?? errorMessage(issue);
  if (typeof message === 'string') Object.assign(issue, { message });
}
