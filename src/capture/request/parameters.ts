/** Copies the parameters of a request for the contract's `request.parameters`. */
import type { Dialect, JsonObject, JsonValue } from '../../contract/index.ts';
import { check, integer, usable } from '../../option-rules.ts';
import { createRedactor, type Redactor } from '../redaction/redactor.ts';
import { BoundedJsonCopier, type CopyLimits } from './bounded-json-copy.ts';
import { cutText } from './clean-text.ts';

/** Parsed parameters by origin: objects, arrays, text, URLSearchParams or FormData. */
export interface ParameterSources {
  /** The query: parsed, or its text with or without the `?`. */
  readonly query?: unknown;
  /** The body of a form: parsed, or its text. */
  readonly form?: unknown;
  /** A parsed JSON body. */
  readonly json?: unknown;
  /** Anything else, such as route parameters, by its name. */
  readonly other?: unknown;
}

/** Plain JSON; missing and empty sources have no key. */
export interface RequestParameters {
  query?: JsonObject;
  form?: JsonObject | JsonValue[];
  json?: JsonObject | JsonValue[];
  other?: JsonObject;
}

export interface ParameterOptions {
  /** Maximum nesting of objects and arrays. 1 to 64; default 8. */
  readonly maxDepth?: number;
  /** Maximum keys of an object, or elements of an array. 1 to 10,000; default 256. */
  readonly maxKeys?: number;
  /** Maximum length of a string, in UTF-16 code units. 1 to 1,000,000; default 4096. */
  readonly maxStringLength?: number;
  /** Maximum size of all parameters, in bytes of JSON in UTF-8. 1024 to 1,048,576; default 32,768. */
  readonly maxBytes?: number;
  /** Default `'strict'`, in which `json` must not be an array. */
  readonly dialect?: Dialect;
  /** Default: `createRedactor()`. */
  readonly redactor?: Redactor;
}

const RULES = {
  maxDepth: integer(1, 64),
  maxKeys: integer(1, 10_000),
  maxStringLength: integer(1, 1_000_000),
  maxBytes: integer(1024, 1_048_576),
  dialect: usable('"strict" or "open"', (value) => value === 'strict' || value === 'open'),
  redactor: usable('a redactor', (value) => typeof value === 'object' && value !== null),
};

/** In the order in which they use the budget: a request line is short, a body may take the rest. */
const SOURCES = ['query', 'form', 'json', 'other'] as const;
type Source = (typeof SOURCES)[number];

/** For the braces, and the four names with quotes, colons and commas. */
const FRAME_BYTES = 128;

/** A percent-encoded byte takes three characters: text after this factor could not fit. */
const ENCODED_LENGTH = 4;

/**
 * Returns a function that copies parameters into plain JSON: cut to the limits, with secrets redacted, and
 * control characters and lone surrogates replaced. It never throws, never changes the original, and runs
 * no getter and no `toJSON`.
 *
 * Marks show what was left out: text ends with `[truncated: 12 characters]`, an array with the element
 * `"[truncated: 12 elements]"`; an object has the key `"[truncated]"` with `"12 keys"`, and deeper values
 * are `"[truncated: object]"` or `"[truncated: array]"`. A value that the contract does not allow under
 * its name (text, or an array as JSON body in the strict dialect) is in `other` under that name.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function parameterCopier(
  options: ParameterOptions = {},
): (sources: ParameterSources) => RequestParameters {
  const checked = check<ParameterOptions>(options, RULES, {
    name: 'parameters',
    path: ['parameters'],
  });
  const { maxDepth = 8, maxKeys = 256, maxStringLength = 4096, maxBytes = 32_768 } = checked;
  const { dialect = 'strict', redactor = createRedactor() } = checked;
  const limits = { maxDepth, maxKeys, maxStringLength, maxBytes: maxBytes - FRAME_BYTES };
  return (sources) => {
    const copier = new BoundedJsonCopier(limits, redactor);
    const parameters = Object.create(null) as RequestParameters;
    const misplaced: [Source, JsonValue][] = [];
    for (const name of SOURCES) {
      const given = Object.hasOwn(sources, name) ? sources[name] : undefined;
      const copied = copyOf(given, name, { copier, limits });
      if (isEmpty(copied)) continue;
      if (isAllowed(name, copied, dialect)) Object.assign(parameters, { [name]: copied });
      else misplaced.push([name, copied]);
    }
    return withOther(parameters, misplaced);
  };
}

interface Copying {
  readonly copier: BoundedJsonCopier;
  readonly limits: CopyLimits;
}

function copyOf(value: unknown, name: Source, { copier, limits }: Copying): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  const isEncoded = typeof value === 'string' && (name === 'query' || name === 'form');
  if (!isEncoded) return copier.copy(value);
  const text = cutText(value, limits.maxBytes * ENCODED_LENGTH);
  return copier.copy(new URLSearchParams(text));
}

/** Parsers return an empty object if there is nothing to parse. */
function isEmpty(value: JsonValue | undefined): value is undefined {
  if (typeof value !== 'object' || value === null) return value === undefined || value === '';
  return Object.keys(value).length === 0;
}

function isAllowed(name: Source, value: JsonValue, dialect: Dialect): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value)) return true;
  return name === 'form' || (name === 'json' && dialect === 'open');
}

function withOther(
  parameters: RequestParameters,
  misplaced: readonly (readonly [Source, JsonValue])[],
): RequestParameters {
  if (misplaced.length === 0) return parameters;
  const other = parameters.other ?? (Object.create(null) as JsonObject);
  for (const [name, value] of misplaced) {
    if (!Object.hasOwn(other, name)) other[name] = value;
  }
  return { ...parameters, other };
}
