/**
 * Free-form JSON values, which the contract leaves to the caller (`options`, `parameters`, `identifiers`).
 * They are copied during validation, so that getters, `toJSON` methods and later changes of the original
 * have no effect on what is written.
 */
import type { InputIssue } from '../errors.ts';
import { kindOf } from './error-messages.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Deeper values are refused: serialising them could overflow the host's stack. */
export const MAX_JSON_DEPTH = 500;

/**
 * More values are refused: repeated references can expand exponentially, and a proxy may report any length.
 * Repeated objects count each time.
 */
export const MAX_JSON_VALUES = 200_000;

/** Maximum length of all texts and keys together; repeated ones count each time. */
export const MAX_JSON_CHARACTERS = 100_000_000;

export type JsonCopy =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly path: readonly PropertyKey[]; readonly message: string };

/** Why a value is not JSON. Its path is the current position of the copier. */
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

export const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null;

class Copier {
  #valuesLeft = MAX_JSON_VALUES;
  #charactersLeft = MAX_JSON_CHARACTERS;
  #depth = 0;
  /** The containers being copied, outermost first, and the current key of each. Elements from `#depth` on are stale. */
  readonly #containers: object[] = [];
  readonly #keys: PropertyKey[] = [];

  /** Uses one stack frame for each level, so that the stack trace of an error in a getter stays short. */
  container(value: object): JsonValue[] | JsonObject {
    this.#count();
    const depth = this.#depth;
    if (depth >= MAX_JSON_DEPTH) throw new JsonFault(TOO_DEEP);
    const isList = Array.isArray(value);
    if (!isList && !isPlain(value)) throw new JsonFault(A_CLASS_INSTANCE);
    this.#containers[depth] = value;
    this.#depth += 1;
    let copy: JsonValue[] | JsonObject;
    if (isList) {
      copy = [];
      for (let index = 0; index < value.length; index += 1) {
        this.#keys[depth] = index;
        const element: unknown = value[index];
        copy.push(isContainer(element) ? this.container(element) : this.leaf(element));
      }
    } else {
      copy = {};
      for (const key of Object.keys(value)) {
        this.#keys[depth] = key;
        const element: unknown = value[key as keyof typeof value];
        if (element === undefined) continue;
        this.#spend(key);
        const copied = isContainer(element) ? this.container(element) : this.leaf(element);
        // Assigning to `__proto__` would change the prototype.
        if (key === '__proto__') define(copy, key, copied);
        else copy[key] = copied;
      }
    }
    this.#depth = depth;
    return copy;
  }

  leaf(value: unknown): JsonValue {
    this.#count();
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'string') {
      this.#spend(value);
      return value;
    }
    // JSON.stringify writes -0 as 0.
    if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
    throw new JsonFault(`expected a JSON value, found ${kindOf(value)}`);
  }

  #count(): void {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) tooMany(MAX_JSON_VALUES, 'values');
  }

  #spend(text: string): void {
    this.#charactersLeft -= text.length;
    if (this.#charactersLeft < 0) tooMany(MAX_JSON_CHARACTERS, 'characters');
  }

  /** A cycle exceeds the maximum depth. The path of its issue ends at the first repeated object. */
  describe({ message }: JsonFault): InputIssue {
    const path = this.#keys.slice(0, this.#depth);
    if (message !== TOO_DEEP) return { path, message };
    const seen = new Set<object>();
    const repeat = this.#containers.slice(0, this.#depth).findIndex((container) => {
      const isKnown = seen.has(container);
      seen.add(container);
      return isKnown;
    });
    if (repeat === -1) return { path, message };
    return { path: path.slice(0, repeat), message: 'expected a JSON value, found a cycle' };
  }
}

const A_CLASS_INSTANCE = 'expected a plain object, found a class instance';
const TOO_DEEP = `expected at most ${MAX_JSON_DEPTH} levels of nesting, found more`;

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
    return { ok: true, value: isContainer(value) ? copier.container(value) : copier.leaf(value) };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { ok: false, ...copier.describe(error) };
  }
}
