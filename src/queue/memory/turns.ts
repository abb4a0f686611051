import type { Tier } from '../queue.ts';
import type { Application } from './application.ts';
import { Heap } from './heap.ts';

type OpenTier = Exclude<Tier, 'closed'>;

const byKey = (): Heap<Application> =>
  new Heap<Application>(
    (application, other) => application.place.key < other.place.key,
    (application, index) => {
      application.place.index = index;
    },
  );

/**
 * Whose turn it is (law 4). An application is either ready and has a turn, or will be at a time that
 * is known, or nowhere; each claim costs the logarithm of their number, whatever waits for them.
 */
export class Turns {
  readonly #ready: Record<OpenTier, Heap<Application>> = { healthy: byKey(), failing: byKey() };
  /** By when they can be claimed or their lease is over: a closed one may still have a lease. */
  readonly #later: Record<Tier, Heap<Application>> = {
    healthy: byKey(),
    failing: byKey(),
    closed: byKey(),
  };
  #turn = 0;

  /** To be called after each change to what `application` has waiting, its row or its claim. */
  place(application: Application, nowMs: number): void {
    const { place } = application;
    const { tier } = application.row;
    const atMs = application.claimableAtMs();
    const isReady = atMs !== undefined && atMs <= nowMs && application.claim === undefined;
    const ready = isReady && tier !== 'closed' ? this.#ready[tier] : undefined;
    // It keeps the turn that it has, or what comes in for it would send it to the end each time.
    if (ready !== undefined && ready === place.heap) return;
    place.heap?.removeAt(place.index);
    place.heap = ready ?? (atMs === undefined ? undefined : this.#later[tier]);
    if (ready !== undefined) this.#turn += 1;
    place.key = ready === undefined ? (atMs ?? 0) : this.#turn;
    place.heap?.push(application);
  }

  isReady({ place }: Application): boolean {
    return place.heap === this.#ready.healthy || place.heap === this.#ready.failing;
  }

  /** The one that has waited longest for its turn, among those of `tiers`. */
  next(tiers: readonly OpenTier[]): Application | undefined {
    return firstOf(tiers.map((tier) => this.#ready[tier]));
  }

  /** When the next one of `tiers` will be ready, as far as is known. */
  nextAtMs(tiers: readonly OpenTier[]): number | undefined {
    return firstOf(tiers.map((tier) => this.#later[tier]))?.place.key;
  }

  /** One whose time has come: to be placed anew. */
  woken(nowMs: number): Application | undefined {
    const first = firstOf(Object.values(this.#later));
    return first !== undefined && first.place.key <= nowMs ? first : undefined;
  }
}

function firstOf(heaps: readonly Heap<Application>[]): Application | undefined {
  let first: Application | undefined;
  for (const heap of heaps) {
    const candidate = heap.first();
    if (candidate === undefined) continue;
    if (first === undefined || candidate.place.key < first.place.key) first = candidate;
  }
  return first;
}
