/** The lease of an application: its claimed messages, and its end. */
import { crc32 } from 'node:zlib';
import type { SequenceRange } from '../../queue.ts';
import type { Context } from './context.ts';
import {
  endDelaysIfFull,
  readProgress,
  refreshFirstDue,
  updateReadiness,
  writeProgress,
} from './messages.ts';
import type { ClaimRow, MessageRow } from './schema.ts';
import type { Application } from './store.ts';

/** Leases the messages, and returns the number of the claim. */
export function startLease(
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
  store.changed(application);
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

export const sequencesIn = (ranges: readonly SequenceRange[]): number[] =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at));

/** Reads the ranges of the application's live claim; undefined when its row is damaged. */
export function claimedRanges(
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

/** Returns the sequences of the application's live claim; the most likely ones if its row is damaged. */
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

/** Finds the application whose live claim has that id; undefined when the claim is lost. */
export function findClaim({ store }: Context, id: string): Application | undefined {
  const [, number, claimNumber] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
  const application = number === undefined ? undefined : store.byNumber(Number(number));
  return application?.claim === Number(claimNumber) ? application : undefined;
}

/** Ends the claim, and puts the application at the end of the turns. */
export function endClaim({ store, database }: Context, application: Application, ms: number): void {
  database.run('delete from claim where number = ?', application.claim);
  application.claim = null;
  application.lease_end = null;
  application.claimed = 0;
  application.served_at = ms;
  application.turn = store.nextNumber();
  refreshFirstDue(store, application);
}

/** Ends the leases that have expired. Each claim counts as a send. */
export function rescueExpired(context: Context): void {
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
    endDelaysIfFull(context, application, leaseEnd);
    updateReadiness(context, application);
    store.announceDue();
  }
}
