import type { DeadReason } from '../../queue.ts';
import type { Bounds, DeadTuple, Operations, PageAnswer, PageRequest } from '../protocol.ts';
import { progressChecksum } from './checksum.ts';
import type { Outgoing } from './claim.ts';
import { fromText } from './text.ts';
import type { Application, Moment, Transaction } from './transaction.ts';
import { place } from './waiting.ts';

/** Dead letters that one transaction replays or purges: other processes wait meanwhile. */
const PAGE = 500;

export interface Death {
  readonly reason: DeadReason;
  /** JSON. */
  readonly lastAttempt: string;
  readonly diedMs: number;
}

/** Makes a dead letter of a message. The caller evicts afterwards. */
export function buryMessage(
  transaction: Transaction,
  application: Application,
  message: { readonly sequence: number; readonly sends: number; readonly death: Death },
): { readonly messageId: string } {
  const { sequence, sends, death } = message;
  const row = transaction.database.get(
    `insert into dead_letter
     select ?, application, accepted, ?, ?, ?, ?, message_id, format, date_at, count_at, size_bytes,
       body_checksum, body
     from message where sequence = ? returning message_id, size_bytes`,
    transaction.nextNumber(),
    death.diedMs,
    sends,
    death.reason,
    death.lastAttempt,
    sequence,
  );
  transaction.database.run('delete from message where sequence = ?', sequence);
  const bytes = Number(row?.['size_bytes'] ?? 0);
  transaction.addPending(application, -1, -bytes);
  transaction.state.dead_bytes += bytes;
  application.dead += 1;
  transaction.changed(application);
  return { messageId: fromText(String(row?.['message_id'])) };
}

/** Discards the oldest dead letters while they are larger than the queue keeps. */
export function evict(transaction: Transaction, maxDeadBytes: number): void {
  while (transaction.state.dead_bytes > maxDeadBytes) {
    const oldest = transaction.database.get(
      'select id, application, size_bytes from dead_letter order by id limit 1',
    );
    if (oldest === undefined) return;
    forget(transaction, oldest as unknown as DeadRow, 'evicted');
  }
}

interface DeadRow {
  readonly id: number;
  readonly application: number;
  readonly size_bytes: number;
}

function forget(transaction: Transaction, row: DeadRow, as?: 'evicted' | 'purged'): Application {
  const application = transaction.byNumber(row.application) as Application;
  transaction.database.run('delete from dead_letter where id = ?', row.id);
  transaction.state.dead_bytes -= row.size_bytes;
  application.dead -= 1;
  if (as !== undefined) application[as] += 1;
  transaction.changed(application);
  return application;
}

interface Search extends Pick<PageRequest, 'filter' | 'after'> {
  readonly upTo: number;
  readonly limit: number;
}

/** The letters that a filter names, oldest first. Ids that no letter has are left out. */
function search<T>(
  transaction: Transaction,
  columns: string,
  { filter, after, upTo, limit }: Search,
): T[] {
  const { applicationId, ids } = filter;
  const named =
    ids === undefined
      ? null
      : JSON.stringify(ids.filter((id) => /^\d{1,15}$/.test(id)).map(Number));
  let number: number | null = null;
  if (applicationId !== undefined) number = transaction.find(applicationId)?.number ?? -1;
  // One statement for each kind of filter, so that each goes through an index.
  const conditions = [
    'id > ? and id <= ?',
    ...(number === null ? [] : ['application = ?']),
    ...(named === null ? [] : ['id in (select value from json_each(?))']),
  ];
  return transaction.database.all<T & object>(
    `select ${columns} from dead_letter where ${conditions.join(' and ')} order by id limit ?`,
    after,
    upTo,
    ...(number === null ? [] : [number]),
    ...(named === null ? [] : [named]),
    limit,
  );
}

interface FullDeadRow extends DeadRow {
  readonly accepted: number;
  readonly died: number;
  readonly sends: number;
  readonly reason: DeadReason;
  readonly last_attempt: string;
  readonly message_id: string;
  readonly format: 1 | 2;
  readonly date_at: number;
  readonly count_at: number;
  readonly body: Uint8Array;
}

export function listDeadLetters(
  transaction: Transaction,
  { filter, limit, after }: Operations['listDeadLetters'][0],
  { send }: Outgoing,
): DeadTuple[] {
  const given = { filter, after, limit, upTo: Number.MAX_SAFE_INTEGER };
  return search<FullDeadRow>(transaction, '*', given).map((row) => {
    send(row.body);
    return [
      row.id,
      (transaction.byNumber(row.application) as Application).id,
      fromText(row.message_id),
      row.format,
      row.body.length,
      row.date_at,
      row.count_at,
      row.size_bytes,
      row.sends,
      row.reason,
      row.last_attempt,
      row.accepted,
      row.died,
    ];
  });
}

export function purge(transaction: Transaction, page: PageRequest): PageAnswer {
  return eachOfPage(transaction, page, (row) => {
    forget(transaction, row, 'purged');
    return true;
  });
}

/** Makes letters of open applications due again, as many as there is room for. */
export function replay(
  transaction: Transaction,
  { bounds, ...page }: Operations['replay'][0],
  at: Moment,
): PageAnswer {
  const answer = eachOfPage(transaction, page, (row) => {
    const application = transaction.byNumber(row.application) as Application;
    if (application.tier === 'closed' || !hasRoom(transaction, bounds, row.size_bytes))
      return false;
    revive(transaction, { application, row, at });
    return true;
  });
  if (answer.count > 0) transaction.announceDue();
  return answer;
}

const hasRoom = ({ state }: Transaction, bounds: Bounds, bytes: number): boolean =>
  state.pending < bounds.maxPendingMessages &&
  state.pending_bytes + bytes <= bounds.maxPendingBytes;

function revive(
  transaction: Transaction,
  {
    application,
    row,
    at,
  }: {
    readonly application: Application;
    readonly row: DeadRow & { sends: number };
    readonly at: Moment;
  },
): void {
  transaction.state.last_sequence += 1;
  const sequence = transaction.state.last_sequence;
  const { nowMs } = at;
  const { sends } = row;
  const young = {
    sequence,
    due: nowMs,
    accepted: nowMs,
    sends,
    max_messages: null,
    progress: null,
  };
  transaction.database.run(
    `insert into message
     select ?, application, ?, ?, sends, null, null, ?, message_id, format, date_at, count_at,
       size_bytes, body_checksum, body
     from dead_letter where id = ?`,
    sequence,
    nowMs,
    nowMs,
    progressChecksum(young),
    row.id,
  );
  forget(transaction, row);
  transaction.addPending(application, 1, row.size_bytes);
  application.first_due = Math.min(application.first_due ?? nowMs, nowMs);
  place(transaction, application, nowMs);
}

function eachOfPage(
  transaction: Transaction,
  page: PageRequest,
  work: (row: DeadRow & { sends: number }) => boolean,
): PageAnswer {
  const upTo = page.upTo ?? transaction.state.last_number;
  const given = { filter: page.filter, after: page.after, upTo, limit: PAGE };
  const rows = search<DeadRow & { sends: number }>(
    transaction,
    'id, application, size_bytes, sends',
    given,
  );
  const count = rows.filter(work).length;
  const last = rows.length < PAGE ? undefined : rows.at(-1)?.id;
  return { count, upTo, ...(last === undefined ? {} : { after: last }) };
}
