/** Messages between the contract's objects and the tuples that the worker takes. */
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ApplicationState,
  Claim,
  DeadLetter,
  Json,
  Ledger,
  MessageResult,
  QueueEntry,
  QueueStats,
} from '../queue.ts';
import type {
  ClaimAnswer,
  DeadTuple,
  EntryTuple,
  LedgerTuple,
  Operations,
  ResultTuple,
  StateTuple,
} from './protocol.ts';
import { toWhole } from './protocol.ts';

export const entryTuple = ({ applicationId, stored, sizeBytes }: QueueEntry): EntryTuple => [
  applicationId,
  stored.messageId,
  stored.format,
  stored.bytes.length,
  stored.dateAt,
  stored.countAt,
  sizeBytes,
];

export const stateOf = ([tier, maxMessages, maxBytes, text]: StateTuple): ApplicationState => ({
  tier,
  maxMessages,
  maxBytes,
  circuitBreaker: JSON.parse(text) as Json | null,
});

export function claimOf(answer: ClaimAnswer, bodies: Buffer): Claim {
  const { id, applicationId, format, nowMs } = answer;
  let end = 0;
  const messages = answer.messages.map((tuple) => {
    const [sequence, messageId, length, dateAt, countAt, sends, ageMs, progress] = tuple;
    const bytes = bodies.subarray(end, end + length);
    end += length;
    const stored = new Stored({ messageId, format, bytes, dateAt, countAt });
    const last = progress === null ? null : (JSON.parse(progress) as Json);
    return new Claimed({ sequence, stored, sends, ageMs, progress: last });
  });
  return { id, applicationId, format, state: stateOf(answer.state), nowMs, messages };
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

export function deadLettersOf(tuples: readonly DeadTuple[], bodies: Buffer): DeadLetter[] {
  let end = 0;
  return tuples.map((tuple) => {
    const [id, applicationId, messageId, format, length, dateAt, countAt, sizeBytes] = tuple;
    const [, , , , , , , , sends, reason, lastAttempt, acceptedAt, diedAt] = tuple;
    const bytes = bodies.subarray(end, end + length);
    end += length;
    return {
      id: String(id),
      applicationId,
      stored: new Stored({ messageId, format, bytes, dateAt, countAt }),
      sizeBytes,
      sends,
      reason,
      lastAttempt: JSON.parse(lastAttempt) as Json,
      acceptedAt,
      diedAt,
    };
  });
}

const REASONS = ['purged', 'evicted', 'lost'] as const;

function ledgerOf([, , accepted, delivered, pending, dead, ...discarded]: LedgerTuple): Ledger {
  const counts = REASONS.map((reason, index) => [reason, discarded[index] ?? 0] as const);
  return {
    accepted,
    delivered,
    pending,
    dead,
    discarded: Object.fromEntries(counts.filter(([, count]) => count > 0)),
  };
}

export function statsOf(answer: Operations['stats'][1]): QueueStats {
  const { applications: tuples, pendingBytes, oldestDueMs } = answer;
  const applications = new Map(
    tuples.map((tuple) => [tuple[0], { ...ledgerOf(tuple), tier: tuple[1] }] as const),
  );
  const sum = (place: 2 | 3 | 4 | 5 | 6 | 7 | 8): number =>
    tuples.reduce((total, tuple) => total + tuple[place], 0);
  const total = ['', 'healthy', sum(2), sum(3), sum(4), sum(5), sum(6), sum(7), sum(8)] as const;
  return { ...ledgerOf(total), pendingBytes, oldestDueMs, applications };
}
