/**
 * Batches messages for a sender: those of one synchronous run of the host's code go out in one call. A
 * call leaves the request's context, looks up settings and creates a dozen promises, which costs several
 * times as much as a message.
 *
 * The call begins with its first message, so that a `flush` or `close` meanwhile waits for all of them. The
 * messages are passed when the run is over, before any timer or I/O. Each has its own result: see
 * delivery/send-each.ts.
 */

import { refusals } from '../delivery/send-each.ts';
import type { SendSelection } from '../delivery/sender.ts';
import { SecurityEventError } from '../errors.ts';
import { Underway } from '../runtime/underway.ts';
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

type Sink = Pick<MessageSink, 'send' | 'sendBatch'>;

export class SendBatcher {
  readonly #sink: Sink;
  /** Calls of the sink in progress. */
  readonly #calls = new Underway();
  /** The batch that still accepts messages. */
  #open: Batch | undefined;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** Sends a message. `listener` is called once, and must not throw. */
  send(message: DraftMessage, selection: SendSelection, listener: SendListener): void {
    const { sendBatch } = this.#sink;
    if (sendBatch === undefined) {
      void this.#sendAlone(message, selection, listener);
      return;
    }
    if (this.#open?.hasRoomFor(selection) !== true) {
      this.#open = new Batch(selection);
      void this.#sendBatch(this.#open, sendBatch);
    }
    this.#open.add(message, listener);
  }

  /** Resolves when the sink has answered for every message so far. */
  over(): Promise<void> {
    return this.#calls.over();
  }

  /** Begins the call at once. Never rejects. */
  async #sendBatch(batch: Batch, sendBatch: SendBatch): Promise<void> {
    const call = this.#calls.begin();
    const { messages, selection } = batch;
    let all: Awaited<ReturnType<SendBatch>> | undefined;
    try {
      all = whole(await sendBatch(this.#whenGiven(batch), selection), messages.length);
    } catch (error) {
      // If the call threw synchronously, the batch is still empty.
      await runIsOver();
      batch.fail(error);
    }
    if (all !== undefined) batch.settle(all);
    this.#calls.end(call);
  }

  /**
   * Uses a native promise, even if the host has replaced `Promise`: with a slower one the call might end
   * first, and messages added then would never settle.
   */
  async #whenGiven(batch: Batch): Promise<readonly DraftMessage[]> {
    await runIsOver();
    if (this.#open === batch) this.#open = undefined;
    return batch.messages;
  }

  /** Never rejects. */
  async #sendAlone(
    message: DraftMessage,
    selection: SendSelection,
    listener: SendListener,
  ): Promise<void> {
    const call = this.#calls.begin();
    try {
      listener.sent(await this.#sink.send(message, selection));
    } catch (error) {
      listener.failed(error);
    }
    this.#calls.end(call);
  }
}

const runIsOver = async (): Promise<void> => {};

function whole<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length === count) return all;
  const detail = `the sender returned ${all.length} results for ${count} messages`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}

/** The messages of one call, with a listener for each. */
class Batch {
  readonly messages: DraftMessage[] = [];
  readonly selection: SendSelection;
  readonly #listeners: SendListener[] = [];

  constructor(selection: SendSelection) {
    this.selection = selection;
  }

  hasRoomFor({ module, playbook }: SendSelection): boolean {
    const { module: ownModule, playbook: ownPlaybook } = this.selection;
    const isSame = ownModule === module && ownPlaybook === playbook;
    return isSame && this.messages.length < MAX_BATCH_MESSAGES;
  }

  add(message: DraftMessage, listener: SendListener): void {
    this.messages.push(message);
    this.#listeners.push(listener);
  }

  settle(all: readonly PromiseSettledResult<SentMessage>[]): void {
    for (const [index, listener] of this.#listeners.entries()) {
      const one = all[index] as PromiseSettledResult<SentMessage>;
      if (one.status === 'fulfilled') listener.sent(one.value);
      else listener.failed(one.reason);
    }
  }

  /** Fails each message with its own part of the error. */
  fail(error: unknown): void {
    const errors = refusals(error, this.messages);
    for (const [index, listener] of this.#listeners.entries()) listener.failed(errors[index]);
  }
}
