/** Converts between the contract's values and the schema's. */
import type {
  ApplicationState,
  ApplicationUpdate,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  ExpiredMessage,
  Format,
  Json,
  Ledger,
  QueueStats,
  Tier,
} from '../queue.ts';

/** What a function of the schema returns, by column. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Texts as PostgreSQL stores them. Its own cannot hold U+0000 or half a surrogate pair, which ids may
 * contain: texts are stored as they are written between the quotes of a JSON string.
 */
export const toEscaped = (text: string): string => JSON.stringify(text).slice(1, -1);

export const fromEscaped = (escaped: string): string => JSON.parse(`"${escaped}"`) as string;

/** Converts a number of the engine, which may be infinite or have a fraction, to a bigint. */
export const toWhole = (value: number): number =>
  Math.min(Math.max(Math.floor(value), 0), Number.MAX_SAFE_INTEGER);

/** JSON has no infinity; the schema takes 1e18 ms for never. */
export const toDuration = (ms: number): number => Math.min(ms, 1e18);

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

export function stateOf({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker,
}: StateJson): ApplicationState {
  return { tier, maxMessages, maxBytes, circuitBreaker: JSON.parse(circuitBreaker) as Json };
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

/** The schema's queue discards messages only when they are purged. */
const ledgerOf = ({ purged, ...counts }: Record<Count, number>): Ledger => ({
  ...counts,
  discarded: purged > 0 ? { purged } : {},
});

const COUNTS = ['accepted', 'delivered', 'pending', 'dead', 'purged'] as const;

type Count = (typeof COUNTS)[number];

export function statsOf(rows: readonly Row[]): QueueStats {
  const applications = new Map<string, Ledger & { readonly tier: Tier }>();
  const total = { accepted: 0, delivered: 0, pending: 0, dead: 0, purged: 0 };
  let pendingBytes = 0;
  let oldestDueMs = 0;
  for (const row of rows) {
    const counts = { ...total };
    for (const name of COUNTS) {
      counts[name] = Number(row[name]);
      total[name] += counts[name];
    }
    const tier = row['tier'] as Tier;
    applications.set(fromEscaped(String(row['id'])), { ...ledgerOf(counts), tier });
    pendingBytes += Number(row['pending_bytes']);
    oldestDueMs = Math.max(oldestDueMs, Number(row['waiting_ms']));
  }
  return { ...ledgerOf(total), pendingBytes, oldestDueMs, applications };
}
