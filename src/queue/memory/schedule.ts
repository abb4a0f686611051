import { Heap } from '../../runtime/heap.ts';
import type { Health } from '../queue.ts';
import type { Application } from './application.ts';

type OpenHealth = Exclude<Health, 'closed'>;

const heapByKey = (): Heap<Application> =>
  new Heap(
    (application, other) => application.place.key < other.place.key,
    (application, index) => {
      application.place.index = index;
    },
  );

/**
 * Gives applications their turns. A ready application is in a heap by the number of its turn. One that becomes
 * ready at a known time is in a heap by that time. Any other is in no heap. A change takes O(log n)
 * steps for n applications.
 */
export class Schedule {
  readonly #ready: Record<OpenHealth, Heap<Application>> = {
    untried: heapByKey(),
    healthy: heapByKey(),
    failing: heapByKey(),
  };
  /** Closed applications wait here too, while they have a claim. */
  readonly #later: Record<Health, Heap<Application>> = {
    untried: heapByKey(),
    healthy: heapByKey(),
    failing: heapByKey(),
    closed: heapByKey(),
  };
  #lastTurn = 0;

  /** Updates the place of an application after a change to its messages, state or claim. */
  update(application: Application, nowMs: number): void {
    const { place } = application;
    const { health } = application.state;
    const atMs = application.claimableAtMs();
    const isReady = atMs !== undefined && atMs <= nowMs && application.claim === undefined;
    const ready = isReady && health !== 'closed' ? this.#ready[health] : undefined;
    // A ready application keeps its turn: otherwise each new message would send it to the end.
    if (ready !== undefined && ready === place.heap) return;
    const heap = ready ?? (atMs === undefined ? undefined : this.#later[health]);
    place.heap?.removeAt(place.index);
    place.heap = heap;
    this.#lastTurn += 1;
    place.key = ready === undefined ? (atMs ?? 0) : this.#lastTurn;
    heap?.push(application);
  }

  /** Returns the ready application of this health that has waited longest for its turn. */
  next(ofHealth: readonly OpenHealth[]): Application | undefined {
    return firstOf(ofHealth.map((health) => this.#ready[health]));
  }

  /** Returns the earliest time that an application of this health waits for. */
  nextAtMs(ofHealth: readonly OpenHealth[]): number | undefined {
    return firstOf(ofHealth.map((health) => this.#later[health]))?.place.key;
  }

  /** Returns the application that has been due for longest, if one is. Returns it again until `update` is called. */
  due(nowMs: number): Application | undefined {
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
