/** Which of the waiting messages go without an attempt: those that are too old, or all of a closed application. */
import type { LevelApplication, TakenMessage } from './application.ts';
import { againKey, ageKey, freshRange, lastOf, rangeOf, timeOf } from './keys.ts';
import { contentKey, countOf, untouched } from './reading.ts';
import type { Store } from './store.ts';
import { decodeAgain, decodeContent, decodeTime } from './values.ts';

export interface Removal {
  readonly messages: readonly TakenMessage[];
  readonly head: number;
  readonly freshDueMs: number | undefined;
  /** Of what is left and not claimed. */
  readonly againDueMs: number | undefined;
  readonly againOldestMs: number | undefined;
}

/** At most `max` messages that were accepted before that time and are not claimed. */
export async function readOlder(
  store: Store,
  application: LevelApplication,
  { acceptedBeforeMs, max }: { readonly acceptedBeforeMs: number; readonly max: number },
): Promise<Removal> {
  const counted = countOf(application);
  const claimed = new Set(application.claim?.messages.map(({ sequence }) => sequence));
  const isMeant = (acceptedMs: number): boolean => acceptedMs < acceptedBeforeMs;
  const again = await oldestAgain(store, application, { claimed, isMeant, max });
  const fresh = await oldestFresh(store, application, { isMeant, max: max - again.found.length });
  if (again.isAll) counted.expectAgain(store, again.found.length);
  if (fresh.isAll) counted.expectFresh(store, fresh.found.length);
  const messages = [...(await read(store, application.number, again.found)), ...fresh.found];
  const gone = new Set([...claimed, ...again.found.map(({ sequence }) => sequence)]);
  return {
    messages,
    head: (fresh.found.at(-1)?.sequence ?? application.head - 1) + 1,
    freshDueMs: fresh.nextMs,
    againDueMs: await firstAgain(store, application, gone),
    againOldestMs: again.nextMs,
  };
}

interface Found {
  readonly sequence: number;
  readonly dueMs: number;
}

interface Meant {
  readonly isMeant: (acceptedMs: number) => boolean;
  readonly max: number;
}

async function oldestAgain(
  store: Store,
  { number, againOldestMs }: LevelApplication,
  { claimed, isMeant, max }: Meant & { readonly claimed: ReadonlySet<number> },
) {
  const found: Found[] = [];
  let nextMs: number | undefined;
  let isAll = true;
  if (againOldestMs === undefined || !isMeant(againOldestMs)) {
    return { found, nextMs: againOldestMs, isAll: false };
  }
  // What is gone left its gravestones in front of the first.
  const range = { ...rangeOf('age', number), gte: ageKey(number, againOldestMs, 0) };
  for await (const [key, value] of store.entries(range)) {
    const sequence = lastOf(key);
    const acceptedMs = timeOf(key);
    if (found.length >= max || !isMeant(acceptedMs)) {
      nextMs ??= acceptedMs;
      isAll = false;
      break;
    }
    if (claimed.has(sequence)) nextMs ??= acceptedMs;
    else found.push({ sequence, dueMs: decodeTime(value) });
  }
  return { found, nextMs, isAll };
}

async function oldestFresh(
  store: Store,
  { number, head, committedTail }: LevelApplication,
  { isMeant, max }: Meant,
) {
  const found: TakenMessage[] = [];
  for await (const [key, value] of store.entries(freshRange(number, head, committedTail))) {
    const content = decodeContent(value);
    if (found.length >= max || !isMeant(content.acceptedMs)) {
      return { found, nextMs: content.acceptedMs, isAll: false };
    }
    found.push(untouched(content, lastOf(key)));
  }
  return { found, nextMs: undefined, isAll: true };
}

/** Rows whose message is not there any more are left out. */
async function read(
  store: Store,
  number: number,
  found: readonly Found[],
): Promise<TakenMessage[]> {
  const rows = await store.getMany(
    found.map(({ dueMs, sequence }) => againKey(number, dueMs, sequence)),
  );
  if (rows.includes(undefined)) store.folder.suspect('counts');
  const again = rows.map((row) => row && decodeAgain(row));
  const values = await store.getMany(
    found.map(({ sequence }, index) =>
      contentKey(number, sequence, again[index]?.isBrought === true),
    ),
  );
  if (values.includes(undefined)) store.folder.suspect('counts');
  return found.flatMap(({ sequence, dueMs }, index) => {
    const row = again[index];
    const value = values[index];
    if (row === undefined || value === undefined) return [];
    const { sends, maxMessages, progress, isBrought } = row;
    const content = decodeContent(value);
    return [{ content, sequence, dueMs, sends, maxMessages, progress, isBrought, isAgain: true }];
  });
}

/** When the first one is due that is not among `gone`. */
async function firstAgain(
  store: Store,
  { number, againDueMs }: LevelApplication,
  gone: ReadonlySet<number>,
): Promise<number | undefined> {
  if (againDueMs === undefined) return undefined;
  const range = { ...rangeOf('again', number), gte: againKey(number, againDueMs, 0) };
  for await (const [key] of store.entries(range)) {
    if (!gone.has(lastOf(key))) return timeOf(key);
  }
  return undefined;
}
