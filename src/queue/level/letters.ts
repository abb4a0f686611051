/** Dead letters, read in the order of death. */
import type { DeadLetter, DeadLetterFilter } from '../queue.ts';
import type { LevelContent } from './content.ts';
import { deadKey, deadRange, lastOf, storable } from './keys.ts';
import type { Store } from './store.ts';
import { type Content, type Death, decodeDead } from './values.ts';

export interface Letter {
  readonly id: number;
  readonly death: Death;
  readonly content: Content;
}

interface Parts {
  readonly store: Store;
  readonly content: LevelContent;
}

interface Cursor {
  /** None comes before this one, nor it itself. */
  readonly after: number;
  /** How many are looked at at once. */
  readonly size: number;
}

/** Those that the filter means, oldest first, in pages of at most so many. */
export async function* letterPages(
  parts: Parts,
  filter: DeadLetterFilter,
  { after, size }: Cursor,
): AsyncGenerator<Letter[], void, undefined> {
  let last = after;
  for (;;) {
    const ids = await nextIds(parts, filter, { after: last, size });
    if (ids.length === 0) return;
    last = ids.at(-1) as number;
    const letters = await readLetters(parts.store, ids);
    yield letters.filter(({ content }) => isOf(content, filter));
  }
}

async function nextIds(
  { store, content }: Parts,
  { applicationId, ids }: DeadLetterFilter,
  { after, size }: Cursor,
): Promise<number[]> {
  if (ids !== undefined) {
    const wanted = new Set(ids.map(numberOf).filter((id) => id > after));
    return [...wanted].toSorted((one, other) => one - other).slice(0, size);
  }
  const application = applicationId === undefined ? undefined : content.find(applicationId);
  if (applicationId !== undefined && application === undefined) return [];
  const found: number[] = [];
  for await (const [key] of store.entries(deadRange(after, application?.number), size)) {
    found.push(lastOf(key));
  }
  return found;
}

/** Of an id as it is shown; 0, which none has, of anything else. */
export function numberOf(id: string): number {
  const number = Number(id);
  return String(number) === id && number === storable(number) ? number : 0;
}

async function readLetters(store: Store, ids: readonly number[]): Promise<Letter[]> {
  const values = await store.getMany(ids.map(deadKey));
  return ids.flatMap((id, index) => {
    const value = values[index];
    return value === undefined ? [] : [{ id, ...decodeDead(value) }];
  });
}

/** Where letters are asked for by their ids, nothing else has looked at whose they are. */
const isOf = (content: Content, { applicationId }: DeadLetterFilter): boolean =>
  applicationId === undefined || content.applicationId === applicationId;

export function shownLetter({ id, death, content }: Letter): DeadLetter {
  const { applicationId, stored, origin, sizeBytes } = content;
  return { id: String(id), applicationId, stored, origin, sizeBytes, ...death };
}
