/**
 * Protects schemas from a polluted `Object.prototype`: an inherited enumerable key would make every record
 * invalid, or, in the received reading, become a key of the output. The library must be able to report this
 * attack, so while there is such a key, schemas validate a copy that has only own keys.
 */
import { isPlain } from './json-value.ts';

const BARE = {};

/** Returns an enumerable key that every object inherits, if there is one. */
export function inheritedKey(): string | undefined {
  for (const key in BARE) return key;
  return undefined;
}

/**
 * Nesting of the contract's own objects: a record, `context`, `actor`, `ip`, `metadata`, `datacenter`. Free-form
 * JSON needs no copy: only its own keys are read.
 */
const LEVELS = 6;

type Copies = Map<object, unknown>;

function copy(value: unknown, levels: number, copies: Copies): unknown {
  if (levels === 0 || typeof value !== 'object' || value === null) return value;
  // Each object once: repeated ones could take exponential time.
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const elements: unknown[] = [];
    copies.set(value, elements);
    for (const element of value) elements.push(copy(element, levels - 1, copies));
    return elements;
  }
  if (!isPlain(value)) return value;
  const own = { __proto__: null, ...value } as Record<string, unknown>;
  copies.set(value, own);
  for (const key of Object.keys(own)) own[key] = copy(own[key], levels - 1, copies);
  return own;
}

/** Returns `input`, or, while `Object.prototype` has enumerable keys, a copy that inherits none. */
export const withOwnKeys = (input: unknown): unknown =>
  inheritedKey() === undefined ? input : copy(input, LEVELS, new Map());
