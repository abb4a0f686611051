/** Channel A of a reporter: the check of its dialect, and a writer of its own or the caller's. */
import { contract, type Dialect, type JsonObject } from '../contract/index.ts';
import { inputIssues } from '../contract/parse-log-line.ts';
import { SecurityEventError } from '../errors.ts';
import type { LogWriter } from '../log/writer.ts';

export interface CheckedRecord {
  readonly record: JsonObject;
  /** It follows the open dialect alone (D14). */
  readonly isOutsideStrict: boolean;
}

/** Gives a copy that nobody else holds. @throws SecurityEventError `ERR_INVALID_RECORD` */
export type CheckRecord = (record: unknown) => CheckedRecord;

/**
 * Most records follow the strict dialect, so it is tried first: those cost one check. The error is
 * that of the reporter's own dialect.
 */
export function recordChecker(dialect: Dialect): CheckRecord {
  const strict = contract({ dialect: 'strict' }).LogRecord;
  const open = contract({ dialect: 'open' }).LogRecord;
  buildAhead(dialect === 'open' ? [strict, open] : [strict]);
  return (input) => {
    const first = strict.safeParse(input);
    if (first.success)
      return { record: first.data as unknown as JsonObject, isOutsideStrict: false };
    const second = dialect === 'strict' ? first : open.safeParse(input);
    if (second.success) {
      return { record: second.data as unknown as JsonObject, isOutsideStrict: true };
    }
    throw new SecurityEventError('ERR_INVALID_RECORD', {
      issues: inputIssues(second.error),
      input,
    });
  };
}

/**
 * Schemas are built when they are first used. That is now: the first report is not to wait for it, nor
 * to fail while an attack has polluted a prototype.
 */
function buildAhead(schemas: readonly { safeParse(input: unknown): unknown }[]): void {
  try {
    for (const schema of schemas) schema.safeParse(undefined);
  } catch {
    // Polluted already: the first report tries again, and tells.
  }
}

/** What a reporter needs of a writer; the caller's own does. */
export type Writer = Pick<LogWriter<'open'>, 'write' | 'flush' | 'close'>;

/** `isOwned`: made by the reporter, which then closes it; the caller's own stays open. */
export interface HeldWriter {
  readonly writer: Writer;
  readonly isOwned: boolean;
  /**
   * Takes a record that was checked, as its JSON. Of the reporter's own writer alone: whoever lends one
   * may have changed what its `write` does, to redact records for one, and is to see each of them.
   */
  readonly writeText?: WriteText;
}

export type WriteText = (text: string) => void;
