/**
 * How many requests may be in flight: slots for destinations that work, and others for those that do
 * not, so that the second cannot hold up the first (D75).
 */
import type { Tier } from '../queue/queue.ts';

export type Pool = Exclude<Tier, 'closed'>;

export const POOLS: readonly Pool[] = ['healthy', 'failing'];

export interface SlotLimits {
  readonly healthySlots: number;
  readonly failingSlots: number;
}

/** One request's place. */
export interface Slot {
  readonly pool: Pool;
  /** To the slots of those that fail, if there is room; tells whether it moved. */
  moveToFailing(): boolean;
  /** Idempotent. */
  release(): void;
}

export class Slots {
  readonly #free: Record<Pool, number>;
  readonly #limits: Readonly<Record<Pool, number>>;

  constructor({ healthySlots, failingSlots }: SlotLimits) {
    this.#limits = { healthy: healthySlots, failing: failingSlots };
    this.#free = { ...this.#limits };
  }

  /** The pools that have room. */
  free(): Pool[] {
    return POOLS.filter((pool) => this.#free[pool] > 0);
  }

  inUse(): Record<Pool, number> {
    const used = (pool: Pool): number => this.#limits[pool] - this.#free[pool];
    return { healthy: used('healthy'), failing: used('failing') };
  }

  take(wanted: Pool): Slot {
    const free = this.#free;
    let pool = wanted;
    let isHeld = true;
    free[pool] -= 1;
    return {
      get pool() {
        return pool;
      },
      moveToFailing: () => {
        if (!isHeld || pool === 'failing' || free.failing === 0) return false;
        free[pool] += 1;
        pool = 'failing';
        free[pool] -= 1;
        return true;
      },
      release: () => {
        if (isHeld) free[pool] += 1;
        isHeld = false;
      },
    };
  }
}
