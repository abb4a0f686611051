/** Reproducible random numbers: the same seed gives the same numbers on every machine. */
import type { Random } from '../../src/runtime/random.ts';

/** Callable like `Math.random`: numbers in [0, 1). */
export interface SeededRandom extends Random {
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** An element of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
}

const RANGE = 2 ** 32;
const STEP = 0x6d2b79f5;

/** Creates a generator (mulberry32). `seed` is a whole number from 0 to 2^32 - 1. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed | 0;
  const random = (): number => {
    state = (state + STEP) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / RANGE;
  };
  const integer = (min: number, max: number): number =>
    min + Math.floor(random() * (max - min + 1));
  const pick = <T>(list: readonly T[]): T => list[integer(0, list.length - 1)] as T;
  return Object.assign(random, { integer, pick });
}
