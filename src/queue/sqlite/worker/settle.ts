import type { Operations, ResultTuple, StateUpdate } from '../protocol.ts';
import { buryMessage, evict } from './dead-letters.ts';
import { Rejection } from './failure.ts';
import type { Application, Moment, Transaction } from './transaction.ts';
import {
  claimedSequences,
  endClaim,
  findClaim,
  place,
  readProgress,
  writeProgress,
} from './waiting.ts';

type Settlement = Operations['settle'][0];

/** Records one result for each message of the claim. Returns false when the claim is lost. */
export function settle(transaction: Transaction, settlement: Settlement, at: Moment): boolean {
  const application = findClaim(transaction, settlement.id);
  if (application === undefined) return false;
  const sequences = claimedSequences(transaction, application);
  if (sequences.length !== settlement.count) {
    const detail = `${settlement.count} results for ${sequences.length} messages`;
    throw new Rejection('ERR_QUEUE_FAILED', detail);
  }
  if (settlement.results === null) deliverAll(transaction, application, sequences);
  else {
    for (const [index, result] of settlement.results.entries()) {
      record(transaction, { application, sequence: sequences[index] ?? 0, result, at });
    }
    evict(transaction, settlement.maxDeadBytes);
  }
  finish(transaction, application, { update: settlement.update, at });
  return true;
}

/** Ends a claim whose messages were not sent. Returns false when the claim is lost. */
export function release(
  transaction: Transaction,
  { id, update }: Operations['release'][0],
  at: Moment,
): boolean {
  const application = findClaim(transaction, id);
  if (application === undefined) return false;
  finish(transaction, application, { update, at });
  return true;
}

export function closeHandle(
  transaction: Transaction,
  claims: readonly string[],
  at: Moment,
): number {
  for (const id of claims) release(transaction, { id, update: null }, at);
  return transaction.state.pending;
}

export function extend(
  transaction: Transaction,
  { id, leaseMs }: Operations['extend'][0],
  at: Moment,
): boolean {
  const application = findClaim(transaction, id);
  if (application === undefined) return false;
  application.lease_end = at.after(leaseMs);
  transaction.changed(application);
  return true;
}

function finish(
  transaction: Transaction,
  application: Application,
  { update, at }: { readonly update: StateUpdate | null; readonly at: Moment },
): void {
  endClaim(transaction, application, at.nowMs);
  if (update !== null) {
    const [tier, maxMessages, maxBytes, circuitBreaker] = update.state;
    // Only `reopenApplication` opens a closed one.
    if (application.tier !== 'closed') application.tier = tier;
    application.max_messages = maxMessages;
    application.max_bytes = maxBytes;
    application.circuit_breaker = circuitBreaker;
    application.not_before = at.after(update.pauseMs);
  }
  place(transaction, application, at.nowMs);
  transaction.announceDue();
}

/** Deletes whole ranges of sequences: most claims have few. */
function deliverAll(
  transaction: Transaction,
  application: Application,
  sequences: readonly number[],
): void {
  const { database } = transaction;
  const claim = database.get('select size_bytes from claim where number = ?', application.claim);
  let deleted = 0;
  for (const { from, to } of rangesOf(sequences)) {
    deleted += database.run('delete from message where sequence between ? and ?', from, to);
  }
  transaction.addPending(application, -deleted, -Number(claim?.['size_bytes'] ?? 0));
  application.delivered += deleted;
}

function rangesOf(sequences: readonly number[]): { readonly from: number; to: number }[] {
  const ranges: { readonly from: number; to: number }[] = [];
  for (const sequence of sequences.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to === sequence - 1) last.to = sequence;
    else ranges.push({ from: sequence, to: sequence });
  }
  return ranges;
}

interface MessageOutcome {
  readonly application: Application;
  readonly sequence: number;
  readonly result: ResultTuple;
  readonly at: Moment;
}

function record(
  transaction: Transaction,
  { application, sequence, result, at }: MessageOutcome,
): void {
  const row = readProgress(transaction, sequence);
  if (row === undefined) return;
  const [kind] = result;
  if (kind === 'retry') {
    const [, afterMs, maxMessages, progress] = result;
    const due = afterMs > 0 ? at.after(afterMs) : row.due;
    const sends = row.sends + 1;
    writeProgress(transaction, { ...row, due, sends, max_messages: maxMessages, progress });
    return;
  }
  if (kind === 'dead') {
    const [, reason, lastAttempt] = result;
    const sends = row.sends + 1;
    const death = { reason, lastAttempt, diedMs: at.nowMs };
    buryMessage(transaction, application, { sequence, sends, death });
    return;
  }
  transaction.database.run('delete from message where sequence = ?', sequence);
  transaction.addPending(application, -1, -row.size_bytes);
  application.delivered += 1;
}
