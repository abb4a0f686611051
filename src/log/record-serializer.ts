/** Serialises records. Errors carry the record as `input`. */
import { type Contract, contract, type Dialect, type JsonObject } from '../contract/index.ts';
import { freeFormObject, quoteInLine } from '../contract/json-fragments.ts';
import { copyJson } from '../contract/json-value.ts';
import { inputIssues } from '../contract/parse-log-line.ts';
import { serializeChecked, serializeLogRecord } from '../contract/serialize.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { unfitKey } from './platform.ts';

/** A record as `write` accepts it, including the variants in the contract's own examples. */
export type WritableRecord<D extends Dialect> = Contract<D>['LogRecord']['_zod']['input'];

/** A record as it is written and passed to a platform function. */
export type WrittenRecord<D extends Dialect> = Contract<D>['LogRecord']['_zod']['output'];

export interface RecordSerializer {
  /** Returns the record's JSON. Throws ERR_INVALID_RECORD. */
  readonly serialize: (record: unknown) => string;
  /** Returns a validated copy of the record. Throws ERR_INVALID_RECORD. */
  readonly check: (record: unknown) => JsonObject;
}

/** Makes a serializer that validates against the contract, or that only requires a JSON object. */
export function recordSerializer(dialect: Dialect, validate: boolean): RecordSerializer {
  const parse = validate ? parseContract(dialect) : parseJson;
  const check = (record: unknown): JsonObject => checked(parse, record);
  const serializeValid = validate
    ? (record: unknown) => serializeLogRecord(record, dialect)
    : serializeJson;
  return {
    check,
    serialize: (record) =>
      unlessItThrows(serializeValid, record) ?? serializeChecked(check(record)),
  };
}

type Parsed =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly issues: readonly InputIssue[] };

function parseContract(dialect: Dialect): (record: unknown) => Parsed {
  const schema = contract({ dialect }).LogRecord;
  const parse = (record: unknown): Parsed => {
    const result = schema.safeParse(record);
    if (result.success) return result;
    return { success: false, issues: inputIssues(result.error) };
  };
  try {
    // Builds the schema now: the first record need not wait, and prototypes are not polluted yet.
    parse(undefined);
  } catch {
    // A prototype is polluted already: the first record that needs the schema builds it.
  }
  return parse;
}

/** Returns the JSON of a record that is not validated, or undefined if it needs `parseJson`. */
function serializeJson(record: unknown): string | undefined {
  const isFit = typeof record === 'object' && record !== null && unfitKey(record) === undefined;
  return isFit ? freeFormObject(record, quoteInLine) : undefined;
}

/** A getter or a proxy in the record may throw; then `check` reports it. */
function unlessItThrows(
  serialize: (record: unknown) => string | undefined,
  record: unknown,
): string | undefined {
  try {
    return serialize(record);
  } catch {
    return undefined;
  }
}

function checked(parse: (record: unknown) => Parsed, record: unknown): JsonObject {
  let parsed: Parsed;
  try {
    parsed = parse(record);
  } catch (cause) {
    const detail = 'reading the record threw';
    throw new SecurityEventError('ERR_INVALID_RECORD', { detail, cause, input: record });
  }
  if (parsed.success) return parsed.data as JsonObject;
  throw new SecurityEventError('ERR_INVALID_RECORD', { issues: parsed.issues, input: record });
}

function parseJson(record: unknown): Parsed {
  const copy = copyJson(record);
  if (!copy.ok) return fault(copy.message, copy.path);
  const { value } = copy;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fault('expected an object', []);
  }
  const unfit = unfitKey(value);
  if (unfit !== undefined) return fault('a key that cannot stand in a line', [unfit]);
  return { success: true, data: value };
}

const fault = (message: string, path: readonly PropertyKey[]): Parsed => ({
  success: false,
  issues: [{ message, path }],
});
