/** What a leader does not have is gone for good only where it has come as far: a new one may not have yet. */
import { Lagging } from './jetstream-failure.ts';
import type { Session } from './session.ts';

/**
 * By their sequences, those that are there; rejects with {@link Lagging} where that cannot be told yet. What is missing
 * is read once more after the leader has told how far it has come: it may have come there only in between.
 */
export async function certainly<T>(
  { store }: Pick<Session, 'store'>,
  { stream, sequences }: { readonly stream: string; readonly sequences: readonly number[] },
  read: (sequences: readonly number[]) => Promise<ReadonlyMap<number, T>>,
): Promise<ReadonlyMap<number, T>> {
  const found = await read(sequences);
  const missing = sequences.filter((sequence) => !found.has(sequence));
  if (missing.length === 0) return found;
  const { last_seq } = await store.state(stream);
  if (missing.some((sequence) => sequence > last_seq)) throw new Lagging('the leader lags behind');
  return new Map([...found, ...(await read(missing))]);
}
