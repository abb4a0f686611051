/** How much of what waits a process keeps in mind: of one application, and of all together. */

/** Of an application, in messages: four of the largest claims. The rest is read when these are claimed. */
export const MAX_FRESH = 4000;

/**
 * Of all, in messages: of some 300 bytes each (measured) 60 MB; ten thousand full applications would be gigabytes. As
 * many more may be read out of rows at once (`RowRoom`), of some 90 bytes each, 20 MB.
 */
export const MAX_KEPT = 200_000;

/**
 * Of those that are not kept the sequences, 8 to 12 bytes each: up to 48 MB. To read them by these is quick; to find
 * what an application has in a stream of millions takes the server half a second (measured).
 */
const BEHIND: BehindBounds = { all: 4_000_000, each: 20_000 };

/** In sequences: of all applications, and of one. */
export interface BehindBounds {
  readonly all: number;
  readonly each: number;
}

/** So much is left of it once it was full: making room looks at every application. */
const LEFT_SHARE = 0.75;

/** One whose messages take room. */
export interface Keeper {
  /** How many are kept. */
  readonly kept: number;
  /** It is being claimed: what is kept is about to be given. */
  readonly isBusy: boolean;
  /** The first ones only, which is fewer than there are. */
  keepOnly(count: number): void;
}

export class FreshRoom {
  readonly #keepers: () => Iterable<Keeper>;
  readonly #max: number;
  readonly #behindBounds: BehindBounds;
  #kept = 0;
  #behind = 0;
  /** Where room is made: above `max` where the last time there was none to be had. */
  #limit: number;

  constructor(keepers: () => Iterable<Keeper>, max: number, behind = BEHIND) {
    this.#keepers = keepers;
    this.#max = max;
    this.#behindBounds = behind;
    this.#limit = max;
  }

  /** How many may come before room has to be made. */
  get left(): number {
    return Math.max(0, this.#max - this.#kept);
  }

  changed(by: number): void {
    this.#kept += by;
    // Where it was raised for many that keep one each, others are to have no more by it.
    if (this.#kept < this.#max * LEFT_SHARE) this.#limit = this.#max;
  }

  /** How many sequences an application may have, of `wanted`, where it has `held` already. */
  behindOf(wanted: number, held: number): number {
    const { all, each } = this.#behindBounds;
    return Math.min(wanted, each, held + Math.max(0, all - this.#behind));
  }

  changedBehind(by: number): void {
    this.#behind += by;
  }

  /** Where there is none, those that keep most give up their last ones: all the same share, and nobody else. */
  make(except?: Keeper): void {
    if (this.#kept < this.#limit) return;
    const givers = [...this.#keepers()].filter((one) => !one.isBusy && one !== except);
    const held = givers.reduce((sum, { kept }) => sum + kept, 0);
    const room = this.#max * LEFT_SHARE - (this.#kept - held);
    const share = shareOf(
      givers.map(({ kept }) => kept),
      room,
    );
    for (const giver of givers) if (giver.kept > share) giver.keepOnly(share);
    this.#limit = Math.max(this.#max, this.#kept + Math.ceil(this.#max * (1 - LEFT_SHARE)));
  }
}

/**
 * What each may keep at most so that all of it is within `room`: who has less keeps that, and what it
 * leaves is the others'. At least 1, which tells since when something is due.
 */
export function shareOf(kept: readonly number[], room: number): number {
  const ascending = kept.toSorted((one, other) => one - other);
  let left = room;
  for (const [index, count] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (count > share) return Math.max(1, share);
    left -= count;
  }
  return Number.POSITIVE_INFINITY;
}
