/**
 * An enumerable key on `Object.prototype` stands in every object that a schema looks at: as an
 * unknown key it would have every record refused, and in the received reading it would become a key
 * of the output. Prototype pollution is an attack that this library must be able to tell of, so
 * while there is such a key, schemas are shown a copy that has an object's own keys alone.
 */
import { isPlain } from './json-value.ts';

const BARE = {};

/** An enumerable key that every object has, if there is one. */
export function inheritedKey(): string | undefined {
  for (const key in BARE) return key;
  return undefined;
}

/**
 * Objects and arrays within each other that the contract itself has: a record, `context`, `actor`,
 * `ip`, `metadata`, `datacenter`. Free-form JSON below is read by its own keys anyway.
 */
const LEVELS = 6;

type Copies = Map<object, unknown>;

function copy(value: unknown, levels: number, copies: Copies): unknown {
  if (levels === 0 || typeof value !== 'object' || value === null) return value;
  // Each object once: one that holds itself many times would take forever.
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

/** `input` itself, or while `Object.prototype` has enumerable keys, a copy that inherits none. */
export const withOwnKeys = (input: unknown): unknown =>
  inheritedKey() === undefined ? input : copy(input, LEVELS, new Map());
