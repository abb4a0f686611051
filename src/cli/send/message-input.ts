/** The input of `send`: from bytes to messages that may be sent, and faults with their place. */
import { API_VERSION, contract, type Dialect, messageToSend } from '../../contract/index.ts';
import { readJson } from '../contract-check.ts';
import { type JsonPiece, JsonSplitter } from '../json-splitter.ts';

export interface InputPlace {
  /** Where it begins, from 1. */
  readonly line: number;
  /** Of an element of an array at the top, from 0. */
  readonly index?: number;
}

export interface InputMessage extends InputPlace {
  readonly kind: 'message';
  /** As `sendWebhook` takes it. */
  readonly message: object;
  /** Of its JSON. */
  readonly bytes: number;
}

export interface InputFault extends InputPlace {
  readonly kind: 'fault';
  /** Within the message. */
  readonly path: readonly PropertyKey[];
  /** What was expected and what was found; no payload. */
  readonly text: string;
}

export type InputItem = InputMessage | InputFault;

export interface InputRules {
  readonly format: 1 | 2;
  readonly dialect: Dialect;
}

/** Above what a request may have: nothing so large could be sent. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

/** A JSON array, a JSON object, or one of them on each line. */
export async function* readInput(
  chunks: AsyncIterable<Uint8Array>,
  rules: InputRules,
): AsyncGenerator<InputItem> {
  const read = readerOf(rules);
  const splitter = new JsonSplitter(MAX_MESSAGE_BYTES);
  for await (const { buffer, byteOffset, byteLength } of chunks) {
    const pieces = splitter.push(Buffer.from(buffer, byteOffset, byteLength));
    for (const piece of pieces) yield* read(piece);
  }
  for (const piece of splitter.end()) yield* read(piece);
}

const placeOf = ({ line, index }: InputPlace): InputPlace =>
  index === undefined ? { line } : { line, index };

const fault = (place: InputPlace, text: string, path: readonly PropertyKey[] = []): InputFault => ({
  kind: 'fault',
  ...placeOf(place),
  path,
  text,
});

const OTHER_FAULTS = {
  'too-long': `expected at most ${MAX_MESSAGE_BYTES} bytes, found more`,
  'not-closed': 'expected `]` at the end of the array, found the end',
  'text-after': 'expected the end of the line, found more text',
} as const;

function readerOf(rules: InputRules): (piece: JsonPiece) => InputItem[] {
  const read = rules.format === 2 ? readerOfV2(rules.dialect) : readerOfV1(rules.dialect);
  return (piece) => {
    // That all elements are there is no element.
    if (piece.kind === 'array') return [];
    if (piece.kind !== 'value') return [fault(piece, OTHER_FAULTS[piece.kind])];
    const json = readJson(piece.bytes);
    if ('fault' in json) {
      const { fault: text, linesBefore = 0 } = json;
      return [fault({ ...piece, line: piece.line + linesBefore }, text)];
    }
    const { issues, message } = read(json.value);
    if (issues.length > 0) return issues.map((issue) => fault(piece, issue.message, issue.path));
    return [{ kind: 'message', ...placeOf(piece), message, bytes: piece.bytes.length }];
  };
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

interface Candidate {
  readonly issues: readonly Issue[];
  /** Of use only without issues. */
  readonly message: object;
}

type Reader = (value: unknown) => Candidate;

interface Schema {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: object }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } };
}

function check(schema: Schema, value: unknown): Candidate {
  const found = schema.safeParse(value);
  return found.success
    ? { issues: [], message: found.data }
    : { issues: found.error.issues, message: {} };
}

/** What was received or kept may be sent again: of its envelope the id stays, the rest is made anew (D20). */
function readerOfV2(dialect: Dialect): Reader {
  const draft = messageToSend(dialect) as Schema;
  const whole = contract({ dialect }).WebhookMessageV2 as Schema;
  return (value) => {
    if (!hasEnvelope(value)) return check(draft, value);
    const { issues, message } = check(whole, value);
    const { message_id, message_type, message: content } = message as Record<string, unknown>;
    return { issues, message: { message_id, message_type, message: content } };
  };
}

const hasEnvelope = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'api_version' in value &&
  value.api_version === API_VERSION;

const readerOfV1 = (dialect: Dialect): Reader => {
  const schema = contract({ dialect }).WebhookMessageV1 as Schema;
  return (value) => check(schema, value);
};
