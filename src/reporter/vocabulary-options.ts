/** Rows that override the vocabulary of messages, validated when the reporter is made. */
import {
  check,
  copyOptions,
  invalidOption,
  NON_EMPTY_TEXT,
  type Rules,
  usable,
} from '../option-rules.ts';
import { definedProperties } from '../own-properties.ts';
import type {
  EventTerms,
  EventVocabulary,
  IncidentTerms,
  IncidentVocabulary,
} from '../projection/vocabulary-map.ts';

const EVENT_RULES: Rules<keyof EventTerms> = {
  category: NON_EMPTY_TEXT,
  kind: NON_EMPTY_TEXT,
  title: NON_EMPTY_TEXT,
};

/** Message types with other shapes than incidents. */
const OTHER_TYPES: readonly unknown[] = ['security_event', 'security_response', 'test'];

const INCIDENT_RULES: Rules<keyof IncidentTerms> = {
  message_type: usable(
    'the message type of an incident',
    (value) => NON_EMPTY_TEXT.isUsable(value) && !OTHER_TYPES.includes(value),
  ),
  pulse_genre: NON_EMPTY_TEXT,
};

/**
 * Copies the rows for rulesets and protections.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the table, the row and its key.
 */
export function readEventVocabulary(table: unknown): EventVocabulary {
  return rowsOf<Partial<EventTerms>>(table, 'eventVocabulary', (row, path) =>
    definedProperties(check<EventTerms>(row, EVENT_RULES, { name: path.join('.'), path })),
  );
}

/** Copies the rows for incident types. Throws like {@link readEventVocabulary}. */
export function readIncidentVocabulary(table: unknown): IncidentVocabulary {
  return rowsOf<IncidentTerms | null>(table, 'incidentVocabulary', (row, path) => {
    if (row === null) return null;
    const subject = { name: path.join('.'), path };
    const { message_type, ...rest } = check<IncidentTerms>(row, INCIDENT_RULES, subject);
    if (message_type !== undefined) return { message_type, ...definedProperties(rest) };
    throw invalidOption(`expected ${subject.name}.message_type`, [...path, 'message_type']);
  });
}

function rowsOf<Row>(
  table: unknown,
  option: string,
  read: (row: unknown, path: readonly string[]) => Row,
): Readonly<Record<string, Row>> {
  const copy = copyOptions(table, { name: option, path: [option] });
  const rows = Object.entries(copy).filter(([, row]) => row !== undefined);
  return Object.fromEntries(rows.map(([key, row]) => [key, read(row, [option, key])]));
}
