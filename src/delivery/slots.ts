/**
 * Limits the requests in flight (D75). An active request costs CPU time, so few are allowed. A waiting one, whose
 * response is late, costs a socket and a timer, so many are allowed.
 */
import type { ClaimRequest, Tier } from '../queue/queue.ts';

export interface SlotLimits {
  /** Maximum number of active requests. */
  readonly maxActiveRequests: number;
  /** Maximum number of requests that wait for a late response. */
  readonly maxWaitingRequests: number;
}

/** Maximum number of idle connections that are kept for later requests. */
const MAX_IDLE_CONNECTIONS = 256;

/** Lowers the limits to what the process may open: half of its files are left to the host. At least one request is always possible. */
export function withinOpenFiles(
  { maxActiveRequests, maxWaitingRequests }: SlotLimits,
  maxOpenFiles: number,
): SlotLimits & { readonly maxIdleConnections: number } {
  const part = (wanted: number, share: number): number =>
    Math.max(1, Math.min(wanted, Math.floor(maxOpenFiles * share)));
  return {
    maxActiveRequests: part(maxActiveRequests, 1 / 8),
    maxWaitingRequests: part(maxWaitingRequests, 1 / 4),
    maxIdleConnections: part(MAX_IDLE_CONNECTIONS, 1 / 8),
  };
}

export type Tiers = ClaimRequest['tiers'];

const PROVEN: Tiers = ['healthy'];
const ALL: Tiers = ['healthy', 'untried', 'failing'];

interface Room {
  readonly tiers: Tiers;
  readonly count: number;
}

export interface InFlight {
  /** Number of active requests. */
  readonly active: number;
  /** Number of requests that wait for a late response. */
  readonly waiting: number;
}

export class Slots {
  readonly #limits: SlotLimits;
  #active = 0;
  #waiting = 0;
  /** Active requests for which a place among the waiting ones is reserved. */
  #reserved = 0;
  /** Move active requests that are late to the waiting ones, once there is a place for them. */
  readonly #lateMoves = new Set<() => void>();

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * Returns how many requests may begin now, and to destinations of which tiers. A request to a destination that is not
   * healthy needs a reserved place to wait: otherwise a few that never respond would hold all active slots.
   */
  room(): Room {
    const { maxActiveRequests, maxWaitingRequests } = this.#limits;
    const count = Math.max(0, maxActiveRequests - this.#active);
    const places = maxWaitingRequests - this.#waiting - this.#reserved;
    return places > 0 ? { tiers: ALL, count: Math.min(count, places) } : { tiers: PROVEN, count };
  }

  inFlight(): InFlight {
    return { active: this.#active, waiting: this.#waiting };
  }

  /** Takes a slot for a request to a destination of the tier, even if none is free. */
  take(tier: Tier): Slot {
    const isReserved = tier !== 'healthy';
    this.#active += 1;
    if (isReserved) this.#reserved += 1;
    let state: 'active' | 'waiting' | 'released' = 'active';
    const leaveActive = (): void => {
      this.#active -= 1;
      if (isReserved) this.#reserved -= 1;
    };
    const moveToWaiting = (): void => {
      leaveActive();
      this.#waiting += 1;
      state = 'waiting';
    };
    return {
      tryToWait: () => {
        if (state !== 'active') return false;
        const hasPlace = isReserved || this.#hasPlaceToWait();
        if (hasPlace) moveToWaiting();
        else this.#lateMoves.add(moveToWaiting);
        return hasPlace;
      },
      resume: () => {
        if (state !== 'waiting') return;
        this.#waiting -= 1;
        this.#active += 1;
        if (isReserved) this.#reserved += 1;
        state = 'active';
        this.#moveLate();
      },
      release: () => {
        if (state === 'active') leaveActive();
        if (state === 'waiting') this.#waiting -= 1;
        state = 'released';
        this.#lateMoves.delete(moveToWaiting);
        this.#moveLate();
      },
    };
  }

  #moveLate(): void {
    for (const moveToWaiting of this.#lateMoves) {
      if (!this.#hasPlaceToWait()) return;
      this.#lateMoves.delete(moveToWaiting);
      moveToWaiting();
    }
  }

  #hasPlaceToWait(): boolean {
    return this.#waiting + this.#reserved < this.#limits.maxWaitingRequests;
  }
}

/** The slot of one request. */
export interface Slot {
  /** Moves an active request to the waiting ones: now, or once there is a place. Returns whether there was one. */
  tryToWait(): boolean;
  /** Moves a waiting request back to the active ones, even if that exceeds their limit. */
  resume(): void;
  /** Idempotent. */
  release(): void;
}
