/** Represents values that JSON does not have, and reads objects without running their code. */
import { types } from 'node:util';

/** Converting very long ones to text is slow. */
const MAX_BIGINT_BITS = 256;

/** Returns the digits of a `bigint`, or the type of a function or symbol. */
export function describePrimitive(value: unknown): string {
  if (typeof value !== 'bigint') return `[${typeof value}]`;
  return BigInt.asIntN(MAX_BIGINT_BITS, value) === value ? String(value) : '[bigint]';
}

/** The built-in prototypes with `byteLength`: a subclass of the host may have its own getter. */
const BINARY_TYPES: readonly (readonly [(value: object) => boolean, object])[] = [
  [types.isTypedArray, Object.getPrototypeOf(Uint8Array.prototype) as object],
  [types.isDataView, DataView.prototype],
  [types.isSharedArrayBuffer, SharedArrayBuffer.prototype],
  [types.isAnyArrayBuffer, ArrayBuffer.prototype],
];

/** Returns the text for a date, bytes or a file; `undefined` for all other objects. */
export function describeSingleValue(value: object): string | undefined {
  if (types.isDate(value)) return describeDate(value);
  const binary = BINARY_TYPES.find(([isType]) => isType(value))?.[1];
  if (binary !== undefined) return `[binary: ${Reflect.get(binary, 'byteLength', value)} bytes]`;
  if (types.isProxy(value)) return undefined;
  return value instanceof Blob
    ? `[file: ${Reflect.get(Blob.prototype, 'size', value)} bytes]`
    : undefined;
}

/** Does not call the host's own `toJSON` or `toISOString`. */
function describeDate(date: Date): string {
  const time = Date.prototype.getTime.call(date);
  return Number.isNaN(time) ? '[invalid date]' : new Date(time).toISOString();
}

export interface Elements {
  /** An array, or an object whose own enumerable keys count. */
  readonly source: object;
  /** The number of elements that are not in `source`. */
  readonly omitted: number;
}

/** Converts URLSearchParams and FormData to an object of at most `limit` keys. A repeated name gets a list of its values. */
export function elementsOf(value: object, limit: number): Elements {
  const pairs = pairsOf(value);
  if (pairs === undefined) return { source: value, omitted: 0 };
  const lists = new Map<string, unknown[]>();
  for (const [name, element] of pairs.slice(0, limit)) {
    const list = lists.get(name) ?? [];
    list.push(element);
    lists.set(name, list);
  }
  const source = Object.create(null) as Record<string, unknown>;
  for (const [name, list] of lists) source[name] = list.length === 1 ? list[0] : list;
  return { source, omitted: Math.max(0, pairs.length - limit) };
}

function pairsOf(value: object): readonly (readonly [string, unknown])[] | undefined {
  // Traps of a proxy, and methods of a subclass, are the host's code.
  if (types.isProxy(value)) return undefined;
  if (value instanceof URLSearchParams) return [...URLSearchParams.prototype.entries.call(value)];
  return isTagged(value, 'FormData') && value instanceof FormData
    ? [...FormData.prototype.entries.call(value)]
    : undefined;
}

/** Precedes `instanceof`: the first use of the global `FormData` loads Node's fetch, and takes 50 ms. */
function isTagged(value: object, tag: string): boolean {
  let owner: object | null = value;
  while (owner !== null && ownValue(owner, Symbol.toStringTag) !== tag)
    owner = Object.getPrototypeOf(owner) as object | null;
  return owner !== null;
}

/** Returns an own property without running a getter. */
export function ownValue(source: object, key: PropertyKey): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(source, key);
  if (descriptor === undefined) return undefined;
  // `in` would also find keys of a polluted prototype.
  return Object.hasOwn(descriptor, 'value') ? descriptor.value : '[getter]';
}
