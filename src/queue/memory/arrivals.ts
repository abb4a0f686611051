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
    this.skip(1);
    return first;
  }

  /** The run that comes first, and which of its messages does; nothing where that is a message by itself. */
  firstOfRun(): { readonly run: Run; readonly start: number } | undefined {
    const item = this.#items.at(0);
    return item instanceof Run ? { run: item, start: this.#taken } : undefined;
  }

  /** Takes out as many, which are there: of one run, or one message by itself. */
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
}
