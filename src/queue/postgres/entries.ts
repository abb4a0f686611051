/** Entries as the arrays in which `enqueue` takes them. */
import type { QueueEntry } from '../queue.ts';
import { toText } from './words.ts';

/** Of the arguments of `enqueue`, from `contents` on; `ids` stands before. */
export const ENTRY_TYPES = [
  'bytea',
  'text[]',
  'text[]',
  'smallint[]',
  'integer[]',
  'integer[]',
  'integer[]',
  'integer[]',
  'bigint[]',
] as const;

export interface EntryArrays {
  readonly ids: readonly string[];
  /** As {@link ENTRY_TYPES}. */
  readonly values: readonly unknown[];
}

export function entryArrays(entries: readonly QueueEntry[]): EntryArrays {
  const owners = entries.map(({ applicationId }) => toText(applicationId));
  let end = 0;
  const starts = entries.map(({ stored }) => {
    const start = end;
    end += stored.bytes.length;
    return start;
  });
  const of = <T>(value: (entry: QueueEntry) => T): T[] => entries.map(value);
  return {
    ids: [...new Set(owners)],
    values: [
      Buffer.concat(
        of(({ stored }) => stored.bytes),
        end,
      ),
      owners,
      of(({ stored }) => toText(stored.messageId)),
      of(({ stored }) => stored.format),
      starts,
      of(({ stored }) => stored.bytes.length),
      of(({ stored }) => stored.dateAt),
      of(({ stored }) => stored.countAt),
      of(({ sizeBytes }) => sizeBytes),
    ],
  };
}
