/** Searches for the mistakes that explain a wrong signature: single ones first, then pairs. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SignatureFault } from './signature-faults.ts';
import { BODY_UNDOINGS, KEY_UNDOINGS, type Undoing, type Variant } from './signature-variants.ts';

/**
 * Single mistakes need about twenty signatures, for bodies of any size. There are hundreds of pairs, so
 * only as many are tried as this number of bytes allows.
 */
const MAX_BYTES_FOR_TWO = 16 * 1024 * 1024;

/** Parsing and serialising a byte takes as long as signing this many. */
const COST_OF_UNDOING = 8;

/** A candidate for what was signed. */
interface Pair {
  readonly body: Variant;
  readonly key: Variant;
}

/** The given pair, and what its body and key may have been before one mistake. */
interface Candidates {
  readonly given: Pair;
  readonly bodies: readonly Variant[];
  readonly keys: readonly Variant[];
}

interface Budget {
  /** Returns false if the budget is exceeded. */
  spend(bytes: number): boolean;
}

export interface Search {
  /** The faults of body and key that make the signature valid when they are undone. */
  readonly faults: readonly SignatureFault[] | undefined;
  /** Whether the body is JSON that this library would write differently, so it was changed. */
  readonly isRespelled: boolean;
}

export function searchFaults(given: Pair, claimed: Buffer): Search {
  const bodies = undone(given.body, BODY_UNDOINGS);
  const keys = undone(given.key, KEY_UNDOINGS);
  const alone: Pair[] = [
    given,
    ...bodies.map((body) => ({ ...given, body })),
    ...keys.map((key) => ({ ...given, key })),
  ];
  const found =
    alone.find((pair) => fits(pair, claimed)) ?? findTwo({ given, bodies, keys }, claimed);
  return {
    faults: found && [...found.body.faults, ...found.key.faults],
    isRespelled: bodies.some(({ faults }) => faults.includes('body-reserialised')),
  };
}

function findTwo(candidates: Candidates, claimed: Buffer): Pair | undefined {
  const budget = budgetOf(MAX_BYTES_FOR_TWO);
  for (const pair of pairsOfTwo(candidates, budget)) {
    if (!budget.spend(pair.body.value.length + pair.key.value.length)) return undefined;
    if (fits(pair, claimed)) return pair;
  }
  return undefined;
}

/** Yields the most likely pairs first, since the budget may end. */
function* pairsOfTwo({ given, bodies, keys }: Candidates, budget: Budget): Generator<Pair> {
  for (const key of keys) {
    for (const body of bodies) yield { body, key };
  }
  for (const one of keys) {
    for (const key of undone(one, KEY_UNDOINGS)) yield { ...given, key };
  }
  for (const one of bodies) {
    if (!budget.spend(one.value.length * COST_OF_UNDOING)) return;
    for (const body of undone(one, BODY_UNDOINGS)) yield { ...given, body };
  }
}

function budgetOf(bytes: number): Budget {
  let left = bytes;
  return {
    spend(some) {
      left -= some;
      return left >= 0;
    },
  };
}

function fits({ body, key }: Pair, claimed: Buffer): boolean {
  return timingSafeEqual(claimed, createHmac('sha256', key.value).update(body.value).digest());
}

/** Returns what it may have been before one more mistake. */
function undone({ value, faults }: Variant, undoings: readonly Undoing[]): Variant[] {
  const variants: Variant[] = [];
  for (const [fault, undo] of undoings.filter(([one]) => !faults.includes(one))) {
    for (const before of [undo(value) ?? []].flat()) {
      const known = [value, ...variants.map((variant) => variant.value)];
      // An empty key or body is never right.
      if (before.length === 0 || known.some((bytes) => bytes.equals(before))) continue;
      variants.push({ value: before, faults: [...faults, fault] });
    }
  }
  return variants;
}
