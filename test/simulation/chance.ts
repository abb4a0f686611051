import type { SeededRandom } from '../../src/testing/index.ts';

export const chance = (random: SeededRandom, probability: number): boolean =>
  random() < probability;

/** `count` times in order, spread over a span. */
export const times = (random: SeededRandom, count: number, spanMs: number): number[] =>
  Array.from({ length: count }, () => random.integer(0, spanMs)).toSorted((a, b) => a - b);
