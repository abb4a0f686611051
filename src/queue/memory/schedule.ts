import { Heap } from '../../runtime/heap.ts';
import type { Health } from '../queue.ts';

type OpenHealth = Exclude<Health, 'closed'>;

/** Where an application is in the schedule. Only {@link Schedule} writes it. */
export interface SchedulePlace {
  heap: object | undefined;
  index: number;
  /** The number of its turn, or a time in milliseconds. */
  key: number;
}

/** What the schedule needs to know of an application. */
export interface Scheduled {
  readonly place: SchedulePlace;
  readonly state: { readonly health: Health };
  readonly claim: object | undefined;
  claimableAtMs(): number | undefined;
}

const heapByKey = <T extends Scheduled>(): Heap<T> =>
  new Heap<T>(
    (application, other) => application.place.key < other.place.key,
    (application, index) => {
      application.place.index = index;
    },
  );

/**
 * Gives applications their turns. An application is ready and has the number of its turn, or it waits for
 * a known time, or it has nothing to wait for. A change costs the logarithm of the number of applications.
 */
export class Schedule<T extends Scheduled> {
  readonly #ready: Record<OpenHealth, Heap<T>> = {
    untried: heapByKey(),
    healthy: heapByKey(),
    failing: heapByKey(),
  };
  /** Closed applications wait here too, while they have a lease. */
  readonly #later: Record<Health, Heap<T>> = {
    untried: heapByKey(),
    healthy: heapByKey(),
    failing: heapByKey(),
    closed: heapByKey(),
  };
  #lastTurn = 0;

  /** Updates the place of an application after a change to its messages, state or claim. */
  update(application: T, nowMs: number): void {
    const { place } = application;
    const { health } = application.state;
    const atMs = application.claimableAtMs();
    const isReady = atMs !== undefined && atMs <= nowMs && application.claim === undefined;
    const ready = isReady && health !== 'closed' ? this.#ready[health] : undefined;
    // A ready application keeps its turn: otherwise each new message would send it to the end.
    if (ready !== undefined && ready === place.heap) return;
    const heap = ready ?? (atMs === undefined ? undefined : this.#later[health]);
    (place.heap as Heap<T> | undefined)?.removeAt(place.index);
    place.heap = heap;
    if (ready !== undefined) this.#lastTurn += 1;
    place.key = ready === undefined ? (atMs ?? 0) : this.#lastTurn;
    heap?.push(application);
  }

  /** Returns the ready application of this health that has waited longest for its turn. */
  next(ofHealth: readonly OpenHealth[]): T | undefined {
    return firstOf(ofHealth.map((health) => this.#ready[health]));
  }

  /** Returns the earliest time that an application of this health waits for. */
  nextAtMs(ofHealth: readonly OpenHealth[]): number | undefined {
    return firstOf(ofHealth.map((health) => this.#later[health]))?.place.key;
  }

  /** Returns an application whose time has come. Call `update` for it. */
  due(nowMs: number): T | undefined {
    const first = firstOf(Object.values(this.#later));
    return first !== undefined && first.place.key <= nowMs ? first : undefined;
  }
}

function firstOf<T extends Scheduled>(heaps: readonly Heap<T>[]): T | undefined {
  let first: T | undefined;
  for (const heap of heaps) {
    const candidate = heap.first();
    if (candidate === undefined) continue;
    if (first === undefined || candidate.place.key < first.place.key) first = candidate;
  }
  return first;
}
