/**
 * Free-form JSON as text, for the fast path of json-text.ts: what `copyJson` would have copied, written
 * in the same pass. Whatever is out of the ordinary gives nothing, and the plain path judges it.
 */
import { MAX_JSON_CHARACTERS, MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-value.ts';

/** Longer strings are searched faster by the engine itself. */
const SHORT = 42;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A string as JSON. The quotes of a short one that has nothing to escape are put by hand. */
export function textOfString(value: string): string {
  const { length } = value;
  if (length > SHORT) return JSON.stringify(value);
  for (let index = 0; index < length; index += 1) {
    const code = value.charCodeAt(index);
    // Surrogates too: JSON.stringify escapes those without a partner.
    if (code < 0x20 || code === QUOTE || code === BACKSLASH || (code >= 0xd800 && code < 0xe000)) {
      return JSON.stringify(value);
    }
  }
  return `"${value}"`;
}

/** JSON has no negative zero. */
export const textOfNumber = (value: number): string => (value === 0 ? '0' : `${value}`);

/**
 * An object that is read by its own keys alone: of this realm, or without a prototype. An array is none,
 * whatever prototype it was given.
 */
export function isOrdinary(value: object): boolean {
  if (Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

class Text {
  readonly #onlyScalars: boolean;
  #valuesLeft = MAX_JSON_VALUES;
  #charactersLeft = MAX_JSON_CHARACTERS;

  constructor(onlyScalars: boolean) {
    this.#onlyScalars = onlyScalars;
  }

  of(value: unknown, depth: number): string | undefined {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) return undefined;
    switch (typeof value) {
      case 'string':
        this.#charactersLeft -= value.length;
        return this.#charactersLeft < 0 ? undefined : textOfString(value);
      case 'boolean':
        return value ? 'true' : 'false';
      case 'number':
        return Number.isFinite(value) ? textOfNumber(value) : undefined;
      case 'object':
        if (depth === MAX_JSON_DEPTH || (depth > 0 && this.#onlyScalars)) return undefined;
        if (value === null) return 'null';
        return Array.isArray(value)
          ? this.#array(value, depth + 1)
          : this.#object(value, depth + 1);
      default:
        return undefined;
    }
  }

  #array(value: readonly unknown[], depth: number): string | undefined {
    let text = '';
    for (let index = 0; index < value.length; index += 1) {
      const element = this.of(value[index], depth);
      if (element === undefined) return undefined;
      text += index === 0 ? element : `,${element}`;
    }
    return `[${text}]`;
  }

  #object(value: object, depth: number): string | undefined {
    if (!isOrdinary(value)) return undefined;
    let text = '';
    for (const key of Object.keys(value)) {
      const element: unknown = value[key as keyof typeof value];
      if (element === undefined) continue;
      this.#charactersLeft -= key.length;
      const told = this.of(element, depth);
      if (told === undefined) return undefined;
      text += `${text === '' ? '' : ','}${textOfString(key)}:${told}`;
    }
    return `{${text}}`;
  }
}

/**
 * Any JSON value as text; nothing where it is not JSON, too large, or unusual. With `onlyScalars` what
 * it holds has to be strings, numbers and booleans (D10).
 */
export const textOfJson = (value: unknown, onlyScalars: boolean): string | undefined =>
  new Text(onlyScalars).of(value, 0);
