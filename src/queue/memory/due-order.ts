import { Heap } from '../../system/heap.ts';
import { Arrivals } from './arrivals.ts';
import type { Run } from './run.ts';
import { type ClaimLimits, Taken } from './taken.ts';
import { isDueBefore, keepAlone, type WaitingMessage } from './waiting-message.ts';

/**
 * What waits of one application, in the order (due, sequence). What is accepted is due in the order
 * in which it comes: only what was claimed before has to be sorted in.
 */
export class DueOrder {
  readonly #accepted = new Arrivals();
  readonly #again = new Heap<WaitingMessage>(isDueBefore);

  get size(): number {
    return this.#accepted.size + this.#again.size;
  }

  first(): WaitingMessage | undefined {
    const accepted = this.#accepted.first();
    if (this.#again.size === 0) return accepted;
    const again = this.#again.first();
    if (accepted === undefined || again === undefined) return accepted ?? again;
    return isDueBefore(again, accepted) ? again : accepted;
  }

  shift(): WaitingMessage | undefined {
    if (this.#again.size === 0) return this.#accepted.shift();
    const first = this.first();
    return first === this.#again.first() ? this.#again.shift() : this.#accepted.shift();
  }

  /** Of messages that are due now, with the highest sequences yet. */
  append(arrival: WaitingMessage | Run): void {
    this.#accepted.push(arrival);
  }

  putBack(message: WaitingMessage): void {
    keepAlone(message);
    this.#again.push(message);
  }

  /** The messages of one claim (law 2). */
  take({ maxMessages: most, maxBytes }: ClaimLimits, nowMs: number): Taken {
    const taken = new Taken();
    let maxMessages = most;
    for (;;) {
      const next = this.first();
      if (next === undefined || next.dueMs > nowMs) return taken;
      maxMessages = Math.min(maxMessages, next.maxMessages ?? maxMessages);
      const bytes = taken.sizeBytes + next.sizeBytes;
      const isWithin = taken.size < maxMessages && bytes <= maxBytes;
      if (taken.size > 0 && !(isWithin && taken.format === next.format)) return taken;
      // While something is due again each message may come before the next one of a run.
      const first = this.#again.size === 0 ? this.#accepted.firstOfRun() : undefined;
      if (first === undefined) {
        taken.add(next);
        this.shift();
      } else {
        const count = taken.addOf(first.run, first.start, { maxMessages, maxBytes });
        this.#accepted.skip(count);
      }
    }
  }

  takeFirst(max: number): WaitingMessage[] {
    const taken: WaitingMessage[] = [];
    while (taken.length < max) {
      const next = this.shift();
      if (next === undefined) break;
      taken.push(next);
    }
    return taken;
  }

  /** Takes out at most `max` messages that were accepted before `acceptedMs`. */
  takeOlder(acceptedMs: number, max: number): WaitingMessage[] {
    const isOlder = (message: WaitingMessage): boolean => message.acceptedMs < acceptedMs;
    const taken = this.#again.extract(isOlder, max);
    for (;;) {
      const next = this.#accepted.first();
      if (next === undefined || taken.length >= max || !isOlder(next)) return taken;
      taken.push(next);
      this.#accepted.shift();
    }
  }
}
