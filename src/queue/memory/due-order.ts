import { Heap } from '../../runtime/heap.ts';
import { Arrivals } from './arrivals.ts';
import { Run } from './run.ts';
import { type ClaimLimits, Taken } from './taken.ts';
import { isDueBefore, keepAlone, type Part, type WaitingMessage } from './waiting-message.ts';

/**
 * The waiting messages of one application, in the order (due, sequence). Most are due in the order in
 * which they were accepted. Only the others have to be sorted: those that were claimed before, and
 * those that are due before an earlier one with a longer delay.
 */
export class DueOrder {
  readonly #accepted = new Arrivals();
  readonly #sorted = new Heap<WaitingMessage>(isDueBefore);
  /** No message waits for the end of its delay after this time. */
  #delayedUntilMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#accepted.size + this.#sorted.size;
  }

  first(): WaitingMessage | undefined {
    const accepted = this.#accepted.first();
    if (this.#sorted.size === 0) return accepted;
    const sorted = this.#sorted.first();
    if (accepted === undefined || sorted === undefined) return accepted ?? sorted;
    return isDueBefore(sorted, accepted) ? sorted : accepted;
  }

  shift(): WaitingMessage | undefined {
    if (this.#sorted.size === 0) return this.#accepted.shift();
    const first = this.first();
    return first === this.#sorted.first() ? this.#sorted.shift() : this.#accepted.shift();
  }

  /** Takes in messages with the highest sequences yet. */
  append(arrival: WaitingMessage | Run): void {
    this.#delayedUntilMs = Math.max(this.#delayedUntilMs, arrival.dueMs);
    if (arrival.dueMs >= this.#accepted.lastDueMs) this.#accepted.push(arrival);
    else if (arrival instanceof Run) for (const one of arrival.messages()) this.putBack(one);
    else this.putBack(arrival);
  }

  putBack(message: WaitingMessage): void {
    keepAlone(message);
    this.#sorted.push(message);
  }

  /** Makes delayed messages due. Those that wait for another attempt are left alone. */
  endDelays(nowMs: number): void {
    if (this.#delayedUntilMs <= nowMs) return;
    this.#delayedUntilMs = nowMs;
    this.#accepted.endDelays(nowMs);
    const isDelayed = ({ sends, dueMs }: WaitingMessage): boolean => sends === 0 && dueMs > nowMs;
    for (const message of this.#sorted.extract(isDelayed, this.#sorted.size)) {
      message.dueMs = nowMs;
      this.#sorted.push(message);
    }
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
      // While something else is sorted in, each message of it may come before the next one of a run.
      const first = this.#sorted.size === 0 ? this.#accepted.firstOfRun() : undefined;
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
    const taken = this.#sorted.extract(isOlder, max);
    for (;;) {
      const next = this.#accepted.first();
      if (next === undefined || taken.length >= max || !isOlder(next)) return taken;
      taken.push(next);
      this.#accepted.shift();
    }
  }

  /** Calls `see` with each run of messages, and with each single message. */
  eachPart(see: (part: Part) => void): void {
    this.#accepted.eachPart(see);
    // Takes out none, and sees all.
    this.#sorted.extract(({ sequence, dueMs }) => {
      see({ from: sequence, to: sequence, dueMs });
      return false;
    }, 1);
  }
}
