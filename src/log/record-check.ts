/** A record becomes plain data that is written as it stands, or an error that hands it back. */
import { type Contract, contract, type Dialect, type JsonObject } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { inputIssues } from '../contract/parse-log-line.ts';
import { sharedTextOf } from '../contract/shared-text.ts';
import { textOfJson } from '../contract/text-of-json.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import { areFitKeys, unfitKey } from './platform.ts';

/** What `write` takes: a record, the deviations that the contract itself shows included. */
export type WritableRecord<D extends Dialect> = Contract<D>['LogRecord']['_zod']['input'];

/** What is written, and what a platform function is given. */
export type WrittenRecord<D extends Dialect> = Contract<D>['LogRecord']['_zod']['output'];

/** Gives a copy that nobody else holds. Throws ERR_INVALID_RECORD. */
export type RecordCheck = (record: unknown) => JsonObject;

type Parsed =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly issues: readonly InputIssue[] };

/** The line of a record that needs no mending, or nothing: then a {@link RecordCheck} judges it. */
export type RecordText = (record: unknown) => string | undefined;

/** Checks and serialises in one pass; never throws. */
export function recordText(dialect: Dialect): RecordText {
  const textOf = unlessItThrows(sharedTextOf(contract({ dialect }).LogRecord));
  makeAhead(textOf);
  return textOf;
}

/** The same of a record that is not checked but for being a JSON object. */
export function uncheckedText(): RecordText {
  const textOf = textOfJson({ onlyScalars: false, areFit: areFitKeys });
  return unlessItThrows((record) =>
    Array.isArray(record) || typeof record !== 'object' || record === null
      ? undefined
      : textOf(record),
  );
}

/** A getter or a proxy within the record may throw: the check tells it. */
const unlessItThrows =
  (textOf: RecordText): RecordText =>
  (record) => {
    try {
      return textOf(record);
    } catch {
      return undefined;
    }
  };

/** The whole contract, or its JSON rules alone. */
export function recordCheck(dialect: Dialect, validate: boolean): RecordCheck {
  const schema = contract({ dialect }).LogRecord;
  const parse = (record: unknown): Parsed => {
    const result = schema.safeParse(record);
    if (result.success) return result;
    return { success: false, issues: inputIssues(result.error) };
  };
  if (validate) makeAhead(parse);
  return (record) => check(validate ? parse : parseJson, record);
}

/**
 * Schemas are built at their first parse, and the code that writes records is made for them when it is
 * first asked. That is now: the first report is not to wait for it, and an attack that has polluted a
 * prototype by then would make it fail.
 */
function makeAhead(use: (record: unknown) => unknown): void {
  try {
    use(undefined);
  } catch {
    // Polluted already: the first record that is written tries again, and tells.
  }
}

function check(parse: (record: unknown) => Parsed, record: unknown): JsonObject {
  let parsed: Parsed;
  try {
    parsed = parse(record);
  } catch (cause) {
    // A getter or a proxy within the record.
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
