import type { DeadLetter, DeadLetterFilter, DeadReason } from '../../queue.ts';
import { deadLetterNumber } from '../../stored-values.ts';
import type { PostedMessage } from '../protocol.ts';
import { bodyChecksum, postedOf, progressChecksum, reschedule } from './messages.ts';
import {
  type Application,
  CONTENT_COLUMNS,
  type DeadLetterRow,
  MESSAGE_COLUMNS,
  parseJson,
} from './schema.ts';
import type { Context } from './store.ts';

/** Maximum number of letters that a transaction replays or purges, or evicts. Other processes wait for it. */
const PAGE = 500;
const MAX_EVICTED = 5000;

/** The columns that are needed to remove or replay a dead letter. */
type DeadRow = Pick<DeadLetterRow, 'id' | 'application' | 'size_bytes' | 'sends'>;

/** Discards the oldest dead letters until the others fit into `maxDeadBytes`. */
export function evict(context: Context): void {
  const { store, database, settings } = context;
  if (store.state.dead_bytes <= settings.maxDeadBytes) return;
  const oldest = database.all<DeadRow>(
    'select id, application, size_bytes from dead_letter order by id limit ?',
    MAX_EVICTED,
  );
  for (const row of oldest) {
    if (store.state.dead_bytes <= settings.maxDeadBytes) return;
    removeLetter(context, row, 'evicted');
  }
}

function removeLetter(
  { store, database }: Context,
  row: DeadRow,
  as?: 'evicted' | 'purged',
): Application | undefined {
  database.run('delete from dead_letter where id = ?', row.id);
  store.state.dead_bytes -= row.size_bytes;
  const application = store.byNumber(row.application);
  if (application === undefined) return undefined;
  application.dead -= 1;
  if (as !== undefined) application[as] += 1;
  store.updateReadyAt(application);
  return application;
}

interface Search {
  readonly filter: DeadLetterFilter;
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

/** Finds the letters that match a filter, oldest first. Ignores ids that no letter has. */
function findLetters<T extends DeadRow>(
  { store, database }: Context,
  columns: string,
  { filter: { applicationId, ids }, after, upTo, limit }: Search,
): T[] {
  // A statement for each kind of filter, so that each uses its index.
  let conditions = 'id > ? and id <= ?';
  const values: (number | string)[] = [after, upTo];
  if (applicationId !== undefined) {
    conditions += ' and application = ?';
    values.push(store.find(applicationId)?.number ?? -1);
  }
  if (ids !== undefined) {
    conditions += ' and id in (select value from json_each(?))';
    values.push(JSON.stringify(ids.map(deadLetterNumber)));
  }
  return database.all<T>(
    `select ${columns} from dead_letter where ${conditions} order by id limit ?`,
    ...values,
    limit,
  );
}

export interface PostedDeadLetters {
  readonly letters: readonly (PostedMessage & Omit<DeadLetter, 'stored'>)[];
  readonly bodies: Uint8Array;
  readonly next: string | undefined;
}

export function listDeadLetters(
  context: Context,
  { filter, after, limit }: Omit<Search, 'upTo'>,
): PostedDeadLetters {
  // One row more than the page shows that there is another page.
  const wanted = { filter, after, limit: limit + 1, upTo: Number.MAX_SAFE_INTEGER };
  const rows = findLetters<DeadLetterRow>(context, '*', wanted);
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? String(page.at(-1)?.id) : undefined;
  const intact = page.filter((row) => !setAsideIfDamaged(context, row));
  const letters = intact.map((row) => ({
    ...postedOf(row),
    id: String(row.id),
    applicationId: context.store.byNumber(row.application)?.id ?? '',
    sizeBytes: row.size_bytes,
    sends: row.sends,
    reason: row.reason as DeadReason,
    lastAttempt: parseJson(row.last_attempt),
    acceptedAt: row.accepted,
    diedAt: row.died,
  }));
  return { letters, bodies: context.join(intact.map(({ body }) => body)), next };
}

/** Moves a damaged letter to `damaged_message`, and counts it as damaged. Returns whether it was damaged. */
export function setAsideIfDamaged(context: Context, row: DeadLetterRow): boolean {
  if (bodyChecksum(row.application, row) === row.body_checksum) return false;
  const { application: number, sends, message_id, body } = row;
  const kept = { application: number, sends, message_id, body, found_at: context.nowMs };
  context.database.insert('damaged_message', kept);
  const application = removeLetter(context, row);
  if (application !== undefined) context.store.addDamaged(application, 1);
  return true;
}

export interface PageRequest {
  readonly filter: DeadLetterFilter;
  readonly after: number;
  /** The last id of the whole call; absent on its first page. */
  readonly upTo?: number;
}

export interface PageAnswer {
  readonly count: number;
  readonly upTo: number;
  /** Cursor of the next page; absent after the last one. */
  readonly after?: number;
}

export function purge(context: Context, page: PageRequest): PageAnswer {
  return eachOfPage(context, page, (row) => {
    removeLetter(context, row, 'purged');
    return true;
  });
}

/** Makes letters of open applications due again, as many as there is room for. */
export function replay(context: Context, page: PageRequest): PageAnswer {
  const { store, settings } = context;
  const answer = eachOfPage(context, page, (row) => {
    const application = store.byNumber(row.application);
    const hasRoom =
      store.state.pending < settings.maxPendingMessages &&
      store.state.pending_bytes + row.size_bytes <= settings.maxPendingBytes;
    if (application === undefined || application.health === 'closed' || !hasRoom) return false;
    replayLetter(context, application, row);
    return true;
  });
  if (answer.count > 0) store.announceDue();
  return answer;
}

function replayLetter(context: Context, application: Application, row: DeadRow): void {
  const { store, database, nowMs } = context;
  store.state.last_sequence += 1;
  const sequence = store.state.last_sequence;
  const { sends } = row;
  const age = { sequence, due: nowMs, accepted: nowMs };
  database.run(
    `insert into message (${MESSAGE_COLUMNS.join()})
     select ?, application, ?, ?, sends, null, null, ?, ${CONTENT_COLUMNS} from dead_letter where id = ?`,
    sequence,
    nowMs,
    nowMs,
    progressChecksum({ ...age, sends, max_messages: null, retry_state: null }),
    row.id,
  );
  removeLetter(context, row);
  store.addPending(application, 1, row.size_bytes);
  application.first_due = Math.min(application.first_due ?? nowMs, nowMs);
  reschedule(context, application);
}

function eachOfPage(
  context: Context,
  page: PageRequest,
  work: (row: DeadRow) => boolean,
): PageAnswer {
  const upTo = page.upTo ?? context.store.state.last_number;
  const wanted = { filter: page.filter, after: page.after, upTo, limit: PAGE };
  const rows = findLetters<DeadRow>(context, 'id, application, size_bytes, sends', wanted);
  const count = rows.filter(work).length;
  const after = rows.length < PAGE ? undefined : rows.at(-1)?.id;
  return { count, upTo, ...(after === undefined ? {} : { after }) };
}
