/** Turns a received request, or a value of a file, into an entry of the inspector's page. */
import { isUtf8 } from 'node:buffer';
import type { JsonItem } from '../input.ts';
import {
  ADVICE,
  type MessageRow,
  shownTarget,
  sizeText,
  valueAt,
} from '../listen/delivery-text.ts';
import type { Delivery } from '../listen/listener.ts';
import { explanationText } from '../signature.ts';
import { printable } from '../terminal.ts';
import { wholeNumber } from '../values.ts';
import { bodyContent, type Content, NO_CONTENT, subtitleOf, valueContent } from './content.ts';

export interface Entry extends Content {
  /** `#3` or `line 12`. */
  readonly label: string;
  /** Method and target, or the name of the file. */
  readonly source: string;
  /** Milliseconds since the epoch; undefined in a file. */
  readonly receivedAt?: number;
  /** The status that the sender got; undefined in a file. */
  readonly status?: number;
  /** `valid`: a value of a file. `invalid`: breaks the contract; if it is a request, its signature matches. */
  readonly verdict: 'verified' | 'valid' | 'invalid' | 'refused';
  readonly reason: string;
  readonly advice: readonly string[];
  readonly title: string;
  readonly subtitle: string;
  readonly facts: readonly MessageRow[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  /**
   * The command that sends the request again, to which the body is piped; empty in a file. Only copied, never
   * shown: unlike `source` it has the credentials of the target.
   */
  readonly curl: string;
  /** As received, or as in the file; base64 if it is not text. */
  readonly body: string;
  readonly encoding: 'text' | 'base64';
  /** Length of the whole body; `body` may be only its beginning. */
  readonly bodyLength: number;
}

/** The limit of a request body, too. */
const MAX_CHARACTERS = 2 ** 21;

const CREDENTIAL_NAME = /authorization|cookie|token|secret|password|api-?key/i;
/** The headers that a receiver reads. */
const CURL_HEADERS = ['content-encoding', 'content-type', 'user-agent', 'x-svc-integrity'];

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const REASONS: Readonly<Partial<Record<string, string>>> = {
  method: 'Refused: not a POST',
  'content-type': 'Refused: wrong content type',
  'body-too-large': 'Refused: the body is too large',
  'body-invalid': 'Invalid: not an array of messages',
  'message-invalid': 'Invalid: breaks the contract',
  'signature-missing': 'Refused: the signature is missing',
  'signature-wrong': 'Refused: the signature does not match',
  incomplete: 'Refused: the body is incomplete',
};

type Judgement = Pick<Entry, 'verdict' | 'reason' | 'advice'>;

function judge({ refusal }: Delivery, hasMessages: boolean): Judgement {
  if (refusal === undefined) return { verdict: 'verified', reason: 'Verified', advice: [] };
  const { reason, explanation } = refusal;
  const isVerified = reason === 'body-invalid' || reason === 'message-invalid';
  const advice = explanation === undefined ? ADVICE[reason] : explanationText(explanation);
  const note = isVerified ? 'The signature matches.' : 'Anyone may have sent the messages below.';
  return {
    verdict: isVerified ? 'invalid' : 'refused',
    reason: REASONS[reason] ?? `Refused: ${reason}`,
    advice: [
      ...(advice === undefined ? [] : [advice]),
      ...(isVerified || hasMessages ? [note] : []),
    ],
  };
}

function bodyOf(bytes: Buffer): Pick<Entry, 'body' | 'bodyLength' | 'encoding'> {
  // A shell cannot pass a zero byte.
  const encoding = isUtf8(bytes) && !bytes.includes(0) ? 'text' : 'base64';
  const body = bytes.toString(encoding === 'text' ? 'utf8' : 'base64');
  return { body, bodyLength: body.length, encoding };
}

export function requestEntry(delivery: Delivery): Entry {
  const { number, receivedAt, method, headers, body, refusal, status, decidedBy } = delivery;
  const content = bodyContent(body, receivedAt, delivery.repeated);
  const judgement = judge(delivery, content.messages.length > 0);
  const source = `${method} ${shownTarget(delivery)}`;
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
    status,
    title: content.messages[0]?.title ?? judgement.reason,
    subtitle: subtitleOf(content) ?? source,
    facts: [
      ['request', source],
      ['answer', decidedBy === undefined ? `${status}` : `${status} (${decidedBy})`],
      ...(content.attempt === undefined ? [] : [['attempt', `${content.attempt}`] as const]),
      ['size', sizeText(body, refusal?.reason)],
    ],
    headers: rows,
    curl: [
      `curl -X ${quoted(method)} ${quoted(`http://${headers.host ?? ''}${printable(delivery.target)}`)}`,
      ...curlHeaders.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ].join(' \\\n  '),
    ...bodyOf(body),
  };
}

/** Describes a value of a file: a log line, a message, a captured body, or a line of `listen --json`. */
export function valueEntry(item: JsonItem & { readonly file: string }, now: number): Entry {
  const { file, line, text } = item;
  const error = 'error' in item ? item.error : undefined;
  const given = 'error' in item ? undefined : item.value;
  const value = valueAt(given, 'event') === 'message' ? valueAt(given, 'message') : given;
  const content = error === undefined ? valueContent(value, now) : NO_CONTENT;
  const isValid = error === undefined && content.issues.length === 0;
  const reason = isValid ? 'Follows the contract' : 'Breaks the contract';
  return {
    ...content,
    label: `line ${wholeNumber(line)}`,
    source: file,
    verdict: isValid ? 'valid' : 'invalid',
    reason: error ?? reason,
    advice: [],
    title: content.messages[0]?.title ?? error ?? reason,
    subtitle: subtitleOf(content) ?? file,
    facts: [
      ['file', file],
      ['line', wholeNumber(line)],
      ['size', `${wholeNumber(Buffer.byteLength(text))} bytes`],
    ],
    headers: [],
    curl: '',
    body: text.slice(0, MAX_CHARACTERS),
    encoding: 'text',
    bodyLength: text.length,
  };
}
