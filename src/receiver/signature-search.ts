/** What has to be undone for a signature to fit: one mistake is tried before two at the same time. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SignatureFault } from './signature-faults.ts';
import { BODY_UNDOINGS, KEY_UNDOINGS, type Undoing, type Variant } from './signature-variants.ts';

/**
 * One mistake alone is tried whatever the size of the body is: some twenty signatures. For two there
 * are hundreds, and a body may have megabytes: as many of them are tried as so many bytes suffice for.
 */
const MAX_BYTES_FOR_TWO = 16 * 1024 * 1024;

/** To parse and serialise a byte takes as long as to sign so many. */
const COST_OF_UNDOING = 8;

/** What may have made the signature. */
interface Pair {
  readonly body: Variant;
  readonly key: Variant;
}

/** What was given, and what each of its halves may have been before one mistake. */
interface Befores {
  readonly given: Pair;
  readonly bodies: readonly Variant[];
  readonly keys: readonly Variant[];
}

/** What is left of the bytes that may be read. */
interface Budget {
  /** Whether it sufficed. */
  spend(bytes: number): boolean;
}

export interface Search {
  /** Of body and key together, where undoing them makes the signature fit. */
  readonly faults: readonly SignatureFault[] | undefined;
  /** Whether the body is JSON in another spelling than this library's: it was not sent so. */
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

function findTwo(befores: Befores, claimed: Buffer): Pair | undefined {
  const budget = budgetOf(MAX_BYTES_FOR_TWO);
  for (const pair of pairsOfTwo(befores, budget)) {
    if (!budget.spend(pair.body.value.length + pair.key.value.length)) return undefined;
    if (fits(pair, claimed)) return pair;
  }
  return undefined;
}

/** The likelier ones first, since the budget may end: those of the secret are in that order. */
function* pairsOfTwo({ given, bodies, keys }: Befores, budget: Budget): Generator<Pair> {
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

/** What it may have been before one mistake more. */
function undone({ value, faults }: Variant, undoings: readonly Undoing[]): Variant[] {
  const variants: Variant[] = [];
  for (const [fault, undo] of undoings.filter(([one]) => !faults.includes(one))) {
    for (const before of [undo(value) ?? []].flat()) {
      const known = [value, ...variants.map((variant) => variant.value)];
      // With an empty key anybody signs, and an empty body is none.
      if (before.length === 0 || known.some((bytes) => bytes.equals(before))) continue;
      variants.push({ value: before, faults: [...faults, fault] });
    }
  }
  return variants;
}
