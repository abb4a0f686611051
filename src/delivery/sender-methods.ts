/** The methods of a webhook sender. */
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { MessageQueue } from '../queue/queue.ts';
import type { Enqueuer } from './enqueue.ts';
import type { Observe } from './events.ts';
import type { Lifecycle } from './lifecycle.ts';
import {
  CLOSE_RULES,
  FLUSH_RULES,
  QUERY_RULES,
  readApplicationId,
  readMethodOptions,
  readSelection,
} from './read-options.ts';
import type { SendReport } from './report.ts';
import { sendEach } from './send-each.ts';
import {
  type CloseOptions,
  type CloseResult,
  type DeadLetterList,
  type DeadLetterQuery,
  DeadMessage,
  type FlushOptions,
  type FlushResult,
  type InternalSender,
  SEND_EACH,
  type SenderStats,
  type SendResult,
  type SendSelection,
  type SingleSendResult,
  type WebhookSender,
} from './sender.ts';
import type { Slots } from './slots.ts';
import type { Tracker } from './tracker.ts';

export interface SenderMethodsParts {
  readonly queue: MessageQueue;
  readonly enqueuer: Enqueuer;
  /** Resolves when the queue can be used; undefined if it can be used already. */
  readonly ready: () => Promise<void> | undefined;
  readonly slots: Slots;
  readonly tracker: Tracker;
  readonly lifecycle: Lifecycle;
  readonly observe: Observe;
  /** Returns the number of attempts that were started. */
  readonly attempts: () => number;
  readonly sendTest: (applicationId: string) => Promise<SendReport>;
}

const DEFAULT_PAGE = 100;

export class SenderMethods implements WebhookSender, InternalSender {
  readonly #parts: SenderMethodsParts;

  constructor(parts: SenderMethodsParts) {
    this.#parts = parts;
  }

  async send(messages: unknown, selection: unknown = {}): Promise<SendResult> {
    const { lifecycle, enqueuer, tracker } = this.#parts;
    let end: (() => void) | undefined;
    // Not `runCall`, which would add frames to the stacks of errors in the host's messages.
    try {
      end = lifecycle.begin();
      const call = { selection, epoch: tracker.epoch };
      const { accepted, skipped } = await enqueuer.accept(messages, call);
      return { accepted: accepted.map(({ stored }) => stored.messageId), skipped };
    } catch (thrown) {
      const error = lifecycle.errorFor(thrown);
      // A refused message must not disappear.
      throw error instanceof SecurityEventError ? error.withInput(messages) : error;
    } finally {
      end?.();
    }
  }

  [SEND_EACH](
    messages: Promise<readonly object[]>,
    selection: SendSelection = {},
  ): Promise<readonly PromiseSettledResult<SingleSendResult>[]> {
    const { lifecycle, enqueuer, tracker } = this.#parts;
    const { epoch } = tracker;
    return lifecycle.runCall(() =>
      sendEach(messages, {
        accept: (given, followed) => enqueuer.accept(given, { selection, epoch, followed }),
        errorFor: (error) => lifecycle.errorFor(error),
      }),
    );
  }

  async sendTest(applicationId: unknown): Promise<SendReport> {
    const id = readApplicationId(applicationId);
    const { lifecycle, sendTest } = this.#parts;
    return await lifecycle.runCall(() => sendTest(id));
  }

  async stats(): Promise<SenderStats> {
    const { queue, ready, slots, attempts } = this.#parts;
    await ready();
    return { ...(await queue.stats()), inFlight: slots.inFlight(), attempts: attempts() };
  }

  async deadLetters(query: unknown = {}): Promise<DeadLetterList> {
    const given = readMethodOptions<DeadLetterQuery>(query, QUERY_RULES);
    await this.#parts.ready();
    const pageQuery = ownProperties({ ...given, limit: given.limit ?? DEFAULT_PAGE });
    const { items, next } = ownProperties(await this.#parts.queue.listDeadLetters(pageQuery));
    const messages = items.map((letter) => new DeadMessage(letter));
    return { items: messages, ...(next === undefined ? {} : { next }) };
  }

  async replay(selection: unknown = {}): Promise<number> {
    const filter = readSelection(selection);
    return await this.#changeQueue((queue) => queue.replayDeadLetters(filter));
  }

  async purge(selection: unknown = {}): Promise<number> {
    const filter = readSelection(selection);
    const count = await this.#changeQueue((queue) => queue.purgeDeadLetters(filter));
    if (count > 0) this.#parts.observe('discarded', () => ({ reason: 'purged', count }));
    return count;
  }

  async reopen(applicationId: unknown): Promise<void> {
    const id = readApplicationId(applicationId);
    await this.#changeQueue((queue) => queue.reopenApplication(id));
  }

  /** Not async, like `close`, so that callers share one promise. */
  flush(options: unknown = {}): Promise<FlushResult> {
    try {
      return this.#parts.lifecycle.flush(readMethodOptions<FlushOptions>(options, FLUSH_RULES));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  close(options: unknown = {}): Promise<CloseResult> {
    try {
      const { deadlineMs } = readMethodOptions<CloseOptions>(options, CLOSE_RULES);
      return this.#parts.lifecycle.close(deadlineMs);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #changeQueue<T>(change: (queue: MessageQueue) => Promise<T>): Promise<T> {
    const { lifecycle, queue, ready } = this.#parts;
    return lifecycle.runCall(async () => {
      await ready();
      return await change(queue);
    });
  }
}
