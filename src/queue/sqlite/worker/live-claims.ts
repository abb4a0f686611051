import { crc32 } from 'node:zlib';
import type { ApplicationUpdate, MessageResult, SequenceRange } from '../../queue.ts';
import { toWhole } from '../../stored-values.ts';
import { evict } from './dead-letters.ts';
import { Rejection } from './failure.ts';
import {
  endDelaysIfClaimFull,
  moveToDeadLetters,
  readProgress,
  refreshFirstDue,
  reschedule,
  writeProgress,
} from './messages.ts';
import { type Application, type ClaimRow, type MessageRow, setState } from './schema.ts';
import type { Context } from './store.ts';

export function startClaim(
  context: Context,
  application: Application,
  { messages, leaseMs }: { readonly messages: readonly MessageRow[]; readonly leaseMs: number },
): number {
  const { store, database } = context;
  const number = store.nextNumber();
  const sizeBytes = messages.reduce((sum, message) => sum + message.size_bytes, 0);
  const sequences = JSON.stringify(rangesIn(messages.map(({ sequence }) => sequence)));
  const row = { number, application: application.number, size_bytes: sizeBytes, sequences };
  database.insert('claim', { ...row, checksum: claimChecksum(row) });
  application.claim = number;
  application.lease_end = context.after(leaseMs);
  application.claimed = messages.length;
  store.updateReadyAt(application);
  return number;
}

function rangesIn(sequences: readonly number[]): SequenceRange[] {
  const ranges: { readonly from: number; to: number }[] = [];
  for (const sequence of sequences) {
    const last = ranges.at(-1);
    if (last?.to === sequence - 1) last.to = sequence;
    else ranges.push({ from: sequence, to: sequence });
  }
  return ranges;
}

const sequencesIn = (ranges: readonly SequenceRange[]): number[] =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at));

/** Reads the live claim of an application; no ranges without one, undefined if its row is damaged. */
function claimedRanges(
  { database }: Context,
  { claim: number }: Application,
): { readonly ranges: readonly SequenceRange[]; readonly sizeBytes: number } | undefined {
  if (number === null) return { ranges: [], sizeBytes: 0 };
  const row = database.get<ClaimRow>('select * from claim where number = ?', number);
  if (row === undefined || claimChecksum(row) !== row.checksum) return undefined;
  return { ranges: JSON.parse(row.sequences) as SequenceRange[], sizeBytes: row.size_bytes };
}

const claimChecksum = (row: Omit<ClaimRow, 'checksum'>): number =>
  crc32(`${row.number} ${row.application} ${row.size_bytes} ${row.sequences}`);

/** Returns the sequences of an application's live claim. If its row is damaged, returns the most likely ones. */
export function claimedSequences(context: Context, application: Application): number[] {
  const known = claimedRanges(context, application);
  if (known !== undefined) return sequencesIn(known.ranges);
  // Every attempt must be counted. The claim took the messages that were due first.
  return context.database
    .all<{ readonly sequence: number }>(
      'select sequence from message where application = ? order by due, sequence limit ?',
      application.number,
      application.claimed,
    )
    .map(({ sequence }) => sequence);
}

/** Finds the application whose live claim has this id. Returns undefined if the claim is lost. */
function findClaim({ store }: Context, id: string): Application | undefined {
  const [, number, claimNumber] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
  const application = number === undefined ? undefined : store.byNumber(Number(number));
  return application?.claim === Number(claimNumber) ? application : undefined;
}

/** Ends the claim at the time `ms`, and puts the application at the end of the turns. */
function endClaim({ store, database }: Context, application: Application, ms: number): void {
  database.run('delete from claim where number = ?', application.claim);
  application.claim = null;
  application.lease_end = null;
  application.claimed = 0;
  application.served_at = ms;
  application.turn = store.nextNumber();
  refreshFirstDue(store, application);
}

/** Ends claims whose lease has expired. Their messages count as sent. */
export function endExpiredClaims(context: Context): void {
  const { store, nowMs } = context;
  store.flushApplications();
  const expired = context.database.all<Application>(
    'select number from application where claim is not null and lease_end <= ?',
    nowMs,
  );
  for (const { number } of expired) {
    const application = store.byNumber(number) as Application;
    const leaseEnd = application.lease_end ?? nowMs;
    for (const sequence of claimedSequences(context, application)) {
      const row = readProgress(context, sequence);
      if (row !== undefined) writeProgress(context, { ...row, sends: row.sends + 1 });
    }
    endClaim(context, application, leaseEnd);
    endDelaysIfClaimFull(context, application, leaseEnd);
    reschedule(context, application);
  }
}

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
      recordResult(context, application, { sequence, result: results[index] as MessageResult });
    }
    evict(context);
  }
  endAndUpdate(context, application, update);
  return true;
}

/** Ends a claim whose messages were not sent. Returns false when the claim is lost. */
export function release(context: Context, id: string, update: ApplicationUpdate | null): boolean {
  const application = findClaim(context, id);
  if (application === undefined) return false;
  endAndUpdate(context, application, update);
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
  context.store.updateReadyAt(application);
  return true;
}

function endAndUpdate(
  context: Context,
  application: Application,
  update: ApplicationUpdate | null,
): void {
  endClaim(context, application, context.nowMs);
  if (update !== null) {
    const { health } = application;
    setState(application, update);
    // Only `reopenApplication` opens a closed one.
    if (health === 'closed') application.health = health;
    application.not_before = context.after(update.pauseMs);
  }
  reschedule(context, application);
  context.store.announceDue();
}

/** Deletes all messages of a claim, range by range, and counts them as delivered. */
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

function recordResult(
  context: Context,
  application: Application,
  { sequence, result }: { readonly sequence: number; readonly result: MessageResult },
): void {
  const row = readProgress(context, sequence);
  if (row === undefined) return;
  const sends = row.sends + 1;
  if (result.kind === 'retry') {
    const { afterMs, maxMessages, retryState } = result;
    const due = afterMs > 0 ? context.after(afterMs) : row.due;
    const max_messages = maxMessages === undefined ? null : toWhole(maxMessages);
    const changed = { due, sends, max_messages, retry_state: JSON.stringify(retryState) };
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
