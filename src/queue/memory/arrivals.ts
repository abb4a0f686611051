import { Fifo } from './fifo.ts';
import { Run } from './run.ts';
import type { Part, WaitingMessage } from './waiting-message.ts';

/** Accepted messages that were not claimed yet, in the order in which they came and are due. */
export class Arrivals {
  readonly #items = new Fifo<WaitingMessage | Run>();
  #size = 0;
  /** Number of messages that were taken out of the first run. */
  #taken = 0;
  /** The first message, once somebody has asked for it: a run would make another each time. */
  #first: WaitingMessage | undefined;

  get size(): number {
    return this.#size;
  }

  /** When the last message is due; -Infinity without one. */
  get lastDueMs(): number {
    return this.#items.at(this.#items.size - 1)?.dueMs ?? Number.NEGATIVE_INFINITY;
  }

  push(item: WaitingMessage | Run): void {
    this.#items.push(item);
    this.#size += item instanceof Run ? item.size : 1;
  }

  first(): WaitingMessage | undefined {
    if (this.#first === undefined) {
      const item = this.#items.at(0);
      this.#first = item instanceof Run ? item.messageAt(this.#taken) : item;
    }
    return this.#first;
  }

  shift(): WaitingMessage | undefined {
    const first = this.first();
    if (first === undefined) return undefined;
    this.skip(1);
    return first;
  }

  /** The first item and the index of its first message, if it is a run. */
  firstOfRun(): { readonly run: Run; readonly start: number } | undefined {
    const item = this.#items.at(0);
    return item instanceof Run ? { run: item, start: this.#taken } : undefined;
  }

  /** Takes out `count` messages: of the first run, or the first message alone. */
  skip(count: number): void {
    this.#first = undefined;
    this.#size -= count;
    const item = this.#items.at(0);
    this.#taken += count;
    if (!(item instanceof Run) || this.#taken === item.size) {
      this.#taken = 0;
      this.#items.shift();
    }
  }

  /** Makes due at `nowMs` what would be due later. */
  endDelays(nowMs: number): void {
    this.#first = undefined;
    for (let index = this.#items.size - 1; index >= 0; index -= 1) {
      const item = this.#items.at(index) as WaitingMessage | Run;
      if (item.dueMs <= nowMs) return;
      item.dueMs = nowMs;
    }
  }

  /** Calls `see` with each run of messages, and with each single message. */
  eachPart(see: (part: Part) => void): void {
    for (let index = 0; index < this.#items.size; index += 1) {
      const item = this.#items.at(index) as WaitingMessage | Run;
      const { sequence, dueMs } = item;
      const skipped = index === 0 ? this.#taken : 0;
      const to = sequence + (item instanceof Run ? item.size : 1) - 1;
      see({ from: sequence + skipped, to, dueMs });
    }
  }
}
