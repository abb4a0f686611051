/**
 * Serialises single values, for the generated serialisers. Each function validates and serialises its value
 * in one step. It returns undefined when full validation is needed: the value is invalid or unusual.
 */
import { isContainer, MAX_JSON_CHARACTERS, MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-value.ts';

/** JSON text, or undefined when full validation is needed. */
export type Fragment = string | undefined;

/** Serialises a string with its quotes. */
export type StringSerializer = (value: string) => string;

/** Above this length the regular expression is slower than JSON.stringify's own search. */
const SHORT_LENGTH = 100;

/** Anything but printable ASCII that JSON writes unchanged. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

/**
 * Characters that some log readers treat as a line end or a terminal command, or that reorder the displayed
 * text (D84): DEL and C1 controls, U+2028, U+2029, and the bidirectional controls.
 */
const UNSAFE_IN_LINES = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

const escapeCharacter = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes characters that a log line must not contain. The JSON keeps its meaning. */
export const escapeLine = (json: string): string =>
  json.replaceAll(UNSAFE_IN_LINES, escapeCharacter);

/** Serialises a string like JSON.stringify. */
export const quote: StringSerializer = (value) =>
  value.length > SHORT_LENGTH || NEEDS_ESCAPE.test(value) ? JSON.stringify(value) : `"${value}"`;

/** Serialises a string for a log line. */
export const quoteInLine: StringSerializer = (value) =>
  value.length > SHORT_LENGTH || NEEDS_ESCAPE.test(value)
    ? escapeLine(JSON.stringify(value))
    : `"${value}"`;

/** Like JSON.stringify, writes -0 as 0. */
const numberText = (value: number): string => (value === 0 ? '0' : `${value}`);

export const stringText = (value: unknown, quoteString: StringSerializer): Fragment =>
  typeof value === 'string' ? quoteString(value) : undefined;

export const matchingText = (
  value: unknown,
  pattern: RegExp,
  quoteString: StringSerializer,
): Fragment => (typeof value === 'string' && pattern.test(value) ? quoteString(value) : undefined);

/** Returns a map from each value to its JSON. A Map treats -0 as 0. */
export const wordTexts = (words: readonly unknown[]): ReadonlyMap<unknown, string> =>
  new Map(words.map((word) => [word, JSON.stringify(word)]));

/** Serialises a string that matches the pattern. The pattern must not match characters that JSON escapes. */
export const plainText = (value: unknown, pattern: RegExp): Fragment =>
  typeof value === 'string' && pattern.test(value) ? `"${value}"` : undefined;

export function numberBetween(value: unknown, min: number, max: number): Fragment {
  const isInRange = typeof value === 'number' && value >= min && value <= max;
  return isInRange && Number.isFinite(value) ? numberText(value) : undefined;
}

export function integerBetween(value: unknown, min: number, max: number): Fragment {
  const isInRange = Number.isSafeInteger(value) && (value as number) >= min;
  return isInRange && (value as number) <= max ? numberText(value as number) : undefined;
}

export function booleanText(value: unknown): Fragment {
  if (value === true) return 'true';
  return value === false ? 'false' : undefined;
}

export type PlainObject = Readonly<Record<string, unknown>>;

/** Returns whether it is a plain object of this realm, or one without a prototype. */
export function isPlainObject(value: unknown): value is PlainObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Returns whether it is a plain object without own enumerable keys. */
export const isEmpty = (value: unknown): boolean =>
  isPlainObject(value) && Object.keys(value).length === 0;

export function arrayText(value: unknown, serialize: (element: unknown) => Fragment): Fragment {
  if (!Array.isArray(value)) return undefined;
  let text = '';
  for (let index = 0; index < value.length; index += 1) {
    const element = serialize(value[index]);
    if (element === undefined) return undefined;
    text += index === 0 ? element : `,${element}`;
  }
  return `[${text}]`;
}

interface Limits {
  readonly depth: number;
  readonly values: number;
  readonly characters: number;
}

/** The limits of `copyJson`. */
const FREE_FORM: Limits = {
  depth: MAX_JSON_DEPTH,
  values: MAX_JSON_VALUES,
  characters: MAX_JSON_CHARACTERS,
};

const SCALARS: Limits = { ...FREE_FORM, depth: 1 };

const UNLIMITED: Limits = {
  depth: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
};

/** Serialises plain JSON; returns undefined above the limits, and for values that are not JSON. */
class FreeFormSerializer {
  readonly #quote: StringSerializer;
  readonly #maxDepth: number;
  #valuesLeft: number;
  #charactersLeft: number;

  constructor(quoteString: StringSerializer, limits: Limits) {
    this.#quote = quoteString;
    this.#maxDepth = limits.depth;
    this.#valuesLeft = limits.values;
    this.#charactersLeft = limits.characters;
  }

  /** Uses one stack frame for each level, so that the stack trace of an error in a getter stays short. */
  container(value: object, depth: number): Fragment {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0 || depth === this.#maxDepth) return undefined;
    let text = '';
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        const element: unknown = value[index];
        const json = isContainer(element)
          ? this.container(element, depth + 1)
          : this.#leaf(element, depth + 1);
        if (json === undefined) return undefined;
        text += index === 0 ? json : `,${json}`;
      }
      return `[${text}]`;
    }
    if (!isPlainObject(value)) return undefined;
    for (const key of Object.keys(value)) {
      const element = value[key];
      if (element === undefined) continue;
      this.#charactersLeft -= key.length;
      const json = isContainer(element)
        ? this.container(element, depth + 1)
        : this.#leaf(element, depth + 1);
      if (json === undefined || this.#charactersLeft < 0) return undefined;
      text += `${text === '' ? '' : ','}${this.#quote(key)}:${json}`;
    }
    return `{${text}}`;
  }

  #leaf(value: unknown, depth: number): Fragment {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) return undefined;
    switch (typeof value) {
      case 'string':
        this.#charactersLeft -= value.length;
        return this.#charactersLeft < 0 ? undefined : this.#quote(value);
      case 'boolean':
        return value ? 'true' : 'false';
      case 'number':
        return Number.isFinite(value) ? numberText(value) : undefined;
      default:
        return value === null && depth < this.#maxDepth ? 'null' : undefined;
    }
  }
}

const freeForm =
  (isAccepted: (value: unknown) => value is object, limits: Limits) =>
  (value: unknown, quoteString: StringSerializer): Fragment =>
    isAccepted(value) ? new FreeFormSerializer(quoteString, limits).container(value, 0) : undefined;

/** Serialises any JSON object. */
export const freeFormObject = freeForm(isPlainObject, FREE_FORM);

/** Serialises any JSON object or array. */
export const freeFormObjectOrArray = freeForm(isContainer, FREE_FORM);

/** Serialises a JSON object of strings, numbers and booleans. */
export const scalarObject = freeForm(isPlainObject, SCALARS);

/** Serialises validated plain data; unlike JSON.stringify it never calls `toJSON`. */
export const checkedJson = (value: object, quoteString: StringSerializer): string =>
  new FreeFormSerializer(quoteString, UNLIMITED).container(value, 0) as string;
