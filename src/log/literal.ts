/**
 * What keeps pino and JSON.stringify from writing anything but what was checked, whatever stands on
 * `Object.prototype`: prototype pollution is one of the attacks that records tell of.
 */
import type { JsonObject, JsonValue } from '../contract/index.ts';

/** `line` in a form that is written as it stands. */
export function literal(line: JsonObject): object {
  const object = isPolluted() ? withoutPrototypes(line) : line;
  const odd = Object.entries(object).filter(
    ([, value]) => typeof value === 'string' && LONE_SURROGATE.test(value),
  );
  if (odd.length === 0) return object;
  // pino gives anything but a string to JSON.stringify, which escapes lone surrogates.
  const escaped = odd.map(([key, text]) => [key, { toJSON: () => text }]);
  return { __proto__: null, ...object, ...Object.fromEntries(escaped) };
}

/** Strings that pino would hand to UTF-8 unescaped, where a lone surrogate becomes U+FFFD. */
const LONE_SURROGATE = /\p{Cs}/u;

/** Of all arrays. Read by each name, not by a list of them: a key that changes is ten times as slow to look up. */
const ARRAYS: object = Array.prototype;

/**
 * JSON.stringify asks for `toJSON`; by the others pino tells requests, responses and errors. Arrays
 * inherit from both prototypes that count. An object without a prototype costs time.
 */
export const isPolluted = (): boolean =>
  'toJSON' in ARRAYS ||
  'method' in ARRAYS ||
  'headers' in ARRAYS ||
  'socket' in ARRAYS ||
  'setHeader' in ARRAYS ||
  '' in ARRAYS;

function withoutPrototypes<T extends JsonValue>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  const bare: object = Array.isArray(value)
    ? value.map(withoutPrototypes)
    : Object.fromEntries(
        Object.entries(value).map(([key, element]) => [key, withoutPrototypes(element)]),
      );
  return Object.setPrototypeOf(bare, null) as T;
}

/** Options that pino gives no default of its own and would inherit. */
export const UNSET_OPTIONS: object = {
  crlf: false,
  mixin: undefined,
  mixinMergeStrategy: undefined,
  msgPrefix: undefined,
  nestedKey: undefined,
  transport: undefined,
};

/**
 * pino puts a comma before every key, since the level comes first; with no level the line would
 * begin `{,"`. This is its documented hook for the finished line, so whatever else reads the
 * logger's stream (OpenTelemetry does) reads valid JSON as well. A slice of the string is no copy.
 */
export const withoutFirstComma = (line: string): string =>
  line.startsWith('{,') ? `{${line.slice(2)}` : line;

/** What pino makes of an object without keys, and nothing of its own. */
const EMPTY_LINE = '{}\n';

/**
 * The finished line where `text` is the record's JSON and `made` what pino made of no record at all:
 * nothing, unless a tracer gave every pino keys of its own. Those stand beside the record, each once.
 */
export function lineAround(text: string, made: string): string {
  if (made === EMPTY_LINE) return `${text}\n`;
  const added = JSON.parse(withoutFirstComma(made)) as object;
  return `${JSON.stringify({ ...added, ...(JSON.parse(text) as object) })}\n`;
}
