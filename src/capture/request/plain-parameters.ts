/** The parameters of a request as the contract's `request.parameters` (D9). */
import type { Dialect, JsonObject, JsonValue } from '../../contract/index.ts';
import { check, integer, usable } from '../../option-rules.ts';
import { createRedactor, type Redactor } from '../redaction/redactor.ts';
import { cutText } from './clean-text.ts';
import { type CopyLimits, PlainCopier } from './plain-copy.ts';

/** Where a parameter stood. What a parser made of it: objects, arrays, text, URLSearchParams, FormData. */
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

/** Plain JSON; a source that is missing or empty has no key. */
export interface RequestParameters {
  query?: JsonObject;
  form?: JsonObject | JsonValue[];
  json?: JsonObject | JsonValue[];
  other?: JsonObject;
}

export interface ParameterOptions {
  /** Objects and arrays within each other. 1 to 64; default 8. */
  readonly maxDepth?: number;
  /** Keys of an object, elements of an array. 1 to 10,000; default 256. */
  readonly maxKeys?: number;
  /** UTF-16 code units of a string. 1 to 1,000,000; default 4096. */
  readonly maxStringLength?: number;
  /** All parameters of a request together, as JSON in UTF-8. 1024 to 1,048,576; default 32,768. */
  readonly maxBytes?: number;
  /** Default `'strict'`, where `json` may not be an array (D0). */
  readonly dialect?: Dialect;
  /** What is redacted. Default: `createRedactor()`. */
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

/** In the order in which they share the room: a request line is short, a body may take the rest. */
const SOURCES = ['query', 'form', 'json', 'other'] as const;
type Source = (typeof SOURCES)[number];

/** For the braces, and the four names with their quotes, colons and commas, `other` twice filled. */
const FRAME_BYTES = 128;

/** A percent-encoded byte takes three characters: behind this nothing of a text would fit. */
const ENCODED_LENGTH = 4;

/**
 * Makes the function that copies parameters into plain JSON: cut to the limits, with secrets
 * redacted, and control characters and lone surrogates replaced. It never throws, changes nothing of
 * what it reads, and runs no getter and no `toJSON`.
 *
 * What was left out is marked where it was: text ends in `[truncated: 12 characters]`, an array in
 * the element `"[truncated: 12 elements]"`; an object has the key `"[truncated]"` with `"12 keys"`, and
 * what is too deep is `"[truncated: object]"` or `"[truncated: array]"`. What has no place under its
 * name (a JSON body that is an array, in the strict dialect; text) stands in `other` under that name.
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
    const copier = new PlainCopier(limits, redactor);
    const parameters = Object.create(null) as RequestParameters;
    const strays: [Source, JsonValue][] = [];
    for (const name of SOURCES) {
      const given = Object.hasOwn(sources, name) ? sources[name] : undefined;
      const copied = copyOf(given, name, { copier, limits });
      if (isEmpty(copied)) continue;
      if (hasPlace(name, copied, dialect)) Object.assign(parameters, { [name]: copied });
      else strays.push([name, copied]);
    }
    return withStrays(parameters, strays);
  };
}

interface Copying {
  readonly copier: PlainCopier;
  readonly limits: CopyLimits;
}

function copyOf(value: unknown, name: Source, { copier, limits }: Copying): JsonValue | undefined {
  if (value === undefined || value === null) return undefined;
  const isEncoded = typeof value === 'string' && (name === 'query' || name === 'form');
  if (!isEncoded) return copier.copy(value);
  const text = cutText(value, limits.maxBytes * ENCODED_LENGTH);
  return copier.copy(new URLSearchParams(text));
}

/** A parser gives an empty object where there was nothing to parse. */
function isEmpty(value: JsonValue | undefined): value is undefined {
  if (typeof value !== 'object' || value === null) return value === undefined || value === '';
  return Object.keys(value).length === 0;
}

function hasPlace(name: Source, value: JsonValue, dialect: Dialect): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value)) return true;
  return name === 'form' || (name === 'json' && dialect === 'open');
}

function withStrays(
  parameters: RequestParameters,
  strays: readonly (readonly [Source, JsonValue])[],
): RequestParameters {
  if (strays.length === 0) return parameters;
  const other = parameters.other ?? (Object.create(null) as JsonObject);
  for (const [name, value] of strays) {
    if (!Object.hasOwn(other, name)) other[name] = value;
  }
  return { ...parameters, other };
}
