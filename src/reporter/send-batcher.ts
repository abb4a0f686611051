/**
 * Batches messages for a sender: messages that the host reports without an `await` between them go out in
 * one call. The fixed work of a call costs several times as much as a message.
 *
 * The call begins when its first message is reported, so that a later `flush` or `close` waits for it. It
 * receives the messages when the host's synchronous code has ended, before any timer or I/O. Each message
 * has its own result: see delivery/send-each.ts.
 */

import { refusals } from '../delivery/send-each.ts';
import type { SendSelection } from '../delivery/sender.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import type { DraftMessage } from './build-message.ts';
import type { MessageSink, SendBatch, SentMessage } from './message-sink.ts';

/** One bad message makes the whole batch go out singly, so batches are capped. */
export const MAX_BATCH_MESSAGES = 100;

/** Receives the result of one message. */
export interface SendListener {
  /** Called when the message is accepted or skipped. */
  sent(sent: SentMessage): void;
  /** Called with the error that `send` rejected with. */
  failed(error: unknown): void;
}

export class SendBatcher {
  readonly #sink: Pick<MessageSink, 'send'>;
  /** Calls of the sink in progress. */
  readonly #calls = new CallsInProgress();
  /** The batch that still accepts messages. */
  #openBatch: Batch | undefined;

  constructor(sink: Pick<MessageSink, 'send'>) {
    this.#sink = sink;
  }

  /** Sends a message. `listener` is called once, and must not throw. */
  send(message: DraftMessage, selection: SendSelection, listener: SendListener): void {
    if (this.#openBatch?.hasRoomFor(selection) !== true) {
      this.#openBatch = new Batch(selection);
      void this.#sendBatch(this.#openBatch);
    }
    this.#openBatch.add(message, listener);
  }

  /** Resolves when the sink has answered for every message so far. */
  waitForAnswers(): Promise<void> {
    return this.#calls.waitForAll();
  }

  /** Begins the call at once. Never rejects. */
  async #sendBatch(batch: Batch): Promise<void> {
    const call = this.#calls.begin();
    let results: Awaited<ReturnType<SendBatch>> | undefined;
    try {
      results = await this.#sink.send(this.#closeBatch(batch), batch.selection);
    } catch (error) {
      // If `send` threw synchronously, the host can still add messages until its code ends.
      await endOfRun();
      batch.fail(error);
    }
    if (results !== undefined) batch.settle(results);
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

/** The messages of one call, with a listener for each. */
class Batch {
  readonly messages: DraftMessage[] = [];
  readonly selection: SendSelection;
  readonly #listeners: SendListener[] = [];

  constructor(selection: SendSelection) {
    this.selection = selection;
  }

  hasRoomFor({ module, playbook }: SendSelection): boolean {
    const isSame = this.selection.module === module && this.selection.playbook === playbook;
    return isSame && this.messages.length < MAX_BATCH_MESSAGES;
  }

  add(message: DraftMessage, listener: SendListener): void {
    this.messages.push(message);
    this.#listeners.push(listener);
  }

  settle(results: readonly PromiseSettledResult<SentMessage>[]): void {
    for (const [index, listener] of this.#listeners.entries()) {
      const result = results[index] as PromiseSettledResult<SentMessage>;
      if (result.status === 'fulfilled') listener.sent(result.value);
      else listener.failed(result.reason);
    }
  }

  /** Fails each message with its own part of the error. */
  fail(error: unknown): void {
    const errors = refusals(error, this.messages);
    for (const [index, listener] of this.#listeners.entries()) listener.failed(errors[index]);
  }
}
