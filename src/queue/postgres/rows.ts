/** Converts between the contract's types and the schema's. */
import type {
  ApplicationState,
  ApplicationUpdate,
  Claim,
  ClaimedMessage,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  DiscardReason,
  ExpiredMessage,
  Format,
  Json,
  Ledger,
  MessageResult,
  QueueEntry,
  QueueStats,
  Tier,
} from '../queue.ts';
import type { Row } from './database.ts';
import { fromEscaped, toDuration, toEscaped, toWhole } from './escaped-text.ts';

export interface EntryArguments {
  readonly args: Readonly<Record<string, readonly unknown[]>>;
  readonly content: Buffer;
}

export function entryArguments(entries: readonly QueueEntry[]): EntryArguments {
  const places = new Map<string, number>();
  const owners: number[] = [];
  const starts: number[] = [];
  let end = 0;
  for (const { applicationId, stored } of entries) {
    let place = places.get(applicationId);
    if (place === undefined) {
      place = places.size + 1;
      places.set(applicationId, place);
    }
    owners.push(place);
    starts.push(end);
    end += stored.bytes.length;
  }
  const args = {
    ids: Array.from(places.keys(), toEscaped),
    owners,
    starts,
    messageIds: entries.map(({ stored }) => toEscaped(stored.messageId)),
    formats: entries.map(({ stored }) => stored.format),
    lengths: entries.map(({ stored }) => stored.bytes.length),
    dateAts: entries.map(({ stored }) => stored.dateAt),
    countAts: entries.map(({ stored }) => stored.countAt),
    sizes: entries.map(({ sizeBytes }) => sizeBytes),
  };
  return {
    args,
    content: Buffer.concat(
      entries.map(({ stored }) => stored.bytes),
      end,
    ),
  };
}

/** The state of an application, as arguments and answers have it. `circuitBreaker` is JSON text. */
export interface StateJson {
  readonly tier: Tier;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly circuitBreaker: string;
}

export const stateJson = (state: ApplicationState): StateJson => ({
  tier: state.tier,
  maxMessages: toWhole(state.maxMessages),
  maxBytes: toWhole(state.maxBytes),
  circuitBreaker: JSON.stringify(state.circuitBreaker),
});

export const updateJson = (update: ApplicationUpdate) => ({
  state: stateJson(update),
  pauseMs: toDuration(update.pauseMs),
});

export const stateOf = ({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker,
}: StateJson): ApplicationState => ({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker: JSON.parse(circuitBreaker) as Json,
});

/** Names a claim in the schema: the number of its application, and its own. */
export interface ClaimName {
  readonly number: number;
  readonly claim: number;
}

/** What `claim` returns: a claim, or when to ask again. */
export interface ClaimAnswer extends StateJson, ClaimName {
  readonly application: string;
  readonly nowMs: number;
  readonly hasDeltas: boolean;
  readonly dueIn: number | null;
}

/** One message of a claim, as `claimed_messages` writes it. */
type MessageJson = readonly [
  sequence: number,
  messageId: string,
  format: Format,
  length: number,
  dateAt: number,
  countAt: number,
  sends: number,
  ageMs: number,
  progress: Json,
];

export function claimOf(answer: ClaimAnswer, [head, content]: readonly Buffer[]): Claim {
  const bytes = content as Buffer;
  let end = 0;
  const messages = (JSON.parse(`[${String(head)}]`) as MessageJson[]).map((message) => {
    const start = end;
    end += message[3];
    return messageOf(message, bytes.subarray(start, end));
  });
  return {
    id: `${answer.number}-${answer.claim}`,
    applicationId: fromEscaped(answer.application),
    format: (messages[0] as ClaimedMessage).stored.format,
    state: stateOf(answer),
    nowMs: answer.nowMs,
    messages,
  };
}

function messageOf(message: MessageJson, bytes: Buffer): ClaimedMessage {
  const [sequence, messageId, format, , dateAt, countAt, sends, ageMs, progress] = message;
  const stored = { messageId, format, bytes, dateAt, countAt };
  return { sequence, stored, sends, ageMs, progress };
}

const CLAIM_ID = /^(\d{1,15})-(\d{1,16})$/;

/** Returns `undefined` for an id that no claim of such a queue has. */
export function claimName({ id }: Pick<Claim, 'id'>): ClaimName | undefined {
  const [, number, claim] = CLAIM_ID.exec(id) ?? [];
  return number === undefined ? undefined : { number: Number(number), claim: Number(claim) };
}

const LETTERS: Readonly<Record<MessageResult['kind'], string>> = {
  delivered: 'v',
  dead: 'd',
  retry: 'r',
};

/** The arrays are absent if no result needs them. */
export function resultArguments(results: readonly MessageResult[]): object {
  const kinds = results.map(({ kind }) => LETTERS[kind]).join('');
  const retries = results.map((result) => (result.kind === 'retry' ? result : undefined));
  const dead = results.map((result) => (result.kind === 'dead' ? result : undefined));
  return {
    kinds,
    ...(kinds.includes('r') && {
      afters: retries.map((one) => one && toDuration(Math.ceil(one.afterMs))),
      limits: retries.map((one) => one?.maxMessages && toWhole(one.maxMessages)),
      progresses: retries.map((one) => one && JSON.stringify(one.progress)),
    }),
    ...(kinds.includes('d') && {
      reasons: dead.map((one) => one?.reason),
      lastAttempts: dead.map((one) => one && JSON.stringify(one.lastAttempt)),
    }),
  };
}

export const expiredOf = (rows: readonly Row[]): ExpiredMessage[] =>
  rows.map((row) => ({
    applicationId: fromEscaped(String(row['application'])),
    messageId: fromEscaped(String(row['message_id'])),
    sequence: Number(row['sequence']),
  }));

const DEAD_LETTER_ID = /^\d{1,15}$/;

/** Leaves out ids that no dead letter has. */
export const filterArguments = ({ applicationId, ids }: DeadLetterFilter): object => ({
  ...(applicationId !== undefined && { application: toEscaped(applicationId) }),
  ...(ids !== undefined && { ids: ids.filter((id) => DEAD_LETTER_ID.test(id)).map(Number) }),
});

export const cursorOf = (after: string | undefined): number =>
  after !== undefined && DEAD_LETTER_ID.test(after) ? Number(after) : 0;

/** Takes one more row than the limit, if there is another page. */
export function deadLetterPage(rows: readonly Row[], limit: number): DeadLetterPage {
  const items = rows.slice(0, limit).map(deadLetterOf);
  const next = rows.length > limit ? items.at(-1)?.id : undefined;
  return next === undefined ? { items } : { items, next };
}

function deadLetterOf(row: Row): DeadLetter {
  return {
    id: String(row['id']),
    applicationId: fromEscaped(String(row['application'])),
    stored: {
      messageId: fromEscaped(String(row['message_id'])),
      format: Number(row['format']) as Format,
      bytes: row['content'] as Buffer,
      dateAt: Number(row['date_at']),
      countAt: Number(row['count_at']),
    },
    sizeBytes: Number(row['size_bytes']),
    sends: Number(row['sends']),
    reason: row['reason'] as DeadReason,
    lastAttempt: JSON.parse(String(row['last_attempt'])) as Json,
    acceptedAt: Number(row['accepted_at']),
    diedAt: Number(row['died_at']),
  };
}

type Counts = { -readonly [Key in keyof Ledger]: Ledger[Key] };

/** Such a queue discards messages only when they are purged. */
const discardedOf = (purged: number): Partial<Record<DiscardReason, number>> =>
  purged > 0 ? { purged } : {};

export function statsOf(rows: readonly Row[]): QueueStats {
  const applications = new Map<string, Ledger & { readonly tier: Tier }>();
  const total: Counts = { accepted: 0, delivered: 0, pending: 0, dead: 0, discarded: {} };
  let pendingBytes = 0;
  let oldestDueMs = 0;
  let purged = 0;
  for (const row of rows) {
    const count = (name: string): number => Number(row[name] ?? 0);
    const counts = {
      accepted: count('accepted'),
      delivered: count('delivered'),
      pending: count('pending'),
      dead: count('dead'),
    };
    const ledger = {
      ...counts,
      discarded: discardedOf(count('purged')),
      tier: row['tier'] as Tier,
    };
    applications.set(fromEscaped(String(row['id'])), ledger);
    for (const key of ['accepted', 'delivered', 'pending', 'dead'] as const)
      total[key] += counts[key];
    purged += count('purged');
    pendingBytes += count('pending_bytes');
    oldestDueMs = Math.max(oldestDueMs, count('waiting_ms'));
  }
  return { ...total, discarded: discardedOf(purged), pendingBytes, oldestDueMs, applications };
}
