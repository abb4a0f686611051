/** Validates and serialises records: in the strict dialect if they follow it, else in the open one. */
import { contract, type Dialect, type JsonObject } from '../contract/index.ts';
import { inputIssues } from '../contract/parse-log-line.ts';
import {
  type EventName,
  serializeAroundContext,
  serializeChecked,
  serializeLogRecord,
} from '../contract/serialize.ts';
import { SecurityEventError } from '../errors.ts';
import type { RecordDraft, SharedContext } from './build-record.ts';

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

  /** Builds the schemas now: the first event need not wait, and prototypes are not polluted yet. */
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

  /** Returns the record with its JSON. @throws SecurityEventError `ERR_INVALID_RECORD` */
  serialize(draft: RecordDraft, shared: SharedContext | undefined): SerializedRecord {
    for (const dialect of this.#dialects) {
      const json = serializeDraft(draft, shared, dialect);
      if (json !== undefined) {
        return { json, record: draft, isOutsideStrict: dialect === 'open' };
      }
    }
    const valid = this.validate(draft);
    return { ...valid, json: serializeChecked(valid.record) };
  }

  /** The issues are those of the last dialect, the reporter's own. */
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

function serializeDraft(
  draft: RecordDraft,
  shared: SharedContext | undefined,
  dialect: Dialect,
): string | undefined {
  if (shared === undefined) return serializeLogRecord(draft, dialect);
  const contextText = shared.text[dialect];
  if (contextText === undefined) return undefined;
  const { detected_at, event_name, payload } = draft;
  const around = { detected_at, event_name: event_name as EventName, payload };
  return serializeAroundContext(contextText, around, dialect);
}
