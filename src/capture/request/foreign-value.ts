/** Represents values that JSON does not have, and reads objects without running their code. */
import { types } from 'node:util';

/** Converting very long ones to text is slow. */
const MAX_BIGINT_BITS = 256;

/** Returns the digits of a `bigint`, or the type of a function or symbol. */
export function shownAs(value: unknown): string {
  if (typeof value !== 'bigint') return `[${typeof value}]`;
  return BigInt.asIntN(MAX_BIGINT_BITS, value) === value ? String(value) : '[bigint]';
}

/** Returns the text for an object that is a single value, or `undefined` if it has elements. */
export function singleForm(value: object): string | undefined {
  if (types.isDate(value)) return dateForm(value);
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) {
    return `[binary: ${value.byteLength} bytes]`;
  }
  if (types.isRegExp(value)) return '[regular expression]';
  if (types.isPromise(value)) return '[promise]';
  if (types.isProxy(value)) return undefined;
  return value instanceof Blob ? `[file: ${value.size} bytes]` : undefined;
}

/** Does not call the host's own `toJSON` or `toISOString`. */
function dateForm(date: Date): string {
  const time = Date.prototype.getTime.call(date);
  return Number.isNaN(time) ? '[invalid date]' : new Date(time).toISOString();
}

export interface Elements {
  /** An array, or an object whose own enumerable keys count. */
  readonly source: object;
  /** The number of elements that are not in `source`. */
  readonly more: number;
}

/** Converts maps, sets and lists of pairs to plain arrays and objects of at most `limit` elements. */
export function elementsOf(value: object, limit: number): Elements {
  if (types.isMap(value)) return pairsOf(mapPairs(value), value.size, limit);
  if (types.isSet(value)) {
    return { source: [...firstOf(value, limit)], more: Math.max(0, value.size - limit) };
  }
  if (types.isProxy(value)) return { source: value, more: 0 };
  if (value instanceof URLSearchParams || value instanceof FormData) {
    const pairs = [...value.entries()];
    return pairsOf(pairs, pairs.length, limit);
  }
  return { source: value, more: 0 };
}

function* firstOf<T>(values: Iterable<T>, limit: number): Generator<T> {
  let count = 0;
  for (const value of values) {
    if (count === limit) return;
    count += 1;
    yield value;
  }
}

function* mapPairs(map: ReadonlyMap<unknown, unknown>): Generator<[string, unknown]> {
  for (const [key, value] of map) yield [keyForm(key), value];
}

const TEXTUAL: ReadonlySet<string> = new Set(['string', 'number', 'boolean', 'undefined']);

const isTextual = (key: unknown): key is string | number | boolean | undefined =>
  TEXTUAL.has(typeof key);

/** Does not call an object's own `toString`. */
const keyForm = (key: unknown): string => (isTextual(key) ? String(key) : `[${typeof key}]`);

/** A repeated name gets a list of its values. */
function pairsOf(
  pairs: Iterable<readonly [string, unknown]>,
  size: number,
  limit: number,
): Elements {
  const source = Object.create(null) as Record<string, unknown>;
  const lists = new Map<string, unknown[]>();
  let taken = 0;
  for (const [name, value] of firstOf(pairs, limit)) {
    taken += 1;
    const list = lists.get(name) ?? [];
    list.push(value);
    lists.set(name, list);
    source[name] = list.length === 1 ? value : list;
  }
  return { source, more: size - taken };
}

/** Returns an own property without running a getter. */
export function ownValue(source: object, key: PropertyKey): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(source, key);
  if (descriptor === undefined) return undefined;
  // `in` would also find keys of a polluted prototype.
  return Object.hasOwn(descriptor, 'value') ? descriptor.value : '[getter]';
}
