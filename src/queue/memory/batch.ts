/** A batch on its way in, in parts that are taken in one go. */
import type { GiveWay } from '../../system/giving-way.ts';
import type { QueueEntry } from '../queue.ts';

export const SLICE_MESSAGES = 100;

/** Adds what each application's messages have. */
export function addSizes(
  sizes: Map<string, number>,
  entries: readonly QueueEntry[],
): Map<string, number> {
  let id: string | undefined;
  let bytes = 0;
  for (const { applicationId, sizeBytes } of entries) {
    // Written once for what follows one another: mostly that is the whole batch.
    if (applicationId !== id) {
      if (id !== undefined) sizes.set(id, bytes);
      id = applicationId;
      bytes = sizes.get(id) ?? 0;
    }
    bytes += sizeBytes;
  }
  if (id !== undefined) sizes.set(id, bytes);
  return sizes;
}

/** Between two of these a large batch gives way to the host. */
export function* slicesOf<T>(entries: readonly T[]): Iterable<readonly T[]> {
  for (let start = 0; start < entries.length; start += SLICE_MESSAGES) {
    yield entries.slice(start, start + SLICE_MESSAGES);
  }
}

/** Adds up a large batch, and gives way to the host in between. */
export async function sizesOf(
  entries: readonly QueueEntry[],
  giveWay: GiveWay,
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const slice of slicesOf(entries)) {
    addSizes(sizes, slice);
    const pause = giveWay();
    if (pause !== undefined) await pause;
  }
  return sizes;
}
