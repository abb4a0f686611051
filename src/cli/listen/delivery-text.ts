/** Prints a delivery: as text for people, and as JSON lines for programs. */
import { contract } from '../../contract/index.ts';
import type { ReceivedMessage, RefusedElement } from '../../receiver/index.ts';
import { explanationText } from '../signature.ts';
import { jsonLine, paint, printable, type TerminalOutput } from '../terminal.ts';
import { counted, durationText, wholeNumber } from '../values.ts';
import type { Delivery, RefusedRequest } from './listener.ts';

const MAX_MESSAGES = 20;
const MAX_ISSUES = 20;
const MAX_VALUES = 5;
const MAX_CHARACTERS = 300;

/** A row with one or more values. Each value has alternative paths, of formats 2 and 1; the first found is used. */
type Row = readonly [label: string, separator: string, ...values: (readonly string[])[]];

/** Rows without values are not shown. */
const ROWS: readonly Row[] = [
  [
    'application',
    ', ',
    ['application_id', 'application.id'],
    ['application_name', 'application.name'],
    ['environment', 'application.environment'],
  ],
  ['event', ' / ', ['event_category'], ['event_kind']],
  ['event id', '', ['event_id']],
  ['incident', ', ', ['incident_thread'], ['incident_status']],
  ['genre', '', ['pulse_genre']],
  ['playbook', ', ', ['playbook.name'], ['playbook.id']],
  ['occurred', '', ['date_occurred']],
  ['started', '', ['date_started']],
  ['last seen', '', ['date_last_updated']],
  ['description', '', ['humanized_description', 'humanized_title']],
  ['url', '', ['event_url', 'url']],
];

/** Users are only counted, since other people may see the screen. */
const LISTS: readonly (readonly [label: string, path: string, key?: string])[] = [
  ['addresses', 'ips', 'address'],
  ['addresses', 'new_related_ips', 'address'],
  ['addresses', 'properties.ips', 'ip_cidr'],
  ['users', 'properties.user_identifiers'],
  ['accounts', 'new_compromised_accounts'],
];

export function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Returns a number, boolean or text, shortened and safe to print; undefined for other and empty values. */
export function shownValue(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || value === '') return undefined;
  const isLong = value.length > MAX_CHARACTERS;
  return printable(isLong ? `${value.slice(0, MAX_CHARACTERS)}…` : value);
}

const CREDENTIAL_IN_QUERY = /([?&][^=&]*(?:auth|code|key|pass|secret|sig|token)[^=&]*=)[^&#]+/gi;

/** Returns path and query without credentials, safe to print. */
export const shownTarget = ({ target }: Delivery): string =>
  printable(target.replace(CREDENTIAL_IN_QUERY, '$1…'));

const andMore = (values: readonly string[], count: number): string =>
  count > values.length
    ? `${values.join(', ')} and ${count - values.length} more`
    : values.join(', ');

export type MessageRow = readonly [label: string, text: string];

function fieldRows(content: unknown): MessageRow[] {
  const rows = ROWS.map(([label, separator, ...alternatives]): MessageRow => {
    const values = alternatives.map((paths) =>
      paths.map((path) => shownValue(valueAt(content, path))).find((value) => value !== undefined),
    );
    return [label, values.filter((value) => value !== undefined).join(separator)];
  });
  const lists = LISTS.map(([label, path, key]): MessageRow => {
    const value = valueAt(content, path);
    if (!Array.isArray(value) || value.length === 0) return [label, ''];
    if (key === undefined) return [label, String(value.length)];
    const names = value
      .slice(0, MAX_VALUES)
      .map((element) => shownValue(valueAt(element, key)) ?? '?');
    return [label, andMore(names, value.length)];
  });
  return [...rows, ...lists].filter(([, value]) => value !== '');
}

const emittedContract = contract({ dialect: 'open' });

/** Returns keys that this version of the contract does not know: typos, or keys of a newer sender. */
function unknownKeys({ format, message }: ReceivedMessage): string[] {
  const schema = format === 2 ? emittedContract.WebhookMessageV2 : emittedContract.WebhookMessageV1;
  const issues = schema.safeParse(message).error?.issues ?? [];
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [...issue.path, key].map(String).join('.'))
      : [],
  );
}

/** Format 1 does not say when a message was sent. */
function sentRows(found: ReceivedMessage, now: number): MessageRow[] {
  if (found.format === 1) return [];
  const { date_created, retry_count } = found.message;
  const agoMs = now - Date.parse(date_created);
  const age = agoMs < 0 ? `${durationText(-agoMs)} in the future` : `${durationText(agoMs)} ago`;
  const attempt = retry_count === 0 ? 'first attempt' : `attempt ${wholeNumber(retry_count + 1)}`;
  return [['sent', `${printable(date_created)} (${age}), ${attempt}`]];
}

/** Returns the rows of a message. Its type and id are shown elsewhere. */
export function messageRows(found: ReceivedMessage, now: number): MessageRow[] {
  const content = found.format === 2 ? found.message.message : found.message;
  const unknown = unknownKeys(found);
  const keys = unknown.slice(0, MAX_VALUES).map((key) => shownValue(key) ?? '""');
  const unknownRow: MessageRow = ['unknown', andMore(keys, unknown.length)];
  return [
    ...fieldRows(content),
    ...sentRows(found, now),
    ...(unknown.length === 0 ? [] : [unknownRow]),
  ];
}

/** Returns the type, and the names of fields with values that this version does not know. */
export function messageTitle(found: ReceivedMessage): string {
  const type = found.format === 2 ? found.message.message_type : found.message.svc_payload_type;
  const unknown = found.unknown.length === 0 ? '' : ` (unknown: ${found.unknown.join(', ')})`;
  return `${shownValue(type) ?? '""'}${unknown}`;
}

/** Reasons for which a body is not read to its end. */
const UNREAD: Readonly<Partial<Record<RefusedRequest['reason'], string>>> = {
  'body-too-large': 'more than 2 MiB',
  'body-late': 'body not read: too slow',
  busy: 'body not read: too many at once',
  incomplete: 'body not read: the sender disconnected',
};

/** Returns the size of the body, or why it is unknown. */
export const sizeText = ({ length }: Buffer, reason?: RefusedRequest['reason']): string =>
  (reason && UNREAD[reason]) ?? `${wholeNumber(length)} bytes`;

/** Returns a block of lines that ends with an empty line. */
export function deliveryText(delivery: Delivery, output: TerminalOutput): string {
  const { messages, refusal } = delivery;
  const lines = [
    headline(delivery, output),
    ...(refusal === undefined ? [] : refusalLines(refusal)),
    ...messages.slice(0, MAX_MESSAGES).flatMap((found) => messageLines(found, delivery, output)),
  ];
  const more = messages.length - MAX_MESSAGES;
  if (more > 0) lines.push(`  … and ${counted(more, 'more message')}`);
  return `${lines.join('\n')}\n\n`;
}

function headline(delivery: Delivery, output: TerminalOutput): string {
  const { number, receivedAt, method, body, messages, refusal } = delivery;
  const { status, decidedBy } = delivery;
  const verdict =
    refusal === undefined
      ? paint(output, 'green', `verified, ${counted(messages.length, 'message')}`)
      : paint(output, 'red', `refused: ${refusal.reason}`);
  const by = decidedBy === undefined ? '' : ` (${decidedBy})`;
  const isSuccess = status >= 200 && status < 300;
  const answer = paint(output, isSuccess ? 'green' : 'yellow', `${status}${by}`);
  const time = new Date(receivedAt).toISOString().slice(11, 19);
  const facts = `${time}  ${printable(method)} ${shownTarget(delivery).slice(0, 200)}`;
  return `${paint(output, 'bold', `#${number}`)}  ${facts}  ${sizeText(body, refusal?.reason)}  ${verdict} -> ${answer}`;
}

export const ADVICE: Readonly<Partial<Record<RefusedRequest['reason'], string>>> = {
  method: 'Webhooks use POST.',
  'content-type': 'Expected Content-Type: application/json in UTF-8, and no Content-Encoding.',
  'body-too-large': 'The body exceeds 2 MiB.',
  'body-late': 'The body took more than 30 s.',
  busy: 'The bodies of all requests exceed 64 MiB, so the oldest are refused.',
  'body-invalid': 'Expected a JSON array of 1 to 1000 messages in UTF-8.',
  incomplete: 'The sender disconnected before the end of the body.',
};

function refusalLines({ reason, explanation, invalid }: RefusedRequest): string[] {
  if (explanation !== undefined) return [`  ${explanationText(explanation)}`];
  if (invalid !== undefined) return issueLines(invalid);
  const advice = ADVICE[reason];
  return advice === undefined ? [] : [`  ${advice}`];
}

function issueLines(invalid: readonly RefusedElement[]): string[] {
  const lines = invalid.flatMap(({ index, issues }) =>
    issues.map(
      ({ path, message }) => `  ${printable(`${[index, ...path].join('.')}: ${message}`)}`,
    ),
  );
  const more = lines.length - MAX_ISSUES;
  return more > 0 ? [...lines.slice(0, MAX_ISSUES), `  … and ${more} more`] : lines;
}

function messageLines(
  found: ReceivedMessage,
  { repeated, receivedAt }: Delivery,
  output: TerminalOutput,
): string[] {
  const { id, format, unknown } = found;
  const title = paint(output, unknown.length === 0 ? 'cyan' : 'yellow', messageTitle(found));
  const facts = [
    title,
    id === null ? 'no id' : printable(id.slice(0, 200)),
    ...(format === 1 ? ['format 1'] : []),
    ...(id !== null && repeated.has(id) ? [paint(output, 'yellow', 'repeated')] : []),
  ];
  const rows = messageRows(found, receivedAt).map(
    ([label, value]) => `    ${paint(output, 'dim', label.padEnd(12))} ${value}`,
  );
  return [`  ${facts.join('  ')}`, ...rows];
}

/** One line per message, or one line for a refused request. */
export function deliveryJson(delivery: Delivery): string {
  const { number, receivedAt, status, refusal, repeated, messages } = delivery;
  const common = { request: number, receivedAt: new Date(receivedAt).toISOString(), status };
  if (refusal !== undefined) {
    const { reason, explanation, invalid } = refusal;
    // Without the elements, which may contain anything.
    const issuesOnly = invalid?.map(({ index, issues }) => ({ index, issues }));
    return jsonLine({ event: 'refused', ...common, reason, explanation, invalid: issuesOnly });
  }
  return messages
    .map(({ format, id, index, isKnownType, unknown, message }) => {
      const isRepeated = id !== null && repeated.has(id);
      const facts = { format, id, index, isKnownType, unknown, isRepeated };
      const line = { event: 'message', ...common, ...facts };
      try {
        return jsonLine({ ...line, message });
      } catch {
        // Its unknown keys may have more levels of nesting than JSON.stringify can write.
        return jsonLine({ ...line, message: null });
      }
    })
    .join('');
}
