/** Exports rows of the tables as items, and imports them. Times of items are those of the machine's clock. */
import type { DeadReason, ItemKind, QueueItem } from '../../queue.ts';
import { fromText, toText, toWhole } from '../../stored-values.ts';
import { evict, setAsideIfDamaged } from './dead-letters.ts';
import { refuseOverflow } from './enqueue.ts';
import { Rejection } from './failure.ts';
import { isIntact, moveToDeadLetters, reschedule, setAside, storeMessage } from './messages.ts';
import type { Application, ApplicationRow, DeadLetterRow, MessageRow } from './schema.ts';
import type { Row } from './sqlite-library.ts';
import type { Context } from './store.ts';

const PAGE = 100;

const KEY = { application: 'number', message: 'sequence', dead_letter: 'id' } as const;

/** An imported item with the columns of its kind. SQLite refuses values of another type. */
type Imported = Pick<QueueItem, 'source' | 'kind' | 'id'> &
  Omit<ApplicationRow, 'id' | 'max_messages'> &
  Omit<MessageRow & DeadLetterRow, 'application' | 'body' | keyof WaitingColumns> &
  Partial<WaitingColumns> & { readonly application: string; readonly body: string };

/** Columns that dead letters do not have. */
type WaitingColumns = Pick<MessageRow, 'due' | 'max_messages' | 'retry_state'>;

/** Returns the next items of the kind after an id. Sets damaged rows aside instead. */
export function exportItems(context: Context, kind: ItemKind, after: number): QueueItem[] {
  refuseClaims(context);
  const key = KEY[kind];
  const sql = `select * from ${kind} where ${key} > ? order by ${key} limit ?`;
  for (let from = after; ; ) {
    const rows = context.database.all(sql, from, PAGE);
    const items = rows.flatMap((row) => itemOf(context, kind, row) ?? []);
    const last = rows.at(-1);
    if (items.length > 0 || last === undefined) return items;
    from = Number(last[key]);
  }
}

function refuseClaims({ store, database }: Context): void {
  store.flushApplications();
  if (database.number('select count(*) from application where claim is not null') === 0) return;
  const detail = 'messages are claimed: close the senders, or wait until the leases expire';
  throw new Rejection('ERR_QUEUE_FAILED', detail);
}

function itemOf(context: Context, kind: ItemKind, row: Row): QueueItem | undefined {
  const { queue_id: source, clock_offset: offset } = context.store.state;
  const id = Number(row[KEY[kind]]);
  if (kind === 'application') {
    const { health, max_messages, max_bytes, circuit_breaker, not_before } = row as ApplicationRow;
    const state = { health, max_messages, max_bytes, circuit_breaker };
    const application = (row as ApplicationRow).id;
    return { source, kind, id, application, ...state, not_before: toWhole(not_before - offset) };
  }
  const application = context.store.byNumber(Number(row['application']));
  if (kind === 'message' && (application === undefined || !isIntact(row as MessageRow))) {
    setAside(context, row as MessageRow);
    return undefined;
  }
  if (kind === 'dead_letter' && setAsideIfDamaged(context, row as DeadLetterRow)) {
    return undefined;
  }
  const times =
    kind === 'message'
      ? { due: Number(row['due']) - offset, accepted: Number(row['accepted']) - offset }
      : {};
  const body = Buffer.from(row['body'] as Uint8Array).toString('base64');
  return { ...row, ...times, source, kind, id, application: toText(application?.id ?? ''), body };
}

/** Stores the items that are new, or rejects before any is stored. Returns their number; `undefined` for its own items. */
export function importItems(context: Context, items: readonly Imported[]): number | undefined {
  const { store, database, settings } = context;
  const [first] = items;
  if (first?.source === store.state.queue_id) return undefined;
  const name = `${first?.source} ${first?.kind}`;
  const sql = 'select coalesce(max(last_id), 0) from imported where name = ?';
  const lastId = database.number(sql, name);
  const added = items.filter(({ id }) => id > lastId);
  refuseOverflow(
    context,
    added.flatMap(({ kind, size_bytes }) => (kind === 'message' ? [size_bytes] : [])),
  );
  for (const item of added) {
    const application = store.ensure(fromText(item.application), settings.initialState);
    importItem(context, application, item);
    reschedule(context, application);
    database.run('insert or replace into imported values (?, ?)', name, item.id);
  }
  evict(context);
  store.announceDue();
  return added.length;
}

function importItem(context: Context, application: Application, item: Imported): void {
  const { clock_offset: offset } = context.store.state;
  if (item.kind === 'application') {
    const { max_messages, max_bytes, circuit_breaker } = item;
    // Only `reopenApplication` opens a closed one.
    const health = application.health === 'closed' ? 'closed' : item.health;
    Object.assign(application, { health, max_messages, max_bytes, circuit_breaker });
    application.not_before = toWhole(item.not_before + offset);
    return;
  }
  // A dead letter is stored as a message, and then moved.
  const { max_messages = null, retry_state = null, ...stored } = item;
  const accepted = toWhole(item.accepted + offset);
  const due = toWhole((item.due ?? item.accepted) + offset);
  const body = Buffer.from(item.body, 'base64');
  const message = { ...stored, due, accepted, max_messages, retry_state, body };
  const sequence = storeMessage(context, application, message);
  if (item.kind === 'message') {
    context.store.state.imported_sequence = sequence;
    application.first_due = Math.min(application.first_due ?? due, due);
    if (item.sends === 0) application.delayed_until = Math.max(application.delayed_until, due);
  } else {
    const { reason, last_attempt: lastAttempt, died } = item;
    const death = { reason: reason as DeadReason, lastAttempt, diedAt: died };
    moveToDeadLetters(context, application, { ...item, sequence, ...death });
  }
}
