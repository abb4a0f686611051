/** Items of an export, as rows of the schema's functions and back. */
import { SecurityEventError } from '../../errors.ts';
import type {
  ApplicationItem,
  ApplicationState,
  Format,
  KeyedItem,
  MessageItem,
  QueueItem,
} from '../queue.ts';
import { type Bounds, refuseOverflow } from './calls.ts';
import { STATE_TYPES, stateOf, stateValues } from './claims.ts';
import type { Database, Row } from './database.ts';
import { fromJsonText, fromText, toJsonText, toText, toWhole } from './words.ts';

const PAGE = 100;

export async function* exportItems(
  database: Database,
): AsyncGenerator<ApplicationItem | MessageItem> {
  if (Number((await database.one('claimed', [], []))['claimed']) > 0) {
    const detail = 'messages are claimed: close the senders, or wait until the leases expire';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  for (const [name, itemOf] of [
    ['export_applications', applicationItem],
    ['export_messages', messageItem],
  ] as const) {
    for (let after: unknown = 0; ; ) {
      const rows = await database.call(name, ['bigint', 'bigint'], [after, PAGE]);
      for (const row of rows) yield itemOf(row);
      after = rows.at(-1)?.['id'];
      if (after === undefined) break;
    }
  }
}

const applicationItem = (row: Row): ApplicationItem => ({
  kind: 'application',
  applicationId: fromText(String(row['application'])),
  state: stateOf(row),
  pausedUntil: Number(row['not_before']),
});

function messageItem(row: Row): MessageItem {
  const { max_messages: maxMessages, progress, content } = row;
  return {
    kind: 'message',
    applicationId: fromText(String(row['application'])),
    id: String(row['id']),
    stored: {
      messageId: fromText(String(row['message_id'])),
      format: Number(row['format']) as Format,
      bytes: content as Buffer,
      dateAt: Number(row['date_at']),
      countAt: Number(row['count_at']),
    },
    sizeBytes: Number(row['size_bytes']),
    sends: Number(row['sends']),
    maxMessages: maxMessages === null ? null : Number(maxMessages),
    progress: progress === null ? null : fromJsonText(progress as string),
    acceptedAt: Number(row['accepted_at']),
    dueAt: Number(row['due']),
  };
}

const IMPORT_TYPES = ['text', 'bytea', ...STATE_TYPES, 'bigint', 'bigint'];

export async function importItems(
  database: Database,
  items: readonly KeyedItem[],
  { initialState, bounds }: { readonly initialState: ApplicationState; readonly bounds: Bounds },
): Promise<number> {
  const contents: Buffer[] = [];
  let start = 0;
  const rows = items.map(({ key, item }) => {
    const row = { key, start, ...rowOf(item) };
    if (item.kind === 'application') return row;
    contents.push(item.stored.bytes);
    start += item.stored.bytes.length;
    return row;
  });
  const answer = await database.one('import_items', IMPORT_TYPES, [
    JSON.stringify(rows),
    Buffer.concat(contents),
    ...stateValues(initialState),
    bounds.maxPendingMessages,
    bounds.maxPendingBytes,
  ]);
  refuseOverflow(answer, bounds);
  return Number(answer['imported']);
}

function rowOf(item: QueueItem): Row {
  const { kind } = item;
  const application = toText(item.applicationId);
  if (item.kind === 'application') {
    const [tier, maxMessages, maxBytes, breaker] = stateValues(item.state);
    const state = {
      tier,
      max_messages: maxMessages,
      max_bytes: maxBytes,
      circuit_breaker: breaker,
    };
    return { kind, application, ...state, not_before: toWhole(item.pausedUntil) };
  }
  const { stored, sizeBytes, sends, acceptedAt } = item;
  const facts = {
    kind,
    application,
    message_id: toText(stored.messageId),
    format: stored.format,
    length: stored.bytes.length,
    date_at: stored.dateAt,
    count_at: stored.countAt,
    size_bytes: sizeBytes,
    sends,
    accepted_at: Math.floor(acceptedAt),
  };
  if (item.kind === 'dead-letter') {
    const { reason, lastAttempt, diedAt } = item;
    const end = { reason, last_attempt: toJsonText(lastAttempt), died_at: Math.floor(diedAt) };
    return { ...facts, ...end };
  }
  const progress = item.progress === null ? null : toJsonText(item.progress);
  return { ...facts, max_messages: item.maxMessages, progress, due: Math.floor(item.dueAt) };
}
