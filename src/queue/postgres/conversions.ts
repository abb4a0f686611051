/** Converts between the contract's values and the schema's. */
import type {
  ApplicationState,
  ApplicationUpdate,
  DeadLetter,
  DeadLetteredMessage,
  DeadLetterFilter,
  DeadLetterPage,
  Health,
  Json,
  Ledger,
  QueueStats,
  StoredMessage,
} from '../queue.ts';
import { deadLetterNumber, fromText, sumLedgers, toText, toWhole } from '../stored-values.ts';

/** Replaces infinity, which JSON lacks. For the schema 1e18 ms means never. */
export const toDuration = (ms: number): number => Math.min(ms, 1e18);

/** The state of an application in arguments and answers. `circuitBreaker` is JSON text. */
export interface StateJson {
  readonly health: Health;
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly circuitBreaker: string;
}

export const stateJson = (state: ApplicationState): StateJson => ({
  health: state.health,
  maxMessages: toWhole(state.maxMessages),
  maxBytes: toWhole(state.maxBytes),
  circuitBreaker: JSON.stringify(state.circuitBreaker),
});

export const updateJson = (update: ApplicationUpdate) => ({
  state: stateJson(update),
  pauseMs: toDuration(update.pauseMs),
});

export function stateOf(row: StateJson): ApplicationState {
  const { health, maxMessages, maxBytes } = row;
  return { health, maxMessages, maxBytes, circuitBreaker: JSON.parse(row.circuitBreaker) as Json };
}

export const deadLetteredOf = (rows: readonly DeadLetteredMessage[]): DeadLetteredMessage[] =>
  rows.map(({ applicationId, messageId, sequence }) => ({
    applicationId: fromText(applicationId),
    messageId: fromText(messageId),
    sequence,
  }));

export const filterArguments = ({ applicationId, ids }: DeadLetterFilter): object => ({
  ...(applicationId !== undefined && { application: toText(applicationId) }),
  ...(ids !== undefined && { ids: ids.map(deadLetterNumber) }),
});

/** A row of the schema's `dead_letters`. `content` is base64. */
type DeadLetterRow = Omit<DeadLetter, 'id' | 'stored'> &
  Omit<StoredMessage, 'bytes'> & { readonly id: number; readonly content: string };

/** `rows` has one row more than the limit if there is another page. */
export function deadLetterPage(rows: readonly DeadLetterRow[], limit: number): DeadLetterPage {
  const items = rows.slice(0, limit).map(deadLetterOf);
  const next = rows.length > limit ? items.at(-1)?.id : undefined;
  return next === undefined ? { items } : { items, next };
}

function deadLetterOf(row: DeadLetterRow): DeadLetter {
  const { id, applicationId, messageId, format, content, dateAt, countAt, ...letter } = row;
  const bytes = Buffer.from(content, 'base64');
  return {
    ...letter,
    id: String(id),
    applicationId: fromText(applicationId),
    stored: { messageId: fromText(messageId), format, bytes, dateAt, countAt },
  };
}

/** This queue discards messages only by a purge. */
const ledgerOf = ({ purged, ...counts }: Record<Count, number>): Ledger => ({
  ...counts,
  discarded: purged > 0 ? { purged } : {},
});

type Count = 'accepted' | 'delivered' | 'pending' | 'dead' | 'purged';

interface StatsRow extends Record<Count, number> {
  readonly id: string;
  readonly health: Health;
  readonly pending_bytes: number;
  readonly waiting_ms: number | null;
}

export function statsOf(rows: readonly StatsRow[]): QueueStats {
  const applications = new Map<string, Ledger & { readonly health: Health }>();
  let pendingBytes = 0;
  let oldestDueMs = 0;
  for (const { id, health, pending_bytes, waiting_ms, ...counts } of rows) {
    applications.set(fromText(id), { ...ledgerOf(counts), health });
    pendingBytes += pending_bytes;
    oldestDueMs = Math.max(oldestDueMs, waiting_ms ?? 0);
  }
  return { ...sumLedgers(applications.values()), pendingBytes, oldestDueMs, applications };
}
