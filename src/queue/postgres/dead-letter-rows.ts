import type { DeadLetter, DeadLetterFilter, DeadLetterPage, DeadReason, Format } from '../queue.ts';
import type { Row } from './database.ts';
import { fromJsonText, fromText, toText } from './words.ts';

export interface PageRequest extends DeadLetterFilter {
  readonly limit: number;
  readonly after?: string;
}

export const FILTER_TYPES = ['text', 'bigint[]'] as const;

const LETTER_ID = /^\d{1,18}$/;

/** As {@link FILTER_TYPES}. What no letter is called by is left out. */
export const filterValues = ({ applicationId, ids }: DeadLetterFilter): unknown[] => [
  applicationId === undefined ? null : toText(applicationId),
  ids === undefined ? null : ids.filter((id) => LETTER_ID.test(id)),
];

export const behind = (after: string | undefined): string =>
  after !== undefined && LETTER_ID.test(after) ? after : '0';

/** Of one more row than was asked for, which tells whether there is another page. */
export function deadLetterPage(rows: readonly Row[], limit: number): DeadLetterPage {
  const items = rows.slice(0, limit).map(letterOf);
  const next = rows.length > limit ? items.at(-1)?.id : undefined;
  return next === undefined ? { items } : { items, next };
}

function letterOf(row: Row): DeadLetter {
  return {
    id: String(row['id']),
    applicationId: fromText(String(row['application'])),
    stored: {
      messageId: fromText(String(row['message_id'])),
      format: Number(row['format']) as Format,
      bytes: row['content'] as Buffer,
      dateAt: Number(row['date_at']),
      countAt: Number(row['count_at']),
    },
    sizeBytes: Number(row['size_bytes']),
    sends: Number(row['sends']),
    reason: row['reason'] as DeadReason,
    lastAttempt: fromJsonText(String(row['last_attempt'])),
    acceptedAt: Number(row['accepted_at']),
    diedAt: Number(row['died_at']),
  };
}
