/** Claims and verdicts, between the contract's words and the schema's. */
import type {
  ApplicationRow,
  Claim,
  ClaimedMessage,
  Format,
  Json,
  Moved,
  Nothing,
  Tier,
  Verdict,
} from '../queue.ts';
import type { Row } from './database.ts';
import { fromJsonText, fromText, toJsonText, toWhole } from './words.ts';

/** One message of a claim, as `next_messages` writes it. */
type MessageWords = readonly [
  messageId: string,
  format: Format,
  length: number,
  dateAt: number,
  countAt: number,
  senderId: string,
  number: number,
  sends: number,
  ageMs: number,
  progress: Json | null,
  sizeBytes: number,
  dueInMs: number,
  maxMessages: number | null,
];

export const rowOf = (row: Row): ApplicationRow => ({
  tier: row['tier'] as Tier,
  maxMessages: Number(row['max_messages']),
  maxBytes: Number(row['max_bytes']),
  lane: fromJsonText(String(row['lane'])),
});

export function claimOf(row: Row, isEarly: boolean): Claim {
  const content = row['content'] as Buffer;
  let end = 0;
  const messages = (JSON.parse(String(row['messages'])) as MessageWords[]).map((words) => {
    const start = end;
    end += words[2];
    return messageOf(words, content.subarray(start, end), isEarly);
  });
  return {
    id: String(row['claim']),
    applicationId: fromText(String(row['application'])),
    format: (messages[0] as ClaimedMessage).stored.format,
    row: rowOf(row),
    now: Number(row['now_ms']),
    messages,
  };
}

function messageOf(words: MessageWords, bytes: Buffer, isEarly: boolean): ClaimedMessage {
  const [messageId, format, , dateAt, countAt, senderId, number, sends, ageMs, progress] = words;
  const [, , , , , , , , , , sizeBytes, dueInMs, maxMessages] = words;
  const moving = {
    sizeBytes,
    dueInMs: Math.max(0, dueInMs),
    ...(maxMessages === null ? {} : { maxMessages }),
  };
  return {
    stored: { messageId: fromText(messageId), format, bytes, dateAt, countAt },
    origin: { senderId: fromText(senderId), number },
    sends,
    ageMs,
    progress,
    ...(isEarly ? { moving } : {}),
  };
}

/** To ask again where others hold what could be claimed. */
const SOON_MS = 5;

export function nothingOf({ unfolded, due_in: dueIn }: Row): Nothing {
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

const LETTERS: Readonly<Record<(Verdict | Moved)['kind'], string>> = {
  delivered: 'v',
  moved: 'm',
  dead: 'd',
  again: 'a',
};

export const VERDICT_TYPES = [
  'text',
  'double precision[]',
  'bigint[]',
  'text[]',
  'text[]',
  'text[]',
] as const;

/** As {@link VERDICT_TYPES}. */
export function verdictArrays(verdicts: readonly (Verdict | Moved)[]): unknown[] {
  const kinds = verdicts.map(({ kind }) => LETTERS[kind]).join('');
  const again = (value: (verdict: Extract<Verdict, { kind: 'again' }>) => unknown) =>
    kinds.includes('a')
      ? verdicts.map((one) => (one.kind === 'again' ? (value(one) ?? null) : null))
      : null;
  const dead = (value: (verdict: Extract<Verdict, { kind: 'dead' }>) => unknown) =>
    kinds.includes('d') ? verdicts.map((one) => (one.kind === 'dead' ? value(one) : null)) : null;
  return [
    kinds,
    again(({ afterMs }) => afterMs),
    again(({ maxMessages }) => maxMessages && toWhole(maxMessages)),
    again(({ progress }) => toJsonText(progress)),
    dead(({ reason }) => reason),
    dead(({ end }) => toJsonText(end)),
  ];
}

export const ROW_TYPES = ['text', 'bigint', 'bigint', 'text'] as const;

/** As {@link ROW_TYPES}. */
export const rowValues = ({ tier, maxMessages, maxBytes, lane }: ApplicationRow): unknown[] => [
  tier,
  toWhole(maxMessages),
  toWhole(maxBytes),
  toJsonText(lane),
];
