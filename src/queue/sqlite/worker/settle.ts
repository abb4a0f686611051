import type { DeadReason } from '../../queue.ts';
import type { StoredState } from '../protocol.ts';
import type { Context } from './context.ts';
import { evict } from './dead-letters.ts';
import { Rejection } from './failure.ts';
import { claimedRanges, endClaim, findClaim, sequencesIn } from './lease.ts';
import { moveToDeadLetters, readProgress, updateReadiness, writeProgress } from './messages.ts';
import type { Application } from './store.ts';

export type ResultTuple =
  | readonly ['delivered']
  | readonly ['dead', reason: DeadReason, lastAttempt: string]
  | readonly ['retry', afterMs: number, maxMessages: number | null, progress: string];

export interface StateUpdate {
  readonly state: StoredState;
  readonly pauseMs: number;
}

/**
 * Records one result for each message of the claim; `results` is `null` when all were delivered.
 * Returns false when the claim is lost.
 */
export function settle(
  context: Context,
  id: string,
  {
    results,
    count,
    update,
  }: {
    readonly results: readonly ResultTuple[] | null;
    readonly count: number;
    readonly update: StateUpdate;
  },
): boolean {
  const application = findClaim(context, id);
  if (application === undefined) return false;
  const claimed = claimedRanges(context, application);
  if (claimed === undefined) {
    const detail = 'the claim is damaged: its messages are due again when its lease has expired';
    throw new Rejection('ERR_QUEUE_FAILED', detail);
  }
  if (application.claimed !== count) {
    const detail = `${count} results for ${application.claimed} messages`;
    throw new Rejection('ERR_QUEUE_FAILED', detail);
  }
  if (results === null) deliverAll(context, application, claimed);
  else {
    for (const [index, sequence] of sequencesIn(claimed.ranges).entries()) {
      record(context, application, { sequence, result: results[index] as ResultTuple });
    }
    evict(context);
  }
  finish(context, application, update);
  return true;
}

/** Ends a claim whose messages were not sent. Returns false when the claim is lost. */
export function release(context: Context, id: string, update: StateUpdate | null): boolean {
  const application = findClaim(context, id);
  if (application === undefined) return false;
  finish(context, application, update);
  return true;
}

/** Releases the claims of a handle that closes. Returns the number of messages that stay. */
export function closeHandle(context: Context, claims: readonly string[]): number {
  for (const id of claims) release(context, id, null);
  return context.store.state.pending;
}

export function extend(context: Context, id: string, leaseMs: number): boolean {
  const application = findClaim(context, id);
  if (application === undefined) return false;
  application.lease_end = context.after(leaseMs);
  context.store.changed(application);
  return true;
}

function finish(context: Context, application: Application, update: StateUpdate | null): void {
  endClaim(context, application, context.nowMs);
  if (update !== null) {
    const { tier } = application;
    setState(application, update.state);
    // Only `reopenApplication` opens a closed one.
    if (tier === 'closed') application.tier = tier;
    application.not_before = context.after(update.pauseMs);
  }
  updateReadiness(context, application);
  context.store.announceDue();
}

export function setState(application: Application, state: StoredState): void {
  const [tier, maxMessages, maxBytes, circuitBreaker] = state;
  application.tier = tier;
  application.max_messages = maxMessages;
  application.max_bytes = maxBytes;
  application.circuit_breaker = circuitBreaker;
}

/** Deletes whole ranges of sequences. */
function deliverAll(
  { store, database }: Context,
  application: Application,
  { ranges, sizeBytes }: NonNullable<ReturnType<typeof claimedRanges>>,
): void {
  let deleted = 0;
  for (const { from, to } of ranges) {
    deleted += database.run('delete from message where sequence between ? and ?', from, to);
  }
  store.addPending(application, -deleted, -sizeBytes);
  application.delivered += deleted;
}

function record(
  context: Context,
  application: Application,
  { sequence, result }: { readonly sequence: number; readonly result: ResultTuple },
): void {
  const row = readProgress(context, sequence);
  if (row === undefined) return;
  const sends = row.sends + 1;
  if (result[0] === 'retry') {
    const [, afterMs, maxMessages, progress] = result;
    const due = afterMs > 0 ? context.after(afterMs) : row.due;
    writeProgress(context, { ...row, due, sends, max_messages: maxMessages, progress });
  } else if (result[0] === 'dead') {
    const [, reason, lastAttempt] = result;
    moveToDeadLetters(context, application, { ...row, sends, reason, lastAttempt });
  } else {
    context.database.run('delete from message where sequence = ?', sequence);
    context.store.addPending(application, -1, -row.size_bytes);
    application.delivered += 1;
  }
}
