/** A batch on its way in, in parts that are taken in one go. */
import type { QueueEntry } from '../queue.ts';

export const SLICE_MESSAGES = 100;

/** Adds what each application's messages have. */
export function addSizes(
  sizes: Map<string, number>,
  entries: readonly QueueEntry[],
): Map<string, number> {
  for (const { applicationId, sizeBytes } of entries) {
    sizes.set(applicationId, (sizes.get(applicationId) ?? 0) + sizeBytes);
  }
  return sizes;
}

/** Between two of these a large batch gives way to the host. */
export function* slicesOf(entries: readonly QueueEntry[]): Iterable<readonly QueueEntry[]> {
  for (let start = 0; start < entries.length; start += SLICE_MESSAGES) {
    yield entries.slice(start, start + SLICE_MESSAGES);
  }
}
