/** Turns a received request, or a value of a file, into what the inspector's page shows. */
import { isUtf8 } from 'node:buffer';
import { contract } from '../../contract/index.ts';
import { type ParsedBody, parseBody, type ReceivedMessage } from '../../receiver/index.ts';
import { ADVICE, type MessageRow, messageRows, shown, valueAt } from '../listen/delivery-text.ts';
import type { Delivery } from '../listen/listener.ts';
import { printable } from '../terminal.ts';
import { counted, wholeNumber } from '../values.ts';

interface Fault {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

/** A message or a log record, as people read it. */
interface ShownMessage {
  readonly type: string;
  readonly application: string | undefined;
  readonly what: string;
  /** From the client's address to the application. */
  readonly route: readonly string[];
  readonly badges: readonly string[];
  readonly when: string;
  /** The facts that the heading does not have. */
  readonly rows: readonly MessageRow[];
}

interface Content {
  /** From 1: the highest of its messages. */
  readonly attempt: number;
  readonly messages: readonly ShownMessage[];
  /** Number of messages that are only in the body. */
  readonly moreMessages: number;
  readonly faults: readonly Fault[];
}

export interface Entry extends Content {
  /** `#3` or `line 12`. */
  readonly label: string;
  /** Method and target, or the name of the file. */
  readonly source: string;
  /** Milliseconds since the epoch; undefined in a file. */
  readonly receivedAt?: number;
  /** `invalid`: the signature matches or there is none, but the body breaks the contract. */
  readonly verdict: 'verified' | 'valid' | 'invalid' | 'refused';
  readonly reason: string;
  /** What to do about it. */
  readonly advice: readonly string[];
  readonly what: string;
  readonly who: string;
  readonly facts: readonly string[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The command that repeats the request, without its body; empty in a file. */
  readonly curl: string;
  readonly body: string;
}

const MAX_MESSAGES = 100;
const MAX_FAULTS = 200;
/** As much as the body of a request. */
const MAX_CHARACTERS = 2 ** 21;

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** Splits the contract's wording, `expected …, found …`. */
function faultOf({ path, message }: Issue): Fault {
  const [, expected = message, found = ''] = /^expected (.*), found (.*)$/s.exec(message) ?? [];
  const where = shown(path.map(String).join('.')) ?? 'the whole value';
  return { path: where, expected: printable(expected), found: printable(found) };
}

const faultsOf = ({ refused }: ParsedBody): Fault[] =>
  refused
    .flatMap(({ index, issues }) =>
      issues.map(({ path, message }) => faultOf({ path: [index, ...path], message })),
    )
    .slice(0, MAX_FAULTS);

const HEADING = ['what', 'addresses', 'application', 'event', 'genre', 'occurred', 'started'];

function shownMessage(type: string, rows: readonly MessageRow[], badges: string[]): ShownMessage {
  const facts: Readonly<Record<string, string>> = Object.fromEntries(rows);
  const { what = type, addresses, application, event, genre, occurred, started } = facts;
  const kind = event ?? genre;
  return {
    type,
    application: application?.split(', ')[0],
    what,
    route: [addresses, application].filter((stop) => stop !== undefined),
    badges: [type, ...(kind === undefined ? [] : [kind]), ...badges],
    when: occurred ?? started ?? '',
    rows: rows.filter(([label]) => !HEADING.includes(label)),
  };
}

function contentOf(parsed: ParsedBody, now: number, repeated?: ReadonlySet<string>): Content {
  const counts = parsed.messages.map((found) =>
    found.format === 2 ? found.message.retry_count : 0,
  );
  const messages = parsed.messages.slice(0, MAX_MESSAGES).map((found: ReceivedMessage) => {
    const { format, id } = found;
    const type = format === 2 ? found.message.message_type : found.message.svc_payload_type;
    const rows: MessageRow[] = [...messageRows(found, now), ['id', shown(id) ?? 'none']];
    const isRepeated = id !== null && repeated?.has(id) === true;
    const badges = [...(format === 1 ? ['format 1'] : []), ...(isRepeated ? ['repeated'] : [])];
    return shownMessage(shown(type) ?? '""', rows, badges);
  });
  return {
    attempt: Math.max(0, ...counts) + 1,
    messages,
    moreMessages: parsed.messages.length - messages.length,
    faults: faultsOf(parsed),
  };
}

const whoOf = ({ messages, moreMessages }: Content): string =>
  [
    messages[0]?.application,
    messages.length > 1 ? counted(messages.length + moreMessages, 'message') : messages[0]?.type,
  ]
    .filter((part) => part !== undefined)
    .join(' · ');

/** Reads unverified bodies, too: a developer wants to see what came. The page says so. */
function readLeniently(body: Uint8Array): ParsedBody {
  try {
    return parseBody(body);
  } catch {
    return { messages: [], refused: [] };
  }
}

const CREDENTIAL_NAME = /authorization|cookie|token|secret|password|api-?key/i;
const CREDENTIAL_IN_QUERY = /([?&][^=&]*(?:auth|code|key|pass|secret|sig|token)[^=&]*=)[^&#]+/gi;
/** What a receiver reads. */
const CURL_HEADERS = ['content-type', 'user-agent', 'x-svc-integrity'];

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const REASONS: Readonly<Partial<Record<string, string>>> = {
  method: 'Refused: not a POST',
  'content-type': 'Refused: wrong content type',
  'body-too-large': 'Refused: the body is too large',
  'body-invalid': 'Verified, but not an array of messages',
  'message-invalid': 'Verified, but a message breaks the contract',
  'signature-missing': 'Refused: the signature is missing',
  'signature-wrong': 'Refused: the signature does not match',
  incomplete: 'Refused: the body is incomplete',
};

type Judgement = Pick<Entry, 'verdict' | 'reason' | 'advice'>;

function judge({ refusal }: Delivery, hasMessages: boolean): Judgement {
  if (refusal === undefined) return { verdict: 'verified', reason: 'Verified', advice: [] };
  const { reason, explanation } = refusal;
  const isVerified = reason === 'body-invalid' || reason === 'message-invalid';
  const cause = explanation?.isProven === true ? 'Cause' : 'Probable cause';
  const advice = explanation === undefined ? ADVICE[reason] : `${cause}: ${explanation.text}`;
  const warning = 'Anyone may have sent the messages below.';
  return {
    verdict: isVerified ? 'invalid' : 'refused',
    reason: REASONS[reason] ?? `Refused: ${reason}`,
    advice: [
      ...(advice === undefined ? [] : [advice]),
      ...(isVerified || !hasMessages ? [] : [warning]),
    ],
  };
}

/** Describes a request of `listen`. */
export function requestEntry(delivery: Delivery): Entry {
  const { number, receivedAt, method, headers, body, status, decidedBy } = delivery;
  const content = contentOf(readLeniently(body), receivedAt, delivery.repeated);
  const judgement = judge(delivery, content.messages.length > 0);
  const target = printable(delivery.target.replace(CREDENTIAL_IN_QUERY, '$1…'));
  const source = `${method} ${target}`;
  const rows = Object.entries(headers).map(([name, value]) => {
    const text = [value ?? []].flat().join(', ');
    return [name, CREDENTIAL_NAME.test(name) ? `hidden, ${text.length} characters` : text] as const;
  });
  const curlHeaders = rows.filter(([name]) => CURL_HEADERS.includes(name));
  return {
    ...content,
    ...judgement,
    label: `#${number}`,
    source,
    receivedAt,
    what: content.messages[0]?.what ?? judgement.reason,
    who: whoOf(content) || source,
    facts: [
      source,
      `answered ${status}${decidedBy === undefined ? '' : ` (${decidedBy})`}`,
      content.attempt === 1 ? 'first attempt' : `attempt ${content.attempt}`,
      `${wholeNumber(body.length)} bytes`,
    ],
    headers: rows,
    curl: [
      `curl -X ${quoted(method)} ${quoted(`http://${headers.host ?? ''}${target}`)}`,
      ...curlHeaders.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ].join(' \\\n  '),
    body: isUtf8(body) ? body.toString() : `base64: ${body.toString('base64')}`,
  };
}

const { LogLine } = contract({ dialect: 'open', reading: 'received' });

const RECORD_ROWS: readonly (readonly [label: string, separator: string, ...paths: string[]])[] = [
  ['application', ', ', 'context.service.svc_id', 'context.service.name', 'context.service.env'],
  ['what', ' ', 'payload.ruleset', 'payload.protection', 'payload.name', 'payload.event_name'],
  ['addresses', '', 'context.actor.ip.address'],
  ['severity', '', 'payload.severity'],
  ['success', '', 'payload.success'],
  ['request', ' ', 'context.http.request.verb', 'context.http.request.path'],
  ['blocked', '', 'context.http.response.blocked'],
  ['occurred', '', 'detected_at'],
];

function recordContent(value: object): Content {
  const issues = LogLine.safeParse(value).error?.issues ?? [];
  const type = (shown(valueAt(value, 'event_name')) ?? '""').replace(/^svc\.ev0\./, '');
  const rows = RECORD_ROWS.map(([label, separator, ...paths]): MessageRow => {
    return [label, paths.flatMap((path) => shown(valueAt(value, path)) ?? []).join(separator)];
  }).filter(([, text]) => text !== '');
  const faults = issues.slice(0, MAX_FAULTS).map(faultOf);
  return { attempt: 1, messages: [shownMessage(type, rows, [])], moreMessages: 0, faults };
}

/** A value of a file, or why it has none. */
export interface FileValue {
  readonly file: string;
  readonly line: number;
  readonly value?: unknown;
  readonly fault?: string;
}

const NOT_MESSAGES = { path: 'the whole value', expected: 'a log record or 1 to 1000 messages' };

function valueContent(value: unknown, now: number): Content {
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'event_name')) {
    return recordContent(value);
  }
  const parsed = readLeniently(Buffer.from(JSON.stringify([value].flat())));
  const isRead = parsed.messages.length + parsed.refused.length > 0;
  const faults = isRead ? faultsOf(parsed) : [{ ...NOT_MESSAGES, found: 'something else' }];
  return { ...contentOf(parsed, now), faults };
}

/** Describes a value of a file: a log line, a message, a captured body, or a line of `listen --json`. */
export function valueEntry({ file, line, value: given, fault }: FileValue, now: number): Entry {
  const value = valueAt(given, 'event') === 'message' ? valueAt(given, 'message') : given;
  const content =
    fault === undefined ? valueContent(value, now) : contentOf({ messages: [], refused: [] }, now);
  const isValid = fault === undefined && content.faults.length === 0;
  const body = JSON.stringify(value) ?? '';
  const reason = isValid ? 'Follows the contract' : 'Breaks the contract';
  return {
    ...content,
    label: `line ${wholeNumber(line)}`,
    source: file,
    verdict: isValid ? 'valid' : 'invalid',
    reason: fault ?? reason,
    advice: [],
    what: content.messages[0]?.what ?? fault ?? reason,
    who: whoOf(content) || file,
    facts: [file, `line ${wholeNumber(line)}`, `${wholeNumber(Buffer.byteLength(body))} bytes`],
    headers: [],
    curl: '',
    body: body.slice(0, MAX_CHARACTERS),
  };
}
