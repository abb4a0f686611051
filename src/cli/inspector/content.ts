/** The content of the inspector's page: messages and log records. */
import { contract } from '../../contract/index.ts';
import { type ParsedBody, parseBody, type ReceivedMessage } from '../../receiver/index.ts';
import { type MessageRow, messageRows, shownValue, valueAt } from '../listen/delivery-text.ts';
import { printable } from '../terminal.ts';
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

const MAX_MESSAGES = 100;
const MAX_ISSUES = 200;
type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** Splits a message of the contract: `expected …, found …`. */
function shownIssue({ path, message }: Issue): ShownIssue {
  const [, expected = message, found = ''] = /^expected (.*), found (.*)$/s.exec(message) ?? [];
  const where = shownValue(path.map(String).join('.')) ?? 'the whole value';
  return { path: where, expected: printable(expected), found: printable(found) };
}

type ShownIssues = Pick<Content, 'issues' | 'moreIssues'>;

const shownIssues = (issues: readonly Issue[]): ShownIssues => ({
  issues: issues.slice(0, MAX_ISSUES).map(shownIssue),
  moreIssues: Math.max(0, issues.length - MAX_ISSUES),
});

const issuesOf = ({ refused }: ParsedBody, isArray: boolean): Issue[] =>
  refused.flatMap(({ index, issues }) =>
    issues.map(({ path, message }) => ({ path: isArray ? [index, ...path] : path, message })),
  );

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

interface BodyFacts {
  /** Ids that arrived before. */
  readonly repeated?: ReadonlySet<string> | undefined;
  /** Whether paths of issues begin with the index of a message. Default `true`. */
  readonly isArray?: boolean;
}

export function contentOf(
  parsed: ParsedBody,
  now: number,
  { repeated, isArray = true }: BodyFacts = {},
): Content {
  const counts = parsed.messages.flatMap((found) =>
    found.format === 2 ? [found.message.retry_count] : [],
  );
  const messages = parsed.messages.slice(0, MAX_MESSAGES).map((found: ReceivedMessage) => {
    const { format, id } = found;
    const type = format === 2 ? found.message.message_type : found.message.svc_payload_type;
    const rows: MessageRow[] = [...messageRows(found, now), ['id', shownValue(id) ?? 'none']];
    const isRepeated = id !== null && repeated?.has(id) === true;
    const badges = [...(format === 1 ? ['format 1'] : []), ...(isRepeated ? ['repeated'] : [])];
    return shownMessage(shownValue(type) ?? '""', rows, badges);
  });
  return {
    attempt: counts.length === 0 ? undefined : Math.max(...counts) + 1,
    messages,
    moreMessages: parsed.messages.length - messages.length,
    ...shownIssues(issuesOf(parsed, isArray)),
  };
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

/** Parses any body, also unverified ones, which the page marks. Returns nothing for an unreadable one. */
export function readLeniently(body: Uint8Array): ParsedBody {
  try {
    return parseBody(body);
  } catch {
    return { messages: [], refused: [] };
  }
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

function recordContent(value: object): Content {
  const issues = LogLine.safeParse(value).error?.issues ?? [];
  const type = (shownValue(valueAt(value, 'event_name')) ?? '""').replace(/^svc\.ev0\./, '');
  const rows = RECORD_ROWS.map(([label, separator, ...paths]): MessageRow => {
    return [label, paths.flatMap((path) => shownValue(valueAt(value, path)) ?? []).join(separator)];
  }).filter(([, text]) => text !== '');
  return { messages: [shownMessage(type, rows, [])], moreMessages: 0, ...shownIssues(issues) };
}

/** JSON.stringify fails for tens of thousands of levels, which JSON.parse reads. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

const TOO_DEEP = 'expected fewer levels of nesting, found too many to show';
const NOT_MESSAGES = 'expected a log record or 1 to 1000 messages, found something else';

export function valueContent(value: unknown, now: number): Content {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'event_name')) {
    return recordContent(value);
  }
  const text = textOf([value].flat());
  const parsed = readLeniently(Buffer.from(text ?? ''));
  const message = text === undefined ? TOO_DEEP : NOT_MESSAGES;
  const isRead = parsed.messages.length + parsed.refused.length > 0;
  const content = contentOf(parsed, now, { isArray: Array.isArray(value) });
  return isRead ? content : { ...content, ...shownIssues([{ path: [], message }]) };
}
