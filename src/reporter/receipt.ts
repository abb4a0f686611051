/** The receipt of an event, and what becomes of its message. */
import { inspect } from 'node:util';
import type { JsonObject } from '../contract/index.ts';
import type { SkipReason } from '../delivery/sender.ts';
import type { SecurityEventErrorCode } from '../errors.ts';
import type { WrittenRecord } from '../log/record-serializer.ts';
import type { DeadReason, DiscardReason } from '../queue/queue.ts';
import type { MessageSkip } from './build-message.ts';
import type { SentMessage } from './message-sink.ts';

/** Why an event is not sent on channel B. */
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
 * - `skipped`: it is not sent; `reason` says why.
 * - `rejected`: it could not be sent, and `onRejected` has it; `reason` is the code of the error.
 */
export type Settlement =
  | { readonly outcome: 'delivered' | 'accepted'; readonly reason?: undefined }
  | { readonly outcome: 'dead'; readonly reason: DeadReason }
  | { readonly outcome: 'discarded'; readonly reason: DiscardReason }
  | { readonly outcome: 'skipped'; readonly reason: SkippedReason }
  | { readonly outcome: 'rejected'; readonly reason: SecurityEventErrorCode };

type Accepted = Extract<SentMessage, { readonly isAccepted: true }>;

/** Settles once. Promises are created on first use, since few hosts ask for them. */
export class MessageSettlement {
  #result: Settlement | Accepted | undefined;
  #accepted: Promise<boolean> | undefined;
  #resolve: ((isAccepted: boolean) => void) | undefined;

  /** `result`: the message was accepted, or its end is known. */
  settle(result: Settlement | Accepted): void {
    this.#result = result;
    this.#resolve?.(isAccepted(result));
  }

  /** Settles as `other` does. */
  async follow(other: MessageSettlement): Promise<void> {
    await other.accepted;
    this.settle(other.#result as Settlement | Accepted);
  }

  /** Whether the sender accepts the message. Never rejects. */
  get accepted(): Promise<boolean> {
    this.#accepted ??= new Promise((resolve) => {
      if (this.#result !== undefined) resolve(isAccepted(this.#result));
      else this.#resolve = resolve;
    });
    return this.#accepted;
  }

  /** How the message ends. Never rejects. */
  async settled(): Promise<Settlement> {
    if (this.#result === undefined) await this.accepted;
    const result = this.#result as Settlement | Accepted;
    if (!isAccepted(result)) return result;
    // Nothing more is known of a message that nobody tracks.
    const followed = Object.hasOwn(result, 'followed') ? result.followed : undefined;
    return followed === undefined ? ACCEPTED : ((await followed.ended) as Settlement);
  }
}

// Beside the class: one that names itself in its own body would have another name in the joined files.
export function settledWith(result: Settlement): MessageSettlement {
  const settlement = new MessageSettlement();
  settlement.settle(result);
  return settlement;
}

const ACCEPTED = { outcome: 'accepted' } as const;

/** By an own key: a polluted prototype gives every object an `isAccepted`. */
const isAccepted = (result: Settlement | Accepted): result is Accepted =>
  Object.hasOwn(result, 'isAccepted');

export interface Receipt {
  /** The record as written on channel A; `undefined` where none was, or not yet (an asynchronous store). */
  readonly record?: WrittenRecord<'open'>;
  /** The id of the message; undefined without one. */
  readonly message_id?: string;
  /**
   * How it ends on channel B. Never rejects. Only a pending `flush` or `close`, or a request in flight, keeps
   * the process alive: awaiting this promise does not. No property of the receipt's own: a copy of it has
   * none, and `structuredClone` takes no promise.
   */
  readonly settled: Promise<Settlement>;
}

/** The receipt of a call, and its fault, which `strict: true` throws. */
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
