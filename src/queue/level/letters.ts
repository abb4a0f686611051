/** Dead letters, read in the order of death. */

import type { LevelContent } from './content.ts';
import { deadKey, deadRange, lastOf, storable } from './keys.ts';
import type { DeadLetter, DeadLetterFilter } from './old-contract.ts';
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

export interface Cursor {
  /** None comes before this one, nor it itself. */
  readonly after: number;
  /** How many are looked at at once at first. */
  readonly size: number;
}

/** Letters of one page, and of one write. */
export const PAGE = 500;

/** Those that the filter means, oldest first, in pages that grow: most who want few need one. */
export async function* letterPages(
  parts: Parts,
  filter: DeadLetterFilter,
  { after, size }: Cursor,
): AsyncGenerator<Letter[], void, undefined> {
  let last = after;
  for (let next = size; ; next *= 2) {
    const cursor = { after: last, size: Math.min(next, PAGE) };
    const isAll = filter.applicationId === undefined && filter.ids === undefined;
    const ids = isAll ? [] : await nextIds(parts, filter, cursor);
    const letters = isAll ? await nextLetters(parts, cursor) : await readLetters(parts.store, ids);
    const end = isAll ? letters.at(-1)?.id : ids.at(-1);
    if (end === undefined) return;
    last = end;
    yield letters.filter(({ content }) => isOf(content, filter));
  }
}

async function nextLetters({ store }: Parts, { after, size }: Cursor): Promise<Letter[]> {
  const letters: Letter[] = [];
  for await (const [key, value] of store.entries(deadRange(after), size)) {
    letters.push({ id: lastOf(key), ...decodeDead(value) });
  }
  return letters;
}

async function nextIds(
  { store, content }: Parts,
  { applicationId = '', ids }: DeadLetterFilter,
  { after, size }: Cursor,
): Promise<number[]> {
  if (ids !== undefined) {
    const wanted = new Set(ids.map(numberOf).filter((id) => id > after));
    return [...wanted].toSorted((one, other) => one - other).slice(0, size);
  }
  const application = content.find(applicationId);
  if (application === undefined) return [];
  const found: number[] = [];
  for await (const [key] of store.entries(deadRange(after, application.number), size)) {
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
