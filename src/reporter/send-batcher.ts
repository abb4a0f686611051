/**
 * Messages on their way to a sender. What is told in one run of the host's code goes to it in one call: a
 * call costs a way out of the request, a look at the settings and a dozen promises, which is several
 * times what a message costs.
 *
 * The call begins with its first message, so that whoever flushes or closes the sender meanwhile waits
 * for all of them, and they are given when the run is over, before any timer or I/O. Each fares as if it
 * had gone alone: webhook/engine/send-each.ts sees to that.
 */

import { refusals } from '../delivery/send-each.ts';
import type { SendSelection } from '../delivery/sender.ts';
import { SecurityEventError } from '../errors.ts';
import { Underway } from '../runtime/underway.ts';
import type { DraftMessage } from './build-message.ts';
import type { MessageSink, SendTogether, SentMessage } from './message-sink.ts';

/** Of these one may be wrong, and then all go again within their call. */
export const MAX_TOGETHER = 100;

/** Learns what becomes of one message. */
export interface SendListener {
  /** Accepted, or not to be sent. */
  sent(sent: SentMessage): void;
  /** With what `send` of a sender rejects with. */
  failed(error: unknown): void;
}

type Sink = Pick<MessageSink, 'send' | 'sendTogether'>;

export class SendBatcher {
  readonly #sink: Sink;
  /** Calls of the sink that are not over. */
  readonly #calls = new Underway();
  /** Still takes messages. */
  #open: Together | undefined;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** `end` is told once, and never throws. */
  send(message: DraftMessage, selection: SendSelection, end: SendListener): void {
    const { sendTogether } = this.#sink;
    if (sendTogether === undefined) {
      void this.#sendAlone(message, selection, end);
      return;
    }
    if (this.#open?.hasRoomFor(selection) !== true) {
      this.#open = new Together(selection);
      void this.#sendTogether(this.#open, sendTogether);
    }
    this.#open.add(message, end);
  }

  /** Resolves when everything was handed over that was given so far. */
  over(): Promise<void> {
    return this.#calls.over();
  }

  /** Begins the call at once. Never rejects. */
  async #sendTogether(together: Together, sendTogether: SendTogether): Promise<void> {
    const call = this.#calls.begin();
    const { messages, selection } = together;
    let all: Awaited<ReturnType<SendTogether>> | undefined;
    try {
      all = whole(await sendTogether(this.#whenGiven(together), selection), messages.length);
    } catch (error) {
      // Where it threw at once, not even the first message is among them yet.
      await runIsOver();
      together.fail(error);
    }
    if (all !== undefined) together.settle(all);
    this.#calls.end(call);
  }

  /**
   * By a promise of Node's own, whichever the host has in its place: with one that is slower, the call
   * might be over before this is, and what it were given then would have no end.
   */
  async #whenGiven(together: Together): Promise<readonly DraftMessage[]> {
    await runIsOver();
    if (this.#open === together) this.#open = undefined;
    return together.messages;
  }

  /** Never rejects. */
  async #sendAlone(
    message: DraftMessage,
    selection: SendSelection,
    end: SendListener,
  ): Promise<void> {
    const call = this.#calls.begin();
    try {
      end.sent(await this.#sink.send(message, selection));
    } catch (error) {
      end.failed(error);
    }
    this.#calls.end(call);
  }
}

const runIsOver = async (): Promise<void> => {};

function whole<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length === count) return all;
  const detail = `the sender told what became of ${all.length} messages, not of ${count}`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}

/** The messages of one call. */
class Together {
  readonly messages: DraftMessage[] = [];
  readonly selection: SendSelection;
  readonly #ends: SendListener[] = [];

  constructor(selection: SendSelection) {
    this.selection = selection;
  }

  hasRoomFor({ module, playbook }: SendSelection): boolean {
    const { module: ownModule, playbook: ownPlaybook } = this.selection;
    const isSame = ownModule === module && ownPlaybook === playbook;
    return isSame && this.messages.length < MAX_TOGETHER;
  }

  add(message: DraftMessage, end: SendListener): void {
    this.messages.push(message);
    this.#ends.push(end);
  }

  settle(all: readonly PromiseSettledResult<SentMessage>[]): void {
    for (const [index, end] of this.#ends.entries()) {
      const one = all[index] as PromiseSettledResult<SentMessage>;
      if (one.status === 'fulfilled') end.sent(one.value);
      else end.failed(one.reason);
    }
  }

  /** Each as it would have been handed back alone. */
  fail(error: unknown): void {
    const errors = refusals(error, this.messages);
    for (const [index, end] of this.#ends.entries()) end.failed(errors[index]);
  }
}
