/**
 * Limits the requests in flight (D75). An active request costs CPU time, so few are allowed. A waiting one, whose
 * response is late, costs a socket and a timer, so many are allowed.
 */
import type { ClaimRequest, Health } from '../queue/queue.ts';
import { deferred } from '../runtime/deferred.ts';

export interface SlotLimits {
  readonly maxActiveRequests: number;
  /** Maximum number of requests that wait for a late response. */
  readonly maxWaitingRequests: number;
}

/** Maximum number of idle connections that are kept for later requests. */
const MAX_IDLE_CONNECTIONS = 256;

/** Lowers the limits to what the process may open: half of its files are left to the host. At least one request is possible. */
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

const HEALTHY_ONLY: ClaimRequest['ofHealth'] = ['healthy'];
const ANY_HEALTH: ClaimRequest['ofHealth'] = ['healthy', 'untried', 'failing'];

export interface InFlight {
  readonly active: number;
  /** Number of requests that wait for a late response. */
  readonly waiting: number;
}

/** Slots that are kept free for the requests of claims in progress. */
export interface Reservation {
  /** Health of the destinations that may get a request. */
  readonly ofHealth: ClaimRequest['ofHealth'];
  readonly count: number;
  /** Takes one of the slots for a request to a destination of this health. */
  take(health: Health): Slot;
  /** Frees those that were not taken. */
  end(): void;
}

export class Slots {
  readonly #limits: SlotLimits;
  #active = 0;
  /** Slots that are reserved for claims in progress. */
  #reserved = 0;
  #waiting = 0;
  /** Places among the waiting requests that are kept free, for active requests and for reserved slots. */
  #keptPlaces = 0;
  /** One function for each late request that is still active: it makes the request wait. */
  readonly #lateMoves = new Set<() => void>();
  /** One function for each waiting request that can go on: it makes the request active. */
  readonly #resuming = new Set<() => void>();

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * Reserves slots for at most `max` requests. A request to a destination that is not healthy needs a place to wait:
   * otherwise a few that never respond would hold all active slots.
   */
  reserve(max: number): Reservation {
    const places = this.#places();
    const hasPlaces = places > 0;
    const count = Math.max(0, Math.min(max, this.#free(), hasPlaces ? places : max));
    let left = 0;
    const addReserved = (slots: number): void => {
      left += slots;
      this.#reserved += slots;
      if (hasPlaces) this.#keptPlaces += slots;
    };
    addReserved(count);
    return {
      ofHealth: hasPlaces ? ANY_HEALTH : HEALTHY_ONLY,
      count,
      take: (health) => {
        addReserved(-1);
        return this.#take(health !== 'healthy');
      },
      end: () => {
        addReserved(-left);
        this.#moveRequests();
      },
    };
  }

  inFlight(): InFlight {
    return { active: this.#active, waiting: this.#waiting };
  }

  /** `keepsPlace`: a place to wait is kept for the request while it is active. */
  #take(keepsPlace: boolean): Slot {
    let state: 'active' | 'waiting' | 'released' = 'active';
    const change = (next: typeof state): void => {
      this.#count(state, keepsPlace, -1);
      this.#count(next, keepsPlace, 1);
      state = next;
    };
    const wait = (): void => change('waiting');
    let resume: (() => void) | undefined;
    this.#count('active', keepsPlace, 1);
    return {
      tryToWait: () => {
        if (state !== 'active') return false;
        const hasPlace = keepsPlace || this.#places() > 0;
        if (hasPlace) wait();
        else this.#lateMoves.add(wait);
        if (hasPlace) this.#moveRequests();
        return hasPlace;
      },
      resume: () => {
        this.#lateMoves.delete(wait);
        if (state !== 'waiting') return undefined;
        const resumed = deferred();
        resume = () => {
          change('active');
          resumed.resolve();
        };
        this.#resuming.add(resume);
        this.#moveRequests();
        return resumed.promise;
      },
      release: () => {
        if (state !== 'released') change('released');
        this.#lateMoves.delete(wait);
        if (resume !== undefined) this.#resuming.delete(resume);
        this.#moveRequests();
      },
    };
  }

  #count(state: 'active' | 'waiting' | 'released', keepsPlace: boolean, by: 1 | -1): void {
    if (state === 'active') this.#active += by;
    if (state === 'active' && keepsPlace) this.#keptPlaces += by;
    if (state === 'waiting') this.#waiting += by;
  }

  /** Lets late requests wait, and waiting ones resume, while there are places and slots for them. */
  #moveRequests(): void {
    for (;;) {
      const [move] = this.#places() > 0 ? this.#lateMoves : [];
      const [resume] = this.#free() > 0 ? this.#resuming : [];
      if (move !== undefined) {
        this.#lateMoves.delete(move);
        move();
      } else if (resume !== undefined) {
        this.#resuming.delete(resume);
        resume();
      } else return;
    }
  }

  #free(): number {
    return this.#limits.maxActiveRequests - this.#active - this.#reserved;
  }

  #places(): number {
    return this.#limits.maxWaitingRequests - this.#waiting - this.#keptPlaces;
  }
}

/** The slot of one request. */
export interface Slot {
  /** Moves an active request to the waiting ones: now, or once there is a place. Returns whether it waits now. */
  tryToWait(): boolean;
  /** Makes a waiting request active: resolves when there is a slot. Returns undefined for an active request. */
  resume(): Promise<void> | undefined;
  /** Idempotent. */
  release(): void;
}
