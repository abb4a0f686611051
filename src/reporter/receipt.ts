/** The receipt of an event, and the result of its message. */
import type { JsonObject } from '../contract/index.ts';
import type { SingleSendResult, SkipReason } from '../delivery/sender.ts';
import type { SecurityEventErrorCode } from '../errors.ts';
import type { WrittenRecord } from '../log/validate-record.ts';
import type { DeadReason, DiscardReason } from '../queue/queue.ts';
import type { NoMessageReason } from './build-message.ts';

/** Why an event is not sent on channel B. */
export type EventSkipReason =
  | NoMessageReason
  | SkipReason
  /** the reporter has no `webhook` */
  | 'no-webhook'
  /** `beforeSend` returned null */
  | 'dropped'
  /** caused by this library's own requests or log lines */
  | 'own-work'
  /** the reporter has `enabled: false` */
  | 'disabled';

/**
 * How an event ended on channel B:
 *
 * - `delivered`: the receiver accepted it.
 * - `dead`: it was given up, and is a dead letter. `reason` says why.
 * - `discarded`: the sender was closed first, and returned it. `reason` says why.
 * - `accepted`: its result is unknown here. Another process, a later one or the caller's own sender delivers it.
 * - `skipped`: it is not sent; `reason` says why.
 * - `rejected`: it could not be sent, and `onRejected` was called; `reason` is the error code.
 */
export type Settlement =
  | { readonly outcome: 'delivered' | 'accepted'; readonly reason?: undefined }
  | { readonly outcome: 'dead'; readonly reason: DeadReason }
  | { readonly outcome: 'discarded'; readonly reason: DiscardReason }
  | { readonly outcome: 'skipped'; readonly reason: EventSkipReason }
  | { readonly outcome: 'rejected'; readonly reason: SecurityEventErrorCode };

export interface Receipt {
  /** The written record; `undefined` if none was written during the call, as with an asynchronous incident store. */
  readonly record?: WrittenRecord<'open'>;
  /** The id of the message, if there is one. */
  readonly message_id?: string;
  /**
   * Resolves to the result on channel B. Never rejects. Awaiting it does not keep the process alive: only
   * a pending `flush` or `close`, or a request in flight, does. A getter of the class, so that copies of
   * the receipt do not have it: `structuredClone` does not accept promises.
   */
  readonly settled: Promise<Settlement>;
}

/** The receipt of a call, and its error, which `strict: true` throws. */
export interface ReportResult {
  readonly receipt: Receipt;
  readonly error: Error | undefined;
}

type Accepted = Extract<SingleSendResult, { readonly isAccepted: true }>;

/** Its promises are created on first use, since few hosts need them. */
export class EventReceipt implements Receipt {
  declare readonly record?: WrittenRecord<'open'>;
  declare readonly message_id?: string;
  #result: Settlement | Accepted | undefined;
  #accepted: Promise<boolean> | undefined;
  #resolveAccepted: ((isAccepted: boolean) => void) | undefined;
  #settled: Promise<Settlement> | undefined;

  constructor(record?: JsonObject, messageId?: string) {
    if (record !== undefined) this.record = record as unknown as WrittenRecord<'open'>;
    if (messageId !== undefined) this.message_id = messageId;
  }

  /** Must be called once, with the sender's acceptance or the reason why the message is not sent. */
  settle(result: Settlement | Accepted): void {
    this.#result = result;
    this.#resolveAccepted?.(isAccepted(result));
  }

  /** Whether the sender accepts the message. Never rejects. */
  get accepted(): Promise<boolean> {
    this.#accepted ??= new Promise((resolve) => {
      if (this.#result !== undefined) resolve(isAccepted(this.#result));
      else this.#resolveAccepted = resolve;
    });
    return this.#accepted;
  }

  get settled(): Promise<Settlement> {
    this.#settled ??= this.#waitUntilSettled();
    return this.#settled;
  }

  async #waitUntilSettled(): Promise<Settlement> {
    if (this.#result === undefined) await this.accepted;
    const result = this.#result as Settlement | Accepted;
    if (!isAccepted(result)) return result;
    // A host's own sender reports no results, so its messages stay `accepted`.
    const followed = Object.hasOwn(result, 'followed') ? result.followed : undefined;
    return followed === undefined ? ACCEPTED : ((await followed.ended) as Settlement);
  }
}

// Outside the class: the bundler renames a class that refers to itself in its own body.
export function settledReceipt(result: Settlement, record?: JsonObject): EventReceipt {
  const receipt = new EventReceipt(record);
  receipt.settle(result);
  return receipt;
}

const ACCEPTED = { outcome: 'accepted' } as const;

/** Only an own key counts: a polluted prototype could give every object an `isAccepted`. */
const isAccepted = (result: Settlement | Accepted): result is Accepted =>
  Object.hasOwn(result, 'isAccepted');
