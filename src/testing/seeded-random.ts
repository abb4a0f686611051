/** Reproducible random numbers: the same seed gives the same numbers on every machine. */
import { SecurityEventError } from '../errors.ts';
import type { Random } from '../runtime/random.ts';

/** Callable like `Math.random`: numbers in [0, 1). */
export interface SeededRandom extends Random {
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** An element of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
}

const RANGE = 2 ** 32;
const STEP = 0x6d2b79f5;

/**
 * Creates a generator (mulberry32: 32 bits of state) for tests, never for secrets. `seed` is a whole number
 * from 0 to 2^32 - 1; consecutive seeds give unrelated numbers.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` for an invalid seed; `integer` throws it for invalid bounds
 * or bounds more than 2^32 apart, and `pick` for an empty list.
 */
export function createSeededRandom(seed: number): SeededRandom {
  if (!Number.isInteger(seed) || seed < 0 || seed >= RANGE) {
    throw refusal('seed', 'a whole number from 0 to 4294967295');
  }
  let state = seed | 0;
  const random = (): number => {
    state = (state + STEP) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / RANGE;
  };
  const integer = (min: number, max: number): number => {
    if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || max < min) {
      throw refusal('max', 'whole numbers, the larger one last');
    }
    const count = max - min + 1;
    if (count > RANGE) throw refusal('max', 'at most 4294967296 numbers to choose from');
    return min + Math.floor(random() * count);
  };
  const pick = <T>(list: readonly T[]): T => {
    if (list.length === 0) throw refusal('list', 'at least one element');
    return list[integer(0, list.length - 1)] as T;
  };
  return Object.assign(random, { integer, pick });
}

const refusal = (name: string, expected: string): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', {
    detail: `${name}: expected ${expected}`,
    path: [name],
  });
