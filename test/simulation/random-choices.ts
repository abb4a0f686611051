import type { SeededRandom } from '../helpers/seeded-random.ts';

export const chance = (random: SeededRandom, probability: number): boolean =>
  random() < probability;

/** Returns `count` random times within the span, sorted. */
export const times = (random: SeededRandom, count: number, spanMs: number): number[] =>
  Array.from({ length: count }, () => random.integer(0, spanMs)).toSorted((a, b) => a - b);

/** Picks an element with a probability in proportion to its weight. */
export const pickWeighted = <T extends { readonly weight: number }>(
  random: SeededRandom,
  list: readonly T[],
): T => random.pick(list.flatMap((one) => Array.from({ length: one.weight }, () => one)));
