/** Items of an export between the contract's objects and what travels to the worker. */
import { Stored } from '../message-classes.ts';
import type { ApplicationItem, KeyedItem, MessageItem } from '../queue.ts';
import type { Answer } from './file-worker.ts';
import type { ExportedRow, ExportRequest, ImportedRow } from './protocol.ts';

/** Reads pages until one is empty. */
export async function* exportedItems(
  read: (page: ExportRequest) => Promise<Answer<readonly ExportedRow[]>>,
): AsyncGenerator<ApplicationItem | MessageItem> {
  for (const kind of ['application', 'message'] as const) {
    for (let after = 0; ; ) {
      const { value, bodies } = await read({ kind, after });
      const last = value.at(-1);
      if (last === undefined) break;
      yield* itemsOf(value, bodies);
      after = Number(last.id);
    }
  }
}

function* itemsOf(rows: readonly ExportedRow[], bodies: Buffer) {
  let end = 0;
  for (const row of rows) {
    if (row.kind === 'application') {
      const { id: _, ...item } = row;
      yield item;
      continue;
    }
    const { length, messageId, format, dateAt, countAt, ...facts } = row;
    const bytes = bodies.subarray(end, end + length);
    end += length;
    yield { ...facts, stored: new Stored({ messageId, format, bytes, dateAt, countAt }) };
  }
}

export function importedRow({ key, item }: KeyedItem): ImportedRow {
  if (item.kind === 'application') return { key, ...item };
  const { stored, ...facts } = item;
  const { bytes, messageId, format, dateAt, countAt } = stored;
  return { key, ...facts, messageId, format, dateAt, countAt, length: bytes.length };
}

export const bodiesOf = (items: readonly KeyedItem[]): Buffer[] =>
  items.flatMap(({ item }) => (item.kind === 'application' ? [] : [item.stored.bytes]));
