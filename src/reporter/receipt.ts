/** What became of one event: at once, and in the end. */
import { inspect } from 'node:util';
import type { JsonObject } from '../contract/index.ts';
import type { WrittenRecord } from '../log/record-serializer.ts';
import type { MessageSettlement, Settlement } from './settlement.ts';

export interface Receipt {
  /** The record as written on channel A; `undefined` where none was, or not yet (an asynchronous store). */
  readonly record?: WrittenRecord<'open'>;
  /** Of the message on channel B, where there is one. */
  readonly message_id?: string;
  /**
   * How it ends on channel B. Never rejects. Only a pending `flush` or `close`, or a request in flight, keeps
   * the process alive: awaiting this promise does not. No property of the receipt's own: a copy of it has
   * none, and `structuredClone` takes no promise.
   */
  readonly settled: Promise<Settlement>;
}

/** The receipt of a call; with a fault, for whoever wants it thrown. */
export interface Reported {
  readonly receipt: Receipt;
  readonly fault: Error | undefined;
}

export class EventReceipt implements Receipt {
  declare readonly record?: WrittenRecord<'open'>;
  declare readonly message_id?: string;
  readonly #ending: Settlement | MessageSettlement;
  #settled: Promise<Settlement> | undefined;

  constructor(ending: Settlement | MessageSettlement, record?: JsonObject, messageId?: string) {
    this.#ending = ending;
    if (record !== undefined) this.record = record as unknown as WrittenRecord<'open'>;
    if (messageId !== undefined) this.message_id = messageId;
  }

  get settled(): Promise<Settlement> {
    const ending = this.#ending;
    // By an own key: a polluted prototype gives every object an `outcome`.
    this.#settled ??= Object.hasOwn(ending, 'outcome')
      ? Promise.resolve(ending as Settlement)
      : (ending as MessageSettlement).settled();
    return this.#settled;
  }
  /** Prints as a plain object. */
  [inspect.custom](): object {
    return Object.assign({}, this);
  }
}
