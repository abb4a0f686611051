/** What the calls of a sender are given beside messages: checked, as everything that a caller gives. */
import { check, integer, listOf, MAX_TIMER_MS, type Rules, SIGNAL, TEXT } from '../option-rules.ts';
import type { DeadLetterQuery, DeadLetterSelection } from './sender.ts';

export interface FlushOptions {
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs?: number | undefined;
}

export interface CloseOptions {
  readonly deadlineMs?: number;
}

const MAX_PAGE = 1000;

const DEADLINE = integer(0, MAX_TIMER_MS);

export const FLUSH_RULES: Rules<keyof FlushOptions> = { signal: SIGNAL, deadlineMs: DEADLINE };
export const CLOSE_RULES: Rules<keyof CloseOptions> = { deadlineMs: DEADLINE };
export const SELECTION_RULES: Rules<keyof DeadLetterSelection> = {
  applicationId: TEXT,
  ids: listOf('strings', TEXT.isUsable),
};
export const QUERY_RULES: Rules<keyof DeadLetterQuery> = {
  ...SELECTION_RULES,
  limit: integer(1, MAX_PAGE),
  after: TEXT,
};

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function readCall<T>(given: unknown, rules: Rules<keyof T & string>): Partial<T> {
  return check<T>(given, rules, { name: 'the options', path: [] });
}
