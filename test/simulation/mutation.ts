import type { InvariantName } from './invariants.ts';

/** A planted bug: one replacement in the sources. */
export interface Mutation {
  readonly name: string;
  /** Path below src/. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The invariant that must find it while no other is checked. */
  readonly invariant: InvariantName;
  /** Maximum number of seeds until it is found. */
  readonly withinSeeds: number;
}
