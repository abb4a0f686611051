import { Heap } from '../../runtime/heap.ts';
import type { Tier } from '../queue.ts';

type OpenTier = Exclude<Tier, 'closed'>;

/** Where an application stands among the others: {@link Turns} alone writes it. */
export interface Place {
  heap: object | undefined;
  index: number;
  /** A turn, or a time. */
  key: number;
}

export const nowhere = (): Place => ({ heap: undefined, index: 0, key: 0 });

/** What a queue in one process knows of an application, as far as its turn goes. */
export interface TurnTaker {
  readonly place: Place;
  readonly state: { readonly tier: Tier };
  /** While there is one nothing else may be claimed. */
  readonly claim: object | undefined;
  /** When something of it can be claimed, or its lease is over; `undefined`: whatever the time, nothing. */
  claimableAtMs(): number | undefined;
}

const byKey = <T extends TurnTaker>(): Heap<T> =>
  new Heap<T>(
    (application, other) => application.place.key < other.place.key,
    (application, index) => {
      application.place.index = index;
    },
  );

/**
 * Whose turn it is (law 4). An application is either ready and has a turn, or will be at a time that
 * is known, or nowhere; each claim costs the logarithm of their number, whatever waits for them.
 */
export class Turns<T extends TurnTaker> {
  readonly #ready: Record<OpenTier, Heap<T>> = { healthy: byKey(), failing: byKey() };
  /** By when they can be claimed or their lease is over: a closed one may still have a lease. */
  readonly #later: Record<Tier, Heap<T>> = {
    healthy: byKey(),
    failing: byKey(),
    closed: byKey(),
  };
  #turn = 0;

  /** To be called after each change to what `application` has waiting, its state or its claim. */
  place(application: T, nowMs: number): void {
    const { place } = application;
    const { tier } = application.state;
    const atMs = application.claimableAtMs();
    const isReady = atMs !== undefined && atMs <= nowMs && application.claim === undefined;
    const ready = isReady && tier !== 'closed' ? this.#ready[tier] : undefined;
    // It keeps the turn that it has, or what comes in for it would send it to the end each time.
    if (ready !== undefined && ready === place.heap) return;
    const heap = ready ?? (atMs === undefined ? undefined : this.#later[tier]);
    (place.heap as Heap<T> | undefined)?.removeAt(place.index);
    place.heap = heap;
    if (ready !== undefined) this.#turn += 1;
    place.key = ready === undefined ? (atMs ?? 0) : this.#turn;
    heap?.push(application);
  }

  isReady({ place }: T): boolean {
    return place.heap === this.#ready.healthy || place.heap === this.#ready.failing;
  }

  /** The one that has waited longest for its turn, among those of `tiers`. */
  next(tiers: readonly OpenTier[]): T | undefined {
    return firstOf(tiers.map((tier) => this.#ready[tier]));
  }

  /** When the next one of `tiers` will be ready, as far as is known. */
  nextAtMs(tiers: readonly OpenTier[]): number | undefined {
    return firstOf(tiers.map((tier) => this.#later[tier]))?.place.key;
  }

  /** One whose time has come: to be placed anew. */
  woken(nowMs: number): T | undefined {
    const first = firstOf(Object.values(this.#later));
    return first !== undefined && first.place.key <= nowMs ? first : undefined;
  }
}

function firstOf<T extends TurnTaker>(heaps: readonly Heap<T>[]): T | undefined {
  let first: T | undefined;
  for (const heap of heaps) {
    const candidate = heap.first();
    if (candidate === undefined) continue;
    if (first === undefined || candidate.place.key < first.place.key) first = candidate;
  }
  return first;
}
