/** Messages of the contract, as they travel between the threads: tuples, and their bytes in a buffer. */
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ApplicationState,
  Claim,
  DeadLetter,
  DeadLetterPage,
  Json,
  Ledger,
  MessageResult,
  QueueEntry,
  QueueStats,
} from '../queue.ts';
import { type MessageTuple, type StoredState, toWhole } from './protocol.ts';
import type { LedgerTuple, StatsAnswer } from './worker/applications.ts';
import type { ClaimAnswer } from './worker/claim.ts';
import type { DeadLettersAnswer } from './worker/dead-letters.ts';
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

export function claimOf({ messages: tuples, bodies, ...claim }: ClaimAnswer): Claim {
  const next = cutter(bodies);
  const { format } = claim;
  const messages = tuples.map((tuple) => {
    const [sequence, messageId, length, dateAt, countAt, sends, ageMs, progress] = tuple;
    const stored = new Stored({ messageId, format, bytes: next(length), dateAt, countAt });
    return new Claimed({ sequence, stored, sends, ageMs, progress: parsed(progress) });
  });
  return { ...claim, state: stateOf(claim.state), messages };
}

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
  const items = letters.map((tuple): DeadLetter => {
    const [id, applicationId, messageId, format, length, dateAt, countAt, sizeBytes] = tuple;
    const [, , , , , , , , sends, reason, lastAttempt, acceptedAt, diedAt] = tuple;
    const stored = new Stored({ messageId, format, bytes: cut(length), dateAt, countAt });
    const age = { acceptedAt, diedAt };
    const letter = { applicationId, stored, sizeBytes, sends, reason };
    return { id: String(id), ...letter, lastAttempt: parsed(lastAttempt), ...age };
  });
  return next === undefined ? { items } : { items, next: String(next) };
}

type Counts = readonly [
  delivered: number,
  pending: number,
  dead: number,
  purged: number,
  evicted: number,
  lost: number,
];

function ledgerOf([delivered, pending, dead, purged, evicted, lost]: Counts): Ledger {
  const counts = Object.entries({ purged, evicted, lost }).filter(([, count]) => count > 0);
  return {
    accepted: delivered + pending + dead + purged + evicted + lost,
    delivered,
    pending,
    dead,
    discarded: Object.fromEntries(counts),
  };
}

export function statsOf({
  applications: tuples,
  pendingBytes,
  oldestDueMs,
}: StatsAnswer): QueueStats {
  const total: [number, number, number, number, number, number] = [0, 0, 0, 0, 0, 0];
  const applications = new Map(
    tuples.map(([id, tier, ...counts]: LedgerTuple) => {
      for (const [index, count] of counts.entries()) total[index] = (total[index] ?? 0) + count;
      return [id, { ...ledgerOf(counts), tier }] as const;
    }),
  );
  return { ...ledgerOf(total), pendingBytes, oldestDueMs, applications };
}
