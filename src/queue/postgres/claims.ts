/** Claims and results, between the contract's words and the schema's. */
import type {
  ApplicationState,
  Claim,
  ClaimedMessage,
  Format,
  Json,
  MessageResult,
  NothingDue,
  Tier,
} from '../queue.ts';
import type { Row } from './database.ts';
import { fromJsonText, fromText, toJsonText, toWhole } from './words.ts';

/** One message of a claim, as `next_messages` writes it. */
type MessageWords = readonly [
  sequence: number,
  messageId: string,
  format: Format,
  length: number,
  dateAt: number,
  countAt: number,
  sends: number,
  ageMs: number,
  progress: Json | null,
];

export const stateOf = (row: Row): ApplicationState => ({
  tier: row['tier'] as Tier,
  maxMessages: Number(row['max_messages']),
  maxBytes: Number(row['max_bytes']),
  circuitBreaker: fromJsonText(String(row['circuit_breaker'])),
});

export function claimOf(row: Row): Claim {
  const content = row['content'] as Buffer;
  let end = 0;
  const messages = (JSON.parse(String(row['messages'])) as MessageWords[]).map((words) => {
    const start = end;
    end += words[3];
    return messageOf(words, content.subarray(start, end));
  });
  return {
    id: String(row['claim']),
    applicationId: fromText(String(row['application'])),
    format: (messages[0] as ClaimedMessage).stored.format,
    state: stateOf(row),
    nowMs: Number(row['now_ms']),
    messages,
  };
}

function messageOf(words: MessageWords, bytes: Buffer): ClaimedMessage {
  const [sequence, messageId, format, , dateAt, countAt, sends, ageMs, progress] = words;
  const stored = { messageId: fromText(messageId), format, bytes, dateAt, countAt };
  return { sequence, stored, sends, ageMs, progress };
}

/** To ask again where others hold what could be claimed. */
const SOON_MS = 5;

export function nothingOf({ unfolded, due_in: dueIn }: Row): NothingDue {
  if (dueIn === null && unfolded !== true) return {};
  const dueInMs = dueIn === null ? SOON_MS : Number(dueIn);
  // Due, and not given: another process holds it, and is about to let go of it.
  return { dueInMs: unfolded === true || dueInMs <= 0 ? SOON_MS : dueInMs };
}

export interface ClaimName {
  readonly application: string;
  readonly claim: string;
}

const CLAIM_ID = /^(\d{1,18})-(\d{1,18})$/;

/** `undefined` for what no claim of such a queue is called. */
export function claimName({ id }: Claim): ClaimName | undefined {
  const [, application, claim] = CLAIM_ID.exec(id) ?? [];
  return application === undefined || claim === undefined ? undefined : { application, claim };
}

const LETTERS: Readonly<Record<MessageResult['kind'], string>> = {
  delivered: 'v',
  dead: 'd',
  retry: 'r',
};

export const RESULT_TYPES = [
  'text',
  'double precision[]',
  'bigint[]',
  'text[]',
  'text[]',
  'text[]',
] as const;

/** As {@link RESULT_TYPES}. */
export function resultArrays(results: readonly MessageResult[]): unknown[] {
  const kinds = results.map(({ kind }) => LETTERS[kind]).join('');
  const retry = (value: (result: Extract<MessageResult, { kind: 'retry' }>) => unknown) =>
    kinds.includes('r')
      ? results.map((one) => (one.kind === 'retry' ? (value(one) ?? null) : null))
      : null;
  const dead = (value: (result: Extract<MessageResult, { kind: 'dead' }>) => unknown) =>
    kinds.includes('d') ? results.map((one) => (one.kind === 'dead' ? value(one) : null)) : null;
  return [
    kinds,
    retry(({ afterMs }) => afterMs),
    retry(({ maxMessages }) => maxMessages && toWhole(maxMessages)),
    retry(({ progress }) => toJsonText(progress)),
    dead(({ reason }) => reason),
    dead(({ lastAttempt }) => toJsonText(lastAttempt)),
  ];
}

export const STATE_TYPES = ['text', 'bigint', 'bigint', 'text'] as const;

/** As {@link STATE_TYPES}. */
export const stateValues = ({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker,
}: ApplicationState): unknown[] => [
  tier,
  toWhole(maxMessages),
  toWhole(maxBytes),
  toJsonText(circuitBreaker),
];
