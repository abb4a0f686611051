/**
 * How large a body a destination takes: learned from what it refuses for its size and from what
 * passes (D73). Pure.
 */

export type ByteBudget = {
  /** What a body may have; never above `maxBodyBytes`. */
  readonly maxBytes: number;
  /** The largest body that passed since one was refused; 0 before. */
  readonly passedBytes: number;
  /** Since it last changed. */
  readonly successes: number;
};

export interface BudgetLimits {
  readonly maxBodyBytes: number;
  readonly growAfterSuccesses: number;
}

/** Each growth, as a part of the budget. */
const GROWTH = 0.1;

export function startBudget({ maxBodyBytes }: BudgetLimits): ByteBudget {
  return { maxBytes: maxBodyBytes, passedBytes: 0, successes: 0 };
}

/** Half of what was refused, or what is known to pass where that is more. */
export function afterTooLarge({ passedBytes }: ByteBudget, bodyBytes: number): ByteBudget {
  const half = Math.floor(bodyBytes / 2);
  const known = passedBytes < bodyBytes ? passedBytes : 0;
  return { maxBytes: Math.max(1, half, known), passedBytes: known, successes: 0 };
}

/** Bodies that leave most of the budget unused tell nothing about it. */
export function afterPassed(
  budget: ByteBudget,
  bodyBytes: number,
  { maxBodyBytes, growAfterSuccesses }: BudgetLimits,
): ByteBudget {
  const passedBytes = Math.max(budget.passedBytes, bodyBytes);
  if (budget.maxBytes >= maxBodyBytes) return { ...budget, maxBytes: maxBodyBytes, passedBytes };
  const successes = budget.successes + (bodyBytes * 2 >= budget.maxBytes ? 1 : 0);
  if (successes < growAfterSuccesses) return { ...budget, passedBytes, successes };
  const grown = Math.ceil(budget.maxBytes * (1 + GROWTH));
  return { maxBytes: Math.min(grown, maxBodyBytes), passedBytes, successes: 0 };
}
