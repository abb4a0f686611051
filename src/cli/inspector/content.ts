/** The content of the inspector's page: messages and log records. */
import { contract, MAX_MESSAGES_PER_REQUEST } from '../../contract/index.ts';
import { parseBody, type ReceivedMessage } from '../../receiver/index.ts';
import { type MessageRow, messageRows, shownValue, valueAt } from '../listen/delivery-text.ts';
import { printable } from '../terminal.ts';
import { notRecognised, recognise } from '../validate.ts';
import { counted } from '../values.ts';

interface ShownIssue {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

/** A message or a log record, for people. */
interface ShownMessage {
  readonly type: string;
  readonly application: string | undefined;
  readonly title: string;
  /** From the client's address to the application. */
  readonly route: readonly string[];
  readonly badges: readonly string[];
  readonly when: string;
  /** The facts that are not in the heading. */
  readonly rows: readonly MessageRow[];
}

export interface Content {
  /** The highest attempt number of its messages, from 1. Undefined without messages of format 2. */
  readonly attempt?: number | undefined;
  readonly messages: readonly ShownMessage[];
  /** Number of messages beyond those in `messages`. */
  readonly moreMessages: number;
  readonly issues: readonly ShownIssue[];
  /** Number of issues beyond those in `issues`. */
  readonly moreIssues: number;
}

export const NO_CONTENT: Content = { messages: [], moreMessages: 0, issues: [], moreIssues: 0 };

const MAX_MESSAGES = 100;
const MAX_ISSUES = 200;
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** Splits a message of the contract: `expected …, found …`. */
function shownIssue({ path, message }: Issue): ShownIssue {
  const [, expected = message, found = ''] = /^expected (.*), found (.*)$/s.exec(message) ?? [];
  const where = shownValue(path.map(String).join('.')) ?? 'the whole value';
  return { path: where, expected: printable(expected), found: printable(found) };
}

const HEADING = ['description', 'addresses', 'application', 'event', 'genre'];

function shownMessage(type: string, rows: readonly MessageRow[], badges: string[]): ShownMessage {
  const facts: Readonly<Record<string, string>> = Object.fromEntries(rows);
  const { addresses, application, event, genre, occurred, started, playbook } = facts;
  const kind = event ?? genre;
  const timeLabel = occurred === undefined ? 'started' : 'occurred';
  const name = playbook?.split(', ')[0] ?? type;
  const title = facts['description'] ?? (addresses === undefined ? name : `${name}, ${addresses}`);
  return {
    type,
    application: application?.split(', ')[0],
    title,
    route: [addresses, application].filter((stop) => stop !== undefined),
    badges: [type, ...(kind === undefined ? [] : [kind]), ...badges],
    when: occurred ?? started ?? '',
    rows: rows.filter(([label]) => !HEADING.includes(label) && label !== timeLabel),
  };
}

/** A message, a log record, or an element that is neither. */
interface Judged {
  readonly show?: () => ShownMessage;
  readonly retryCount?: number;
  readonly issues: readonly Issue[];
}

function judgedMessage(
  found: ReceivedMessage,
  now: number,
  repeated: ReadonlySet<string> = new Set(),
): Judged {
  const { format, id } = found;
  const type = format === 2 ? found.message.message_type : found.message.svc_payload_type;
  const isRepeated = id !== null && repeated.has(id);
  const badges = [...(format === 1 ? ['format 1'] : []), ...(isRepeated ? ['repeated'] : [])];
  return {
    show: () => {
      const rows: MessageRow[] = [...messageRows(found, now), ['id', shownValue(id) ?? 'none']];
      return shownMessage(shownValue(type) ?? '""', rows, badges);
    },
    ...(format === 2 && { retryCount: found.message.retry_count }),
    issues: [],
  };
}

const withIndex = (issues: readonly Issue[], index: number): Issue[] =>
  issues.map(({ path, message }) => ({ path: [index, ...path], message }));

function contentFrom(judged: readonly Judged[]): Content {
  const shows = judged.flatMap(({ show }) => show ?? []);
  const counts = judged.flatMap(({ retryCount }) => retryCount ?? []);
  const issues = judged.flatMap((one) => one.issues);
  return {
    attempt: counts.length === 0 ? undefined : Math.max(...counts) + 1,
    messages: shows.slice(0, MAX_MESSAGES).map((show) => show()),
    moreMessages: Math.max(0, shows.length - MAX_MESSAGES),
    issues: issues.slice(0, MAX_ISSUES).map(shownIssue),
    moreIssues: Math.max(0, issues.length - MAX_ISSUES),
  };
}

/** Describes a body, also an unverified one, which the page marks. `repeated` has the ids that arrived before. */
export function bodyContent(body: Uint8Array, now: number, repeated: ReadonlySet<string>): Content {
  try {
    const { messages, refused } = parseBody(body);
    return contentFrom([
      ...messages.map((found) => judgedMessage(found, now, repeated)),
      ...refused.map(({ index, issues }) => ({ issues: withIndex(issues, index) })),
    ]);
  } catch {
    return NO_CONTENT;
  }
}

/** Returns the second line of a row: the application and the kind of its messages, or the first issue. */
export function subtitleOf({
  messages,
  moreMessages,
  issues: [issue],
}: Content): string | undefined {
  const [first] = messages;
  if (first === undefined) return issue && `${issue.path}: expected ${issue.expected}`;
  const count = messages.length + moreMessages;
  const kind = count > 1 ? counted(count, 'message') : first.type;
  return first.application === undefined ? kind : `${first.application} · ${kind}`;
}

const { LogLine } = contract({ dialect: 'open', reading: 'received' });

const RECORD_ROWS: readonly (readonly [label: string, separator: string, ...paths: string[]])[] = [
  ['application', ', ', 'context.service.svc_id', 'context.service.name', 'context.service.env'],
  [
    'description',
    ' ',
    'payload.ruleset',
    'payload.protection',
    'payload.name',
    'payload.event_name',
  ],
  ['addresses', '', 'context.actor.ip.address'],
  ['severity', '', 'payload.severity'],
  ['success', '', 'payload.success'],
  ['request', ' ', 'context.http.request.verb', 'context.http.request.path'],
  ['blocked', '', 'context.http.response.blocked'],
  ['occurred', '', 'detected_at'],
];

function judgedRecord(value: object): Judged {
  const issues = LogLine.safeParse(value).error?.issues ?? [];
  const type = (shownValue(valueAt(value, 'event_name')) ?? '""').replace(/^svc\.ev0\./, '');
  const rows = RECORD_ROWS.map(([label, separator, ...paths]): MessageRow => {
    return [label, paths.flatMap((path) => shownValue(valueAt(value, path)) ?? []).join(separator)];
  }).filter(([, text]) => text !== '');
  return { show: () => shownMessage(type, rows, []), issues };
}

const TOO_DEEP = 'expected fewer levels of nesting, found too many to show';

function judge(value: unknown, now: number): Judged {
  const shape = recognise(value);
  if (shape === undefined) return { issues: [{ path: [], message: notRecognised(value) }] };
  if (shape === 'record' || shape === 'line') return judgedRecord(value as object);
  try {
    const { messages, refused } = parseBody(JSON.stringify([value]));
    const [found] = messages.map((message) => judgedMessage(message, now));
    return found ?? { issues: refused.flatMap(({ issues }) => issues) };
  } catch {
    // JSON.stringify fails for tens of thousands of levels, which JSON.parse reads.
    return { issues: [{ path: [], message: TOO_DEEP }] };
  }
}

/** Describes a value of a file, or each element of an array. */
export function valueContent(value: unknown, now: number): Content {
  if (!Array.isArray(value)) return contentFrom([judge(value, now)]);
  const { length } = value;
  if (length === 0 || length > MAX_MESSAGES_PER_REQUEST) {
    const message = `expected 1 to ${MAX_MESSAGES_PER_REQUEST} elements, found ${length}`;
    return contentFrom([{ issues: [{ path: [], message }] }]);
  }
  return contentFrom(
    value.map((element, index) => {
      const { issues, ...judged } = judge(element, now);
      return { ...judged, issues: withIndex(issues, index) };
    }),
  );
}
