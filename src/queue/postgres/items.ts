/** Items of an export, as arguments and rows of the schema's functions. */
import { SecurityEventError } from '../../errors.ts';
import type { ApplicationItem, Format, Json, KeyedItem, MessageItem, QueueItem } from '../queue.ts';
import {
  fromEscaped,
  type StateJson,
  stateJson,
  stateOf,
  toEscaped,
  toWhole,
} from './conversions.ts';
import type { Database, Row } from './database.ts';

const PAGE = 100;

export async function* exportItems(
  database: Database,
): AsyncGenerator<ApplicationItem | MessageItem> {
  if (Number(await database.call('claimed_applications')) > 0) {
    const detail = 'messages are claimed: close the senders, or wait until the leases expire';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  for (const [name, itemOf] of [
    ['export_applications', applicationItem],
    ['export_messages', messageItem],
  ] as const) {
    for (let after = 0; ; ) {
      const rows = await database.rows(name, { after, limit: PAGE });
      for (const row of rows) yield itemOf(row);
      const last = rows.at(-1);
      if (last === undefined) break;
      after = Number(last['id']);
    }
  }
}

const applicationItem = (row: Row): ApplicationItem => ({
  kind: 'application',
  applicationId: fromEscaped(String(row['application'])),
  state: stateOf(row['state'] as StateJson),
  pausedUntil: Number(row['not_before']),
});

function messageItem(row: Row): MessageItem {
  const { max_messages: maxMessages, progress, content } = row;
  return {
    kind: 'message',
    applicationId: fromEscaped(String(row['application'])),
    id: String(row['id']),
    stored: {
      messageId: fromEscaped(String(row['message_id'])),
      format: Number(row['format']) as Format,
      bytes: content as Buffer,
      dateAt: Number(row['date_at']),
      countAt: Number(row['count_at']),
    },
    sizeBytes: Number(row['size_bytes']),
    sends: Number(row['sends']),
    maxMessages: maxMessages === null ? null : Number(maxMessages),
    progress: progress === null ? null : (JSON.parse(progress as string) as Json),
    acceptedAt: Number(row['accepted_at']),
    dueAt: Number(row['due']),
  };
}

/** The items as JSON, and their bytes one after the other. */
export function itemArguments(items: readonly KeyedItem[]) {
  const contents: Buffer[] = [];
  let start = 0;
  const rows = items.map(({ key, item }) => {
    const row = { key, start, ...rowOf(item) };
    if (item.kind !== 'application') {
      contents.push(item.stored.bytes);
      start += item.stored.bytes.length;
    }
    return row;
  });
  return { items: rows, content: Buffer.concat(contents) };
}

function rowOf(item: QueueItem): object {
  const { kind } = item;
  const application = toEscaped(item.applicationId);
  if (item.kind === 'application') {
    const pausedUntil = toWhole(item.pausedUntil);
    return { kind, application, state: stateJson(item.state), pausedUntil };
  }
  const { stored, sizeBytes, sends } = item;
  const { messageId, format, bytes, dateAt, countAt } = stored;
  const acceptedAt = toWhole(item.acceptedAt);
  const facts = { kind, application, sizeBytes, sends, acceptedAt, format, dateAt, countAt };
  const message = { ...facts, messageId: toEscaped(messageId), length: bytes.length };
  if (item.kind === 'dead-letter') {
    const lastAttempt = JSON.stringify(item.lastAttempt);
    return { ...message, reason: item.reason, lastAttempt, diedAt: toWhole(item.diedAt) };
  }
  const { maxMessages, progress, dueAt } = item;
  return {
    ...message,
    maxMessages,
    progress: progress === null ? null : JSON.stringify(progress),
    dueAt: toWhole(dueAt),
  };
}
