/**
 * Free-form JSON as text, for the fast path of json-text.ts: what `copyJson` would have copied, written
 * in the same pass. Whatever is out of the ordinary gives nothing, and the plain path judges it.
 */

import { MAX_JSON_CHARACTERS, MAX_JSON_DEPTH, MAX_JSON_VALUES } from './json-value.ts';
import { KeyHeads } from './key-heads.ts';

/** Later lines of Node search longer strings faster by themselves. */
const SHORT = 100;

/**
 * Anything but a character that stands in JSON as it is. Surrogates too: JSON.stringify escapes those
 * without a partner.
 */
const TO_ESCAPE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** A string as JSON, without its quotes. Most have nothing to escape, and are what stands between them. */
export const bareText = (value: string): string =>
  value.length > SHORT || TO_ESCAPE.test(value) ? JSON.stringify(value).slice(1, -1) : value;

/** A string as JSON. */
export const textOfString = (value: string): string =>
  value.length > SHORT || TO_ESCAPE.test(value) ? JSON.stringify(value) : `"${value}"`;

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

/** What is the same for all values of one place. */
interface Rules {
  /** What it holds has to be strings, numbers and booleans (D10). */
  readonly onlyScalars: boolean;
  /** Whether an object may have these keys, at the top: asked before they are read. */
  readonly areFit: ((keys: readonly string[]) => boolean) | undefined;
}

class Text {
  readonly #rules: Rules;
  readonly #heads: KeyHeads;
  #valuesLeft = MAX_JSON_VALUES;
  #charactersLeft = MAX_JSON_CHARACTERS;

  constructor(rules: Rules, heads: KeyHeads) {
    this.#rules = rules;
    this.#heads = heads;
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
        if (depth === MAX_JSON_DEPTH || (depth > 0 && this.#rules.onlyScalars)) return undefined;
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
    const keys = Object.keys(value);
    if (depth === 1 && this.#rules.areFit?.(keys) === false) return undefined;
    for (const key of keys) {
      const element: unknown = value[key as keyof typeof value];
      if (element === undefined) continue;
      this.#charactersLeft -= key.length;
      if (this.#charactersLeft < 0) return undefined;
      const told = this.of(element, depth);
      if (told === undefined) return undefined;
      const { first, next } = this.#heads.of(key);
      text = (text === '' ? first : text + next) + told;
    }
    return text === '' ? '{}' : `${text}}`;
  }
}

/** Gives any JSON value as text; nothing where it is not JSON, too large, or unusual. */
export function textOfJson(rules: Rules): (value: unknown) => string | undefined {
  const heads = new KeyHeads();
  return (value) => new Text(rules, heads).of(value, 0);
}
