/** Messages of the contract, as they travel between the threads: tuples, and their bytes in a buffer. */
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ApplicationState,
  Claim,
  DeadLetter,
  DeadLetterPage,
  DeadReason,
  EnqueueResult,
  Format,
  Json,
  Ledger,
  MessageResult,
  QueueEntry,
  QueueStats,
  Tier,
} from '../queue.ts';
import { type MessageTuple, type StoredState, toWhole } from './protocol.ts';
import type { LedgerRow, StatsAnswer } from './worker/applications.ts';
import type { ClaimAnswer } from './worker/claim.ts';
import type { DeadLettersAnswer } from './worker/dead-letters.ts';
import type { Accepted } from './worker/enqueue.ts';
import type { ContentRow } from './worker/schema.ts';
import type { ResultTuple } from './worker/settle.ts';

export const entryTuple = ({ applicationId, stored, sizeBytes }: QueueEntry): MessageTuple => [
  applicationId,
  stored.messageId,
  stored.format,
  stored.bytes.length,
  stored.dateAt,
  stored.countAt,
  sizeBytes,
];

/** Sequences are given one after the other. */
export function acceptedOf(entries: readonly unknown[], accepted: Accepted): EnqueueResult {
  const { first, closed, count } =
    typeof accepted === 'number'
      ? { first: accepted, closed: [], count: entries.length }
      : accepted;
  return { sequences: Array.from({ length: count }, (_, index) => first + index), closed };
}

/** JSON that the engine wrote; `null` for a text that is damaged. */
function parsed(text: string | null): Json | null {
  try {
    return text === null ? null : (JSON.parse(text) as Json);
  } catch {
    return null;
  }
}

export const stateOf = ([tier, maxMessages, maxBytes, text]: StoredState): ApplicationState => ({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker: parsed(text),
});

/** Cuts a buffer into the bytes of its messages. */
function cutter({ buffer, byteOffset, byteLength }: Uint8Array): (length: number) => Buffer {
  const all = Buffer.from(buffer, byteOffset, byteLength);
  let end = 0;
  return (length) => {
    end += length;
    return all.subarray(end - length, end);
  };
}

export function claimOf({ messages: rows, bodies, ...claim }: ClaimAnswer): Claim {
  const next = cutter(bodies);
  const messages = rows.map(
    (row) =>
      new Claimed({
        sequence: row.sequence,
        stored: storedOf(row, claim.format, next(row.length)),
        sends: row.sends,
        ageMs: claim.nowMs - row.accepted,
        progress: parsed(row.progress),
      }),
  );
  return { ...claim, state: stateOf(claim.state), messages };
}

const storedOf = (
  row: Pick<ContentRow, 'message_id' | 'date_at' | 'count_at'>,
  format: Format,
  bytes: Buffer,
): Stored =>
  new Stored({
    messageId: row.message_id,
    format,
    bytes,
    dateAt: row.date_at,
    countAt: row.count_at,
  });

/** `null` when all were delivered. */
export function resultTuples(results: readonly MessageResult[]): ResultTuple[] | null {
  // As it visits holes as well, which are no results.
  if (results.findIndex((result) => result.kind !== 'delivered') === -1) return null;
  return results.map(resultTuple);
}

function resultTuple(result: MessageResult): ResultTuple {
  if (result.kind === 'delivered') return ['delivered'];
  if (result.kind === 'dead') return ['dead', result.reason, JSON.stringify(result.lastAttempt)];
  const { afterMs, maxMessages, progress } = result;
  const limit = maxMessages === undefined ? null : toWhole(maxMessages);
  return ['retry', afterMs, limit, JSON.stringify(progress)];
}

export function deadLettersOf({ letters, bodies, next }: DeadLettersAnswer): DeadLetterPage {
  const cut = cutter(bodies);
  const items = letters.map(
    (row): DeadLetter => ({
      id: String(row.id),
      applicationId: row.applicationId,
      stored: storedOf(row, row.format as Format, cut(row.length)),
      sizeBytes: row.size_bytes,
      sends: row.sends,
      reason: row.reason as DeadReason,
      lastAttempt: parsed(row.last_attempt),
      acceptedAt: row.accepted,
      diedAt: row.died,
    }),
  );
  return next === undefined ? { items } : { items, next: String(next) };
}

type Counts = Omit<LedgerRow, 'id' | 'tier'>;

function ledgerOf({ delivered, pending, dead, ...discards }: Counts): Ledger {
  const counts = Object.entries(discards).filter(([, count]) => count > 0);
  const sum = counts.reduce((total, [, count]) => total + count, 0);
  const accepted = delivered + pending + dead + sum;
  return { accepted, delivered, pending, dead, discarded: Object.fromEntries(counts) };
}

export function statsOf({
  applications: rows,
  pendingBytes,
  oldestDueMs,
}: StatsAnswer): QueueStats {
  const total = { delivered: 0, pending: 0, dead: 0, purged: 0, evicted: 0, lost: 0 };
  const applications = new Map<string, Ledger & { readonly tier: Tier }>();
  for (const { id, tier, ...counts } of rows) {
    applications.set(id, { ...ledgerOf(counts), tier });
    for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
  }
  return { ...ledgerOf(total), pendingBytes, oldestDueMs, applications };
}
