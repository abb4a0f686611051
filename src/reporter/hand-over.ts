/**
 * Messages on their way to a sender. What is told in one run of the host's code goes to it in one call: a
 * call costs a way out of the request, a look at the settings and a dozen promises, which is several
 * times what a message costs.
 *
 * The call begins with its first message, so that whoever flushes or closes the sender meanwhile waits
 * for all of them, and they are given when the run is over, before any timer or I/O. Each fares as if it
 * had gone alone: webhook/engine/send-each.ts sees to that.
 */
import { SecurityEventError } from '../errors.ts';
import type { SendSelection } from '../webhook/engine/intake.ts';
import { refusals } from '../webhook/engine/send-each.ts';
import type { DraftMessage } from './message-for.ts';
import type { MessageSink, SendTogether, SentMessage } from './message-sink.ts';

/** Of these one may be wrong, and then all go again within their call. */
export const MAX_TOGETHER = 100;

/** Who wants to hear of one message. */
export interface Hearer {
  /** Accepted, or not to be sent. */
  readonly sent: (sent: SentMessage) => void;
  /** With what `send` of a sender rejects with. */
  readonly failed: (error: unknown) => void;
}

export class HandOver {
  readonly #sink: Pick<MessageSink, 'send' | 'sendTogether'>;
  /** Calls of the sink that are not over. */
  readonly #calls = new Set<Promise<unknown>>();
  /** Still takes messages. */
  #open: Together | undefined;

  constructor(sink: Pick<MessageSink, 'send' | 'sendTogether'>) {
    this.#sink = sink;
  }

  /** `end` is told once, and never throws. */
  send(message: DraftMessage, selection: SendSelection, end: Hearer): void {
    const { sendTogether } = this.#sink;
    if (sendTogether === undefined) {
      void this.#track(alone(this.#sink, { message, end }, selection));
      return;
    }
    if (this.#open?.hasRoomFor(selection) !== true) {
      this.#open = this.#begin(selection, sendTogether);
    }
    this.#open.add({ message, end });
  }

  /** Resolves when everything was handed over that was given so far. */
  async over(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }

  #begin(selection: SendSelection, sendTogether: SendTogether): Together {
    const together = new Together(selection);
    const call = sendTogether(this.#whenGiven(together), selection);
    void this.#track(this.#settle(together, call));
    return together;
  }

  /**
   * By a promise of Node's own, whichever the host has in its place: with one that is slower, the call
   * might be over before this is, and what it were given then would have no end.
   */
  async #whenGiven(together: Together): Promise<readonly DraftMessage[]> {
    await runIsOver();
    if (this.#open === together) this.#open = undefined;
    return together.given.map(({ message }) => message);
  }

  async #settle(together: Together, call: ReturnType<SendTogether>): Promise<void> {
    let all: Awaited<typeof call>;
    try {
      all = whole(await call, together.given.length);
    } catch (error) {
      together.fail(error);
      return;
    }
    together.settle(all);
  }

  async #track(call: Promise<void>): Promise<void> {
    this.#calls.add(call);
    await call;
    this.#calls.delete(call);
  }
}

const runIsOver = async (): Promise<void> => {};

function whole<T>(all: readonly T[], count: number): readonly T[] {
  if (all.length === count) return all;
  const detail = `the sender told what became of ${all.length} messages, not of ${count}`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}

interface Given {
  readonly message: DraftMessage;
  readonly end: Hearer;
}

type Sink = Pick<MessageSink, 'send'>;

/** Never rejects. */
async function alone(sink: Sink, { message, end }: Given, selection: SendSelection): Promise<void> {
  try {
    end.sent(await sink.send(message, selection));
  } catch (error) {
    end.failed(error);
  }
}

/** The messages of one call. */
class Together {
  readonly given: Given[] = [];
  readonly #selection: SendSelection;

  constructor(selection: SendSelection) {
    this.#selection = selection;
  }

  hasRoomFor({ module, playbook }: SendSelection): boolean {
    const { module: ownModule, playbook: ownPlaybook } = this.#selection;
    const isSame = ownModule === module && ownPlaybook === playbook;
    return isSame && this.given.length < MAX_TOGETHER;
  }

  add(given: Given): void {
    this.given.push(given);
  }

  settle(all: readonly PromiseSettledResult<SentMessage>[]): void {
    for (const [index, { end }] of this.given.entries()) {
      const one = all[index] as PromiseSettledResult<SentMessage>;
      if (one.status === 'fulfilled') end.sent(one.value);
      else end.failed(one.reason);
    }
  }

  /** Each as it would have been handed back alone. */
  fail(error: unknown): void {
    const errors = refusals(
      error,
      this.given.map(({ message }) => message),
    );
    for (const [index, { end }] of this.given.entries()) end.failed(errors[index]);
  }
}
