/**
 * Free-form JSON values (D0): what the contract leaves to the caller (`options`, `parameters`,
 * `identifiers`) must be JSON, and is copied while it is checked, so that what was checked is what
 * is written, whatever getters, `toJSON` methods or later changes the original has.
 */
import { kindOf } from './wording.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Deeper values are refused: they could not be serialised without risking the host's stack. */
export const MAX_JSON_DEPTH = 500;

/**
 * More values are refused: a few objects that hold each other twice make as many as they like, and a
 * proxy says of itself how long it is. Each object counts as often as it is written.
 */
export const MAX_JSON_VALUES = 200_000;

/** Of all texts and keys together, as often as they are written: what no line and no request holds. */
export const MAX_JSON_CHARACTERS = 100_000_000;

export type JsonCopy =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly path: readonly PropertyKey[]; readonly message: string };

class JsonFault extends Error {}

/**
 * Objects made by `{}`, `Object.create(null)` or `JSON.parse`, in any realm: test runners and
 * `node:vm` hand over objects whose prototype is not ours.
 */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

class Copier {
  readonly path: PropertyKey[] = [];
  readonly #ancestors: object[] = [];
  #valuesLeft = MAX_JSON_VALUES;
  #charactersLeft = MAX_JSON_CHARACTERS;

  copy(value: unknown): JsonValue {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) tooMany(MAX_JSON_VALUES, 'values');
    switch (typeof value) {
      case 'string':
        this.#spend(value);
        return value;
      case 'boolean':
        return value;
      case 'number':
        if (!Number.isFinite(value)) break;
        // JSON has no negative zero; written as what it will be read as.
        return value === 0 ? 0 : value;
      case 'object':
        return value === null ? null : this.#container(value);
      default:
    }
    throw new JsonFault(`expected a JSON value, found ${kindOf(value)}`);
  }

  #container(value: object): JsonValue {
    if (this.#ancestors.length >= MAX_JSON_DEPTH) this.#tooDeep();
    this.#ancestors.push(value);
    const copy = Array.isArray(value) ? this.#array(value) : this.#object(value);
    this.#ancestors.pop();
    return copy;
  }

  #array(value: readonly unknown[]): JsonValue[] {
    const copy: JsonValue[] = [];
    for (let index = 0; index < value.length; index += 1) {
      this.path.push(index);
      copy.push(this.copy(value[index]));
      this.path.pop();
    }
    return copy;
  }

  #object(value: object): JsonObject {
    if (!isPlain(value)) throw new JsonFault('expected a plain object, found a class instance');
    const copy: JsonObject = {};
    for (const key of Object.keys(value)) {
      const element: unknown = value[key as keyof typeof value];
      if (element === undefined) continue;
      this.path.push(key);
      this.#spend(key);
      const copied = this.copy(element);
      // Assigning to `__proto__` would change the prototype instead of making a key.
      if (key === '__proto__') define(copy, key, copied);
      else copy[key] = copied;
      this.path.pop();
    }
    return copy;
  }

  #spend(text: string): void {
    this.#charactersLeft -= text.length;
    if (this.#charactersLeft < 0) tooMany(MAX_JSON_CHARACTERS, 'characters');
  }

  #tooDeep(): never {
    const seen = new Set<object>();
    const repeat = this.#ancestors.findIndex((ancestor) => {
      const known = seen.has(ancestor);
      seen.add(ancestor);
      return known;
    });
    this.path.length = repeat === -1 ? MAX_JSON_DEPTH : repeat;
    throw new JsonFault(
      repeat === -1
        ? `expected at most ${MAX_JSON_DEPTH} levels of nesting, found more`
        : 'expected a JSON value, found a cycle',
    );
  }
}

function tooMany(limit: number, what: string): never {
  throw new JsonFault(`expected at most ${limit} ${what}, found more`);
}

const define = (target: object, key: string, value: unknown): void => {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
};

/**
 * A deep copy of `value` as plain JSON data, or where and why it is not JSON. Throws only what a
 * getter or proxy inside `value` throws.
 */
export function copyJson(value: unknown): JsonCopy {
  const copier = new Copier();
  try {
    return { ok: true, value: copier.copy(value) };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { ok: false, path: [...copier.path], message: error.message };
  }
}
