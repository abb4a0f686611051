/** Ids that were given and that no dead letter has: they are named, and make the answer a no. */
import type { WebhookSender } from '../../index.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import { type Selection, walk } from './selection.ts';

/** Given ids that no dead letter has, of this application where one is given. */
export async function unknownIds(
  source: Pick<WebhookSender, 'deadLetters'>,
  { applicationId, ids = [] }: Selection,
): Promise<readonly string[]> {
  const unknown = new Set(ids);
  const all = { ids, limit: Number.POSITIVE_INFINITY };
  const selection = applicationId === undefined ? all : { ...all, applicationId };
  for await (const { lookedAt } of walk(source, selection)) {
    for (const { id } of lookedAt) unknown.delete(id);
  }
  return [...unknown];
}

export async function tellUnknown(ids: readonly string[], terminal: Terminal): Promise<void> {
  for (const id of ids) {
    await terminal.errors.write(`There is no dead letter ${printable(id.slice(0, 40))}.\n`);
  }
}
