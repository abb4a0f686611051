import { Fifo } from './fifo.ts';
import { Run } from './run.ts';
import type { WaitingMessage } from './waiting-message.ts';

/** What came in and was not claimed yet, in the order in which it came. */
export class Arrivals {
  readonly #items = new Fifo<WaitingMessage | Run>();
  #size = 0;
  /** How many of the run that comes first were taken out. */
  #taken = 0;
  /** The first message, once somebody has asked for it: a run would make another each time. */
  #first: WaitingMessage | undefined;

  get size(): number {
    return this.#size;
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
    this.#first = undefined;
    this.#size -= 1;
    const item = this.#items.at(0);
    this.#taken += 1;
    if (!(item instanceof Run) || this.#taken === item.size) {
      this.#taken = 0;
      this.#items.shift();
    }
    return first;
  }
}
