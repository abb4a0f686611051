/**
 * How many requests there may be at a time (D75). A request that is being made costs work, so there are few of these; one
 * whose answer is late costs a socket and a timer, so there may be many. Pure.
 */
import type { ClaimRequest, Tier } from '../queue/queue.ts';

export interface SlotLimits {
  /** Of requests that are being made. */
  readonly maxActiveRequests: number;
  /** Of requests whose answer is late. */
  readonly maxWaitingRequests: number;
}

/** Connections that are kept for later requests, where the process may open enough files. */
const MAX_IDLE_CONNECTIONS = 256;

/** Leaves half of the files that a process may open to its host. At least one request can always be made. */
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
  /** Requests that are being made. */
  readonly active: number;
  /** Requests whose answer is late. */
  readonly waiting: number;
}

export class Slots {
  readonly #limits: SlotLimits;
  #active = 0;
  #waiting = 0;
  /** Active ones that are sure of a place to wait. */
  #reserved = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * How many requests may begin now, and to destinations of which tiers. One that has not proven itself needs a place to
   * wait: else as many black holes as there are slots would hold up all the others.
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

  /** Takes a slot for a request to a destination of the tier. */
  take(tier: Tier): Slot {
    const isReserved = tier !== 'healthy';
    this.#active += 1;
    if (isReserved) this.#reserved += 1;
    let state: 'active' | 'waiting' | 'released' = 'active';
    const leaveActive = (): void => {
      this.#active -= 1;
      if (isReserved) this.#reserved -= 1;
    };
    return {
      wait: () => {
        if (state !== 'active' || !(isReserved || this.#hasRoom())) return false;
        leaveActive();
        this.#waiting += 1;
        state = 'waiting';
        return true;
      },
      resume: () => {
        if (state !== 'waiting') return;
        this.#waiting -= 1;
        this.#active += 1;
        if (isReserved) this.#reserved += 1;
        state = 'active';
      },
      release: () => {
        if (state === 'active') leaveActive();
        if (state === 'waiting') this.#waiting -= 1;
        state = 'released';
      },
    };
  }

  #hasRoom(): boolean {
    return this.#waiting + this.#reserved < this.#limits.maxWaitingRequests;
  }
}

/** The place of one request. */
export interface Slot {
  /** Lets another request begin while this one waits for its answer. Tells whether it does. */
  wait(): boolean;
  /** Its request is being made again. For so long there may be more active ones than the limit. */
  resume(): void;
  /** Idempotent. */
  release(): void;
}
