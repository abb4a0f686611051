/** Copies the parameters of a request for the contract's `request.parameters`. */
import type { JsonObject, JsonValue } from '../../contract/index.ts';
import { integer, type OptionsOf, option, readOptions } from '../../option-rules.ts';
import { createRedactor } from '../redaction/redactor.ts';
import { BoundedJsonCopier } from './bounded-json-copy.ts';
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
  json?: JsonObject;
  other?: JsonObject;
}

const OPTIONS = {
  /** Maximum nesting of objects and arrays. 1 to 64; default 8. */
  maxDepth: option<number>(integer(1, 64), 8),
  /** Maximum keys of an object, or elements of an array. 1 to 10,000; default 256. */
  maxKeys: option<number>(integer(1, 10_000), 256),
  /** Maximum length of a string, in UTF-16 code units. 1 to 1,000,000; default 4096. */
  maxStringLength: option<number>(integer(1, 1_000_000), 4096),
  /** Maximum size of all parameters, in bytes of JSON in UTF-8. 1024 to 1,048,576; default 32,768. */
  maxBytes: option<number>(integer(1024, 1_048_576), 32_768),
} as const;

export interface ParameterOptions extends OptionsOf<typeof OPTIONS> {}

/** In the order in which they use the budget: a request line is short, a body may take the rest. */
const SOURCES = ['query', 'form', 'json', 'other'] as const;
type Source = (typeof SOURCES)[number];

/** For the braces, and the four names with quotes, colons and commas. */
const FRAME_BYTES = 128;

/** Characters of encoded text that are read for each byte of the limit. A percent-encoded byte takes three. */
const ENCODED_CHARS_PER_BYTE = 4;

/**
 * Returns a function that copies parameters into plain JSON: cut to the limits, with secrets redacted, and
 * control characters and lone surrogates replaced. It never throws, never changes the original, and runs
 * no getter and no `toJSON`.
 *
 * Marks show what was left out: text ends with `[truncated: 12 characters]`, an array with the element
 * `"[truncated: 12 elements]"`; an object has the key `"[truncated]"` with `"12 keys"`, and deeper values
 * are `"[truncated: object]"` or `"[truncated: array]"`. A value that the contract does not allow under
 * its name (text, or an array as JSON body) is in `other` under that name.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function parameterCopier(
  options: ParameterOptions = {},
  redactor = createRedactor(),
): (sources: ParameterSources) => RequestParameters {
  const subject = { name: 'parameters', path: ['parameters'] };
  const { maxBytes, ...others } = readOptions(options, OPTIONS, subject);
  const limits = { ...others, maxBytes: maxBytes - FRAME_BYTES };
  return (sources) => {
    const copier = new BoundedJsonCopier(limits, redactor);
    const parameters = Object.create(null) as Partial<Record<Source, JsonValue>>;
    const misplaced = Object.create(null) as JsonObject;
    for (const name of SOURCES) {
      const given = Object.hasOwn(sources, name) ? sources[name] : undefined;
      const copied = copier.copy(decoded(name, given, limits.maxBytes));
      if (copied === undefined || isEmpty(copied)) continue;
      (isAllowed(name, copied) ? parameters : misplaced)[name] = copied;
    }
    if (Object.keys(misplaced).length > 0) {
      parameters.other = { ...misplaced, ...(parameters.other as JsonObject | undefined) };
    }
    return parameters as RequestParameters;
  };
}

function decoded(name: Source, value: unknown, maxBytes: number): unknown {
  const isEncoded = typeof value === 'string' && (name === 'query' || name === 'form');
  return isEncoded ? new URLSearchParams(cutText(value, maxBytes * ENCODED_CHARS_PER_BYTE)) : value;
}

/** Parsers return an empty object if there is nothing to parse. */
const isEmpty = (value: JsonValue): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

function isAllowed(name: Source, value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return name === 'form' || !Array.isArray(value);
}
