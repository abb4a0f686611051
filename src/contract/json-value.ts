/**
 * Free-form JSON values, which the contract leaves to the caller (`options`, `parameters`, `identifiers`).
 * They are copied during validation, so that getters, `toJSON` methods and later changes of the original
 * have no effect on what is written.
 */
import { kindOf } from './error-messages.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Deeper values are refused: serialising them could overflow the host's stack. */
export const MAX_JSON_DEPTH = 500;

/**
 * More values are refused: a few objects that contain each other twice expand without limit, and a proxy
 * may report any length. Repeated objects count each time.
 */
export const MAX_JSON_VALUES = 200_000;

/** Maximum length of all texts and keys together; repeated ones count each time. */
export const MAX_JSON_CHARACTERS = 100_000_000;

export type JsonCopy =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly path: readonly PropertyKey[]; readonly message: string };

class JsonFault extends Error {}

/**
 * Returns whether the object comes from `{}`, `Object.create(null)` or `JSON.parse`, in any realm: objects
 * from test runners and `node:vm` have another prototype.
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
        // JSON has no negative zero.
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
      // Assigning to `__proto__` would change the prototype.
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
 * Returns a deep copy of `value` as plain JSON data, or where and why it is not JSON. Throws only what a
 * getter or proxy in `value` throws.
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
