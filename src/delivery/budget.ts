/**
 * Learns the largest request that a destination accepts, in bytes or in messages: from requests that are refused for
 * their size or time out, and from those that succeed (D73). Pure.
 */

export type Budget = {
  /** The largest request that is sent. Never above `BudgetLimits.max`. */
  readonly max: number;
  /** The largest request that passed; 0 before the first. Reset when one of this size or less is refused. */
  readonly passed: number;
  /** Large requests that passed since `max` changed. */
  readonly successes: number;
};

export interface BudgetLimits {
  readonly max: number;
  readonly growAfterSuccesses: number;
  /** Growth as a part of the budget: 1 doubles it. */
  readonly growth: number;
}

export function startBudget(max: number): Budget {
  return { max, passed: 0, successes: 0 };
}

/** Lowers the budget to half of the refused size, or to the largest size that passed if that is more. */
export function afterTooLarge({ passed }: Budget, size: number): Budget {
  const known = passed < size ? passed : 0;
  return { max: Math.max(1, Math.floor(size / 2), known), passed: known, successes: 0 };
}

/** Raises the budget after enough successes. Those of requests below half of it do not count. */
export function afterPassed(budget: Budget, size: number, limits: BudgetLimits): Budget {
  const { max, growAfterSuccesses, growth } = limits;
  const passed = Math.max(budget.passed, size);
  if (budget.max >= max) return { ...budget, max, passed };
  const successes = budget.successes + (size * 2 >= budget.max ? 1 : 0);
  if (successes < growAfterSuccesses) return { ...budget, passed, successes };
  const grown = Math.ceil(budget.max * (1 + growth));
  return { max: Math.min(grown, max), passed, successes: 0 };
}
