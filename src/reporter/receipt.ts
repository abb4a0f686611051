/** What became of one event: at once, and in the end. */
import { inspect } from 'node:util';
import type { JsonObject } from '../contract/index.ts';
import type { SkipReason } from '../delivery/skip.ts';
import type { SecurityEventErrorCode } from '../errors.ts';
import type { WrittenRecord } from '../log/record-check.ts';
import type { DeadReason, DiscardReason } from '../queue/queue.ts';
import type { MessageSkip } from './message-for.ts';

/** Why an event was not to be told on channel B. */
export type SkippedReason =
  | MessageSkip
  | SkipReason
  /** the reporter has no `webhook` */
  | 'no-webhook'
  /** by `beforeSend` */
  | 'dropped'
  /** caused by this library's own requests */
  | 'own-work'
  /** by a reporter with `enabled: false` */
  | 'disabled';

/**
 * How an event ended on channel B:
 *
 * - `delivered`: the receiver took it.
 * - `dead`: its attempts are over; it is a dead letter. `discarded`: it was given up, or handed back
 *   when the sender was closed. `reason` says why.
 * - `accepted`: it waits in a queue from which another process, or a later one, delivers.
 * - `skipped`: it is not to be told there; `reason` says why.
 * - `rejected`: it could not be told, and `onRejected` has it; `reason` is the code of the error.
 */
export type Settlement =
  | { readonly outcome: 'delivered' | 'accepted'; readonly reason?: undefined }
  | { readonly outcome: 'dead'; readonly reason: DeadReason }
  | { readonly outcome: 'discarded'; readonly reason: DiscardReason }
  | { readonly outcome: 'skipped'; readonly reason: SkippedReason }
  | { readonly outcome: 'rejected'; readonly reason: SecurityEventErrorCode };

export interface Receipt {
  /**
   * As it was written on channel A; `undefined` where nothing was, or not yet (an asynchronous store).
   * Made when it is first asked for.
   */
  readonly record?: WrittenRecord<'open'>;
  /** Of the message on channel B, where there is one. */
  readonly message_id?: string;
  /**
   * How it ends on channel B. Never rejects; made when it is first asked for. No property of the receipt's
   * own: a copy of it has none, and `structuredClone` takes no promise.
   */
  readonly settled: Promise<Settlement>;
}

/** What a call came to; with a fault, for whoever wants it thrown. */
export interface Told {
  readonly receipt: Receipt;
  readonly fault: Error | undefined;
}

/** Of a message that is on its way. */
export interface LaterEnding {
  /** Known when somebody asks. Never rejects. */
  ending(): Promise<Settlement>;
}

/** What is known of a message at once, or when its sending has ended. */
export type Ending = Settlement | LaterEnding;

/** By a key of its own: a polluted prototype gives every object an `ending`. */
const isOver = (ending: Ending): ending is Settlement => Object.hasOwn(ending, 'outcome');

/** A record as it was written, or its JSON. */
export type Written = string | JsonObject;

export class EventReceipt implements Receipt {
  declare readonly record?: WrittenRecord<'open'>;
  declare readonly message_id?: string;
  readonly #ending: Ending;
  #written: Written | undefined;
  #settled: Promise<Settlement> | undefined;

  constructor(ending: Ending, written?: Written, messageId?: string) {
    this.#ending = ending;
    this.#written = written;
    if (written !== undefined) Object.defineProperty(this, 'record', RECORD);
    if (messageId !== undefined) this.message_id = messageId;
  }

  get settled(): Promise<Settlement> {
    const ending = this.#ending;
    this.#settled ??= isOver(ending) ? Promise.resolve(ending) : ending.ending();
    return this.#settled;
  }

  /** Few ask: it is made of what was written when somebody does. */
  static recordOf(receipt: EventReceipt): WrittenRecord<'open'> {
    const written = receipt.#written;
    if (typeof written === 'string') receipt.#written = JSON.parse(written) as JsonObject;
    return receipt.#written as WrittenRecord<'open'>;
  }

  /** Else the record would be shown as a getter. */
  [inspect.custom](): object {
    return Object.assign({}, this);
  }
}

/**
 * A property of each receipt's own: whoever compares, copies or clones one looks at no others. The same
 * getter for all, or each would have a shape of its own.
 */
const RECORD = {
  // A `value` on Object.prototype would be one of the property's, too, and have it refused.
  __proto__: null,
  get(this: EventReceipt) {
    return EventReceipt.recordOf(this);
  },
  enumerable: true,
  configurable: true,
} as PropertyDescriptor;
