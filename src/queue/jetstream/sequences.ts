/**
 * Places in the stream as one short text. Each is told by its distance from the one before it, and
 * equal distances are told once: a thousand messages that were accepted together are a few letters.
 */
import type { Place } from './row.ts';

const RADIX = 36;
const TOKEN = /^(-?[0-9a-z]+)(?:\.(-?[0-9a-z]+))?(?:\*([0-9a-z]+))?$/;

/** `distance.time*count`, comma-separated; a time of 0 and a count of 1 are left out. */
export function encodePlaces(places: readonly Place[]): string {
  const tokens: string[] = [];
  let last = '';
  let count = 0;
  let before: Place = { sequence: 0, acceptedMs: 0 };
  const end = (): void => {
    if (count > 0) tokens.push(count === 1 ? last : `${last}*${count.toString(RADIX)}`);
  };
  for (const place of places) {
    const step = stepOf(before, place);
    before = place;
    if (step === last) {
      count += 1;
      continue;
    }
    end();
    last = step;
    count = 1;
  }
  end();
  return tokens.join();
}

function stepOf(before: Place, { sequence, acceptedMs }: Place): string {
  const distance = (sequence - before.sequence).toString(RADIX);
  const ms = acceptedMs - before.acceptedMs;
  return ms === 0 ? distance : `${distance}.${ms.toString(RADIX)}`;
}

/** Throws a RangeError where the text is not one of `encodePlaces`. */
export function decodePlaces(text: string): Place[] {
  const places: Place[] = [];
  let sequence = 0;
  let acceptedMs = 0;
  for (const token of text === '' ? [] : text.split(',')) {
    const [whole, distance = '', time = '0', count = '1'] = TOKEN.exec(token) ?? [];
    if (whole === undefined) throw new RangeError('not a place in a stream');
    const step = Number.parseInt(distance, RADIX);
    const ms = Number.parseInt(time, RADIX);
    for (let left = Number.parseInt(count, RADIX); left > 0; left -= 1) {
      sequence += step;
      acceptedMs += ms;
      places.push({ sequence, acceptedMs });
    }
  }
  return places;
}

export const encodeSequences = (sequences: readonly number[]): string =>
  encodePlaces(sequences.map((sequence) => ({ sequence, acceptedMs: 0 })));

export const decodeSequences = (text: string): number[] =>
  decodePlaces(text).map(({ sequence }) => sequence);

/** Ascending, each once. */
export const united = (some: readonly number[], others: readonly number[]): number[] =>
  [...new Set([...some, ...others])].toSorted((one, other) => one - other);
