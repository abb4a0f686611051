import type { ApplicationUpdate, MessageResult } from '../../queue.ts';
import { toWhole } from '../protocol.ts';
import type { Context } from './context.ts';
import { evict } from './dead-letters.ts';
import { Rejection } from './failure.ts';
import { claimedRanges, endClaim, findClaim, sequencesIn } from './lease.ts';
import { moveToDeadLetters, readProgress, updateReadiness, writeProgress } from './messages.ts';
import { type Application, setState } from './store.ts';

export interface Settlement {
  /** One for each message of the claim; `null` when all were delivered. */
  readonly results: readonly MessageResult[] | null;
  readonly count: number;
  readonly update: ApplicationUpdate;
}

/** Returns false when the claim is lost. */
export function settle(
  context: Context,
  id: string,
  { results, count, update }: Settlement,
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
      record(context, application, { sequence, result: results[index] as MessageResult });
    }
    evict(context);
  }
  finish(context, application, update);
  return true;
}

/** Ends a claim whose messages were not sent. Returns false when the claim is lost. */
export function release(context: Context, id: string, update: ApplicationUpdate | null): boolean {
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

function finish(
  context: Context,
  application: Application,
  update: ApplicationUpdate | null,
): void {
  endClaim(context, application, context.nowMs);
  if (update !== null) {
    const { tier } = application;
    setState(application, update);
    // Only `reopenApplication` opens a closed one.
    if (tier === 'closed') application.tier = tier;
    application.not_before = context.after(update.pauseMs);
  }
  updateReadiness(context, application);
  context.store.announceDue();
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
  { sequence, result }: { readonly sequence: number; readonly result: MessageResult },
): void {
  const row = readProgress(context, sequence);
  if (row === undefined) return;
  const sends = row.sends + 1;
  if (result.kind === 'retry') {
    const { afterMs, maxMessages, progress } = result;
    const due = afterMs > 0 ? context.after(afterMs) : row.due;
    const max_messages = maxMessages === undefined ? null : toWhole(maxMessages);
    const changed = { due, sends, max_messages, progress: JSON.stringify(progress) };
    writeProgress(context, { ...row, ...changed });
  } else if (result.kind === 'dead') {
    const death = { reason: result.reason, lastAttempt: JSON.stringify(result.lastAttempt) };
    moveToDeadLetters(context, application, { ...row, sends, ...death });
  } else {
    context.database.run('delete from message where sequence = ?', sequence);
    context.store.addPending(application, -1, -row.size_bytes);
    application.delivered += 1;
  }
}
