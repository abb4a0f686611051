/** How values that JSON does not know stand in a copy, and how objects are read without running them. */
import { types } from 'node:util';

/** More digits would cost more than they tell; turning them to text is slow for very long ones. */
const MAX_BIGINT_BITS = 256;

/** A `bigint` by its digits, a function or symbol by its kind. */
export function shownAs(value: unknown): string {
  if (typeof value !== 'bigint') return `[${typeof value}]`;
  return BigInt.asIntN(MAX_BIGINT_BITS, value) === value ? String(value) : '[bigint]';
}

/** What stands for an object that is one value; `undefined` for one that has elements. */
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

/** Not the host's own `toJSON` or `toISOString`. */
function dateForm(date: Date): string {
  const time = Date.prototype.getTime.call(date);
  return Number.isNaN(time) ? '[invalid date]' : new Date(time).toISOString();
}

export interface Elements {
  /** An array, or an object whose own enumerable keys count. */
  readonly source: object;
  /** How many more there are of those that `source` was made of. */
  readonly more: number;
}

/** Maps, sets and lists of pairs as plain arrays and objects of at most `limit` elements. */
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

/** An object's own `toString` is not asked. */
const keyForm = (key: unknown): string => (isTextual(key) ? String(key) : `[${typeof key}]`);

/** A name that comes again has a list of its values. */
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

/** An own property without running a getter: that is the host's code. */
export function ownValue(source: object, key: PropertyKey): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(source, key);
  if (descriptor === undefined) return undefined;
  // `in` would also find what an attack put on Object.prototype.
  return Object.hasOwn(descriptor, 'value') ? descriptor.value : '[getter]';
}
