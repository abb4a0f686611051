/**
 * Batches messages for a sender: messages that the host reports without an `await` between them go out in
 * one call. The fixed work of a call costs several times as much as a message.
 *
 * The call begins when its first message is reported, so that a later `flush` or `close` waits for it. It
 * receives the messages when the host's synchronous code has ended, before any timer or I/O. Each message
 * has its own result: see delivery/send-each.ts.
 */

import { refusals } from '../delivery/send-each.ts';
import {
  type InternalSender,
  SEND_EACH,
  type SendSelection,
  type SingleSendResult,
  type WebhookSender,
} from '../delivery/sender.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import type { DraftMessage } from './build-message.ts';

/**
 * Sends each message as if it were alone, and resolves to the results in the same order. `messages` is a
 * promise: the call begins before all of them are reported. Never rejects because of one message.
 */
export type SendBatch = (
  messages: Promise<readonly DraftMessage[]>,
  selection: SendSelection,
) => Promise<readonly PromiseSettledResult<SingleSendResult>[]>;

type Sender = Pick<WebhookSender<'open'>, 'send'>;

/** Returns the function that sends a batch by a sender: the library's, a wrapper around it, or the host's own. */
export const sendBatchBy = (sender: Sender): SendBatch =>
  // Calls the method on the sender itself, which may be a subclass or proxy of our class.
  isInternal(sender)
    ? (messages, selection) => sender[SEND_EACH](messages, selection)
    : sendSingly(sender);

const isInternal = (sender: Sender): sender is Sender & InternalSender => SEND_EACH in sender;

/** For the host's own sender, which reports no results. It gets its own array and selection, and may change them. */
const sendSingly =
  (sender: Sender): SendBatch =>
  async (messages, selection) => {
    const sendOne = async (message: DraftMessage): Promise<SingleSendResult> => {
      const { skipped } = await sender.send([message] as never, { ...selection });
      const [skip] = skipped;
      return skip === undefined
        ? { isAccepted: true, followed: undefined }
        : { isAccepted: false, reason: skip.reason };
    };
    return await Promise.allSettled((await messages).map(sendOne));
  };

/** One bad message makes the whole batch go out singly, so batches are capped. */
export const MAX_BATCH_MESSAGES = 100;

/** Called once with the result of a message, or the error that `send` rejected with. Must not throw. */
export type OnResult = (result: PromiseSettledResult<SingleSendResult>) => void;

export class SendBatcher {
  readonly #sendBatch: SendBatch;
  /** Calls of the sender in progress. */
  readonly #calls = new CallsInProgress();
  /** The batch that still accepts messages. */
  #openBatch: Batch | undefined;

  constructor(sendBatch: SendBatch) {
    this.#sendBatch = sendBatch;
  }

  send(message: DraftMessage, selection: SendSelection, onResult: OnResult): void {
    if (this.#openBatch?.hasRoomFor(selection) !== true) {
      this.#openBatch = new Batch(selection);
      void this.#begin(this.#openBatch);
    }
    this.#openBatch.add(message, onResult);
  }

  /** Resolves when the sender has answered for every message so far. */
  waitForAnswers(): Promise<void> {
    return this.#calls.waitForAll();
  }

  /** Begins the call at once. Never rejects. */
  async #begin(batch: Batch): Promise<void> {
    const call = this.#calls.begin();
    let results: Awaited<ReturnType<SendBatch>>;
    try {
      results = await this.#sendBatch(this.#closeBatch(batch), batch.selection);
    } catch (error) {
      // If `send` threw synchronously, the host can still add messages until its code ends.
      await endOfRun();
      // Each message has its own part of the error.
      results = refusals(error, batch.messages).map((reason) => ({ status: 'rejected', reason }));
    }
    batch.settle(results);
    this.#calls.end(call);
  }

  /**
   * Closes the batch when the host's code ends, and returns its messages. Async, because an async function
   * returns a native promise even if the host has replaced `Promise`. With a slower promise the call could end
   * before the batch is closed; messages added after that would never settle.
   */
  async #closeBatch(batch: Batch): Promise<readonly DraftMessage[]> {
    await endOfRun();
    if (this.#openBatch === batch) this.#openBatch = undefined;
    return batch.messages;
  }
}

/** Resolves when the synchronous run of the host's code is over. */
const endOfRun = async (): Promise<void> => {};

/** The messages of one call. */
class Batch {
  readonly messages: DraftMessage[] = [];
  readonly selection: SendSelection;
  readonly #callbacks: OnResult[] = [];

  constructor(selection: SendSelection) {
    this.selection = selection;
  }

  hasRoomFor({ module, playbook }: SendSelection): boolean {
    const isSame = this.selection.module === module && this.selection.playbook === playbook;
    return isSame && this.messages.length < MAX_BATCH_MESSAGES;
  }

  add(message: DraftMessage, onResult: OnResult): void {
    this.messages.push(message);
    this.#callbacks.push(onResult);
  }

  settle(results: readonly PromiseSettledResult<SingleSendResult>[]): void {
    for (const [index, result] of results.entries()) this.#callbacks[index]?.(result);
  }
}
