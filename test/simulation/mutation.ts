import type { InvariantName } from './invariants.ts';

/** A planted bug: one line of the sources. */
export interface Mutation {
  readonly name: string;
  /** Below src/. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The invariant that sees it, all others unchecked. */
  readonly by: InvariantName;
  /** It is found within the first so many seeds. */
  readonly withinSeeds: number;
}
