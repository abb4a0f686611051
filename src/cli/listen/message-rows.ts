/** What of a received message is worth a line, by one table for both formats and all types. */
import { contract } from '../../contract/index.ts';
import type { ReceivedMessage } from '../../receiver/index.ts';
import { printable } from '../printable.ts';
import { counted, durationText } from '../quantities.ts';

export type MessageRow = readonly [label: string, text: string];

/** Where a value may be found: its path within the message; the first that is there counts. */
type Place = string | readonly string[];

interface FieldRow {
  readonly label: string;
  readonly places: readonly Place[];
  /** Between several values. */
  readonly join: string;
}

/** A row is left out where the message has none of its values: what is not there needs no line. */
const FIELDS: readonly FieldRow[] = [
  {
    label: 'application',
    places: [
      ['application_id', 'application.id'],
      ['application_name', 'application.name'],
      ['environment', 'application.environment'],
    ],
    join: ', ',
  },
  { label: 'event', places: ['event_category', 'event_kind'], join: ' / ' },
  { label: 'event id', places: ['event_id'], join: '' },
  { label: 'incident', places: [['incident_thread'], 'incident_status'], join: ', ' },
  { label: 'genre', places: ['pulse_genre'], join: '' },
  { label: 'playbook', places: ['playbook.name', 'playbook.id'], join: ', ' },
  { label: 'occurred', places: ['date_occurred'], join: '' },
  { label: 'started', places: ['date_started'], join: '' },
  { label: 'last seen', places: ['date_last_updated'], join: '' },
  { label: 'what', places: [['humanized_description', 'humanized_title']], join: '' },
  { label: 'url', places: [['event_url', 'url']], join: '' },
];

interface ListRow {
  readonly label: string;
  readonly place: string;
  /** The key of its elements that is shown; without one they are counted. */
  readonly key?: string;
}

/** Users are counted and not shown: they are people, and somebody may look over a shoulder. */
const LISTS: readonly ListRow[] = [
  { label: 'addresses', place: 'ips', key: 'address' },
  { label: 'addresses', place: 'new_related_ips', key: 'address' },
  { label: 'addresses', place: 'properties.ips', key: 'ip_cidr' },
  { label: 'users', place: 'properties.user_identifiers' },
  { label: 'accounts', place: 'new_compromised_accounts' },
];

const MAX_LISTED = 5;
const MAX_CHARACTERS = 300;

function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function shown(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || value === '') return undefined;
  const cut = value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value;
  return printable(cut);
}

function textAt(root: unknown, place: Place): string | undefined {
  const paths = typeof place === 'string' ? [place] : place;
  return paths.map((path) => shown(valueAt(root, path))).find((text) => text !== undefined);
}

function fieldRow(root: unknown, { label, places, join }: FieldRow): MessageRow[] {
  const texts = places.map((place) => textAt(root, place)).filter((text) => text !== undefined);
  return texts.length === 0 ? [] : [[label, texts.join(join)]];
}

function listRow(root: unknown, { label, place, key }: ListRow): MessageRow[] {
  const value = valueAt(root, place);
  if (!Array.isArray(value) || value.length === 0) return [];
  if (key === undefined) return [[label, String(value.length)]];
  const names = value.slice(0, MAX_LISTED).map((element) => textAt(element, key) ?? '?');
  const more = value.length - names.length;
  return [[label, more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')]];
}

/** The fields of a message, of whatever type: what is not in it has no row. */
const fieldRows = (root: unknown): MessageRow[] => [
  ...FIELDS.flatMap((row) => fieldRow(root, row)),
  ...LISTS.flatMap((row) => listRow(root, row)),
];

const emitted = contract({ dialect: 'open' });

/** Keys that this version of the contract does not have: a sender that is newer, or one with a slip. */
export function unknownKeys({ format, message }: ReceivedMessage): string[] {
  const schema = format === 2 ? emitted.WebhookMessageV2 : emitted.WebhookMessageV1;
  const issues = schema.safeParse(message).error?.issues ?? [];
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [...issue.path, key].map(String).join('.'))
      : [],
  );
}

/** A first sending is the rule, and so is a clock that is right: the rest is told. */
function envelopeRows(found: ReceivedMessage, now: number): MessageRow[] {
  if (found.format === 1) return [];
  const { date_created, retry_count } = found.message;
  const agoMs = now - Date.parse(date_created);
  const sent = agoMs < 0 ? `${durationText(-agoMs)} ahead` : `${durationText(agoMs)} ago`;
  return [['sent', `${printable(date_created)} (${sent}), ${counted(retry_count, 'time')} before`]];
}

function unknownRows(found: ReceivedMessage): MessageRow[] {
  const keys = unknownKeys(found).map((key) => shown(key) ?? '""');
  const told = keys.slice(0, MAX_LISTED).join(', ');
  const more = keys.length - MAX_LISTED;
  return keys.length === 0 ? [] : [['unknown', more > 0 ? `${told} and ${more} more` : told]];
}

/** All rows of a message, its type and id aside. */
export function messageRows(found: ReceivedMessage, now: number): readonly MessageRow[] {
  // In format 1 the element is envelope and message in one.
  const content = found.format === 2 ? found.message.message : found.message;
  return [...fieldRows(content), ...envelopeRows(found, now), ...unknownRows(found)];
}

/** Its type, with a mark where this version of the library does not know it or another word of it. */
export function messageTitle(found: ReceivedMessage): string {
  const type = found.format === 2 ? found.message.message_type : found.message.svc_payload_type;
  const known = found.unknown.length === 0 ? '' : ` (not known: ${found.unknown.join(', ')})`;
  return `${shown(type) ?? '""'}${known}`;
}
