/** Validates and serialises records: first in the strict dialect, then in the open one if that is chosen. */
import { type Contract, contract, type Dialect, type JsonObject } from '../contract/index.ts';
import type { Fragment } from '../contract/json-fragments.ts';
import { inputIssues } from '../contract/parse-log-line.ts';
import {
  type RecordWithoutContext,
  serializeChecked,
  serializeLogRecord,
  serializeWithContextJson,
} from '../contract/serialize.ts';
import { SecurityEventError } from '../errors.ts';

/** A record as `write` accepts it, including the variants in the contract's own examples. */
export type WritableRecord<D extends Dialect> = Contract<D>['LogRecord']['_zod']['input'];

/** A record as it is written and passed to a platform function. */
export type WrittenRecord<D extends Dialect> = Contract<D>['LogRecord']['_zod']['output'];

/** The JSON of a context in each dialect; undefined if the record needs full validation. */
export type ContextJson = Readonly<Record<Dialect, Fragment>>;

export interface ValidRecord {
  readonly record: JsonObject;
  /** Whether only the open dialect allows it. */
  readonly isOutsideStrict: boolean;
}

export interface SerializedRecord extends ValidRecord {
  readonly json: string;
}

export class RecordValidator {
  readonly #dialects: readonly Dialect[];

  /** Parses once, to build the schemas before the first event and before a prototype is polluted. */
  constructor(dialect: Dialect) {
    this.#dialects = dialect === 'open' ? ['strict', 'open'] : ['strict'];
    try {
      this.#parse(undefined);
    } catch {
      // A prototype is polluted already: the first record that needs the schemas builds them.
    }
  }

  /** Returns a validated copy. @throws SecurityEventError `ERR_INVALID_RECORD` */
  validate(input: unknown): ValidRecord {
    const { data, issues = [], isOutsideStrict } = this.#parse(input);
    if (data !== undefined) return { record: data as JsonObject, isOutsideStrict };
    throw new SecurityEventError('ERR_INVALID_RECORD', { issues, input });
  }

  /**
   * Returns the record with its JSON. `contextJson` is the JSON of its context, if known. The record must then
   * be a copy that the reporter built. Throws like `validate`, and what a getter throws.
   */
  serialize(record: object, contextJson?: ContextJson): SerializedRecord {
    for (const dialect of this.#dialects) {
      const context = contextJson?.[dialect];
      const json =
        contextJson === undefined
          ? serializeLogRecord(record, dialect)
          : context && serializeWithContextJson(context, record as RecordWithoutContext, dialect);
      if (json !== undefined) {
        return { json, record: record as JsonObject, isOutsideStrict: dialect === 'open' };
      }
    }
    const valid = this.validate(record);
    return { ...valid, json: serializeChecked(valid.record) };
  }

  /** Tries each dialect. Returns the issues of the one that the caller chose, which is the last. */
  #parse(input: unknown) {
    let issues: ReturnType<typeof inputIssues> | undefined;
    for (const dialect of this.#dialects) {
      const result = contract({ dialect }).LogRecord.safeParse(input);
      if (result.success) {
        return { data: result.data as unknown, isOutsideStrict: dialect === 'open' };
      }
      issues = inputIssues(result.error);
    }
    return { data: undefined, issues, isOutsideStrict: false };
  }
}
