/** The delivery engine behind `createWebhookSender`: intake at one end, scheduler at the other. */
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { EnqueueResult, MessageQueue } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { GiveWay } from '../runtime/yield-to-event-loop.ts';
import type { ResolvedApplication } from '../settings/source.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import { tallies } from './count-by.ts';
import type { Observe } from './events.ts';
import { type IntakeRules, type SendSelection, takeIn } from './intake.ts';
import {
  CLOSE_RULES,
  type CloseOptions,
  FLUSH_RULES,
  type FlushOptions,
  QUERY_RULES,
  readCall,
  SELECTION_RULES,
} from './read-options.ts';
import type { SendReport } from './report.ts';
import type { Slots } from './scheduler.ts';
import { type Accepted, type Ends, follow, sendEach, type Taken } from './send-each.ts';
import {
  type CloseResult,
  type DeadLetterList,
  type DeadLetterQuery,
  type DeadLetterSelection,
  DeadMessage,
  type FlushResult,
  type FollowingSender,
  SEND_EACH,
  type SenderStats,
  type SendResult,
  type SkippedMessage,
  type SkipReason,
  type WebhookSender,
} from './sender.ts';
import type { Lifecycle } from './shutdown.ts';
import type { Tracker } from './tracker.ts';

export interface EngineParts {
  readonly queue: MessageQueue;
  readonly find: (applicationId: string) => Promise<ResolvedApplication | undefined>;
  /** Resolves when the queue can be used; nothing where it can be already. */
  readonly ready: () => Promise<void> | undefined;
  /** Time for which an accepted message waits for others, in ms. */
  readonly delayMs: number;
  readonly intake: Pick<IntakeRules, 'dialect' | 'maxBodyBytes' | 'v1Aliases' | 'newId'>;
  /** Whether an application's URL is another than the one that its state in the queue is about. */
  readonly hasMoved: (applicationId: string) => Promise<boolean>;
  readonly tracker: Tracker;
  readonly slots: Slots;
  readonly lifecycle: Lifecycle;
  readonly observe: Observe;
  readonly clock: Clock;
  /** One for all that the sender does, so that its works share what they take of a turn. */
  readonly giveWay: GiveWay;
  readonly attempts: () => number;
  readonly sendTest: (applicationId: string) => Promise<SendReport>;
}

const DEFAULT_PAGE = 100;

const NONE: ReadonlySet<string> = new Set();
const NONE_CLOSED: readonly string[] = [];

/** Two requests of messages: with fewer nothing is behind. */
const MANY_PENDING = 2000;

export class Engine implements WebhookSender, FollowingSender {
  readonly #parts: EngineParts;
  readonly #rules: IntakeRules;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { intake, find, giveWay, tracker } = parts;
    const { dialect, maxBodyBytes, v1Aliases, newId } = intake;
    // Once, and of no more than is needed: it may be all of a sender's settings.
    const isBehind = (): boolean => tracker.pending > MANY_PENDING;
    this.#rules = { dialect, maxBodyBytes, v1Aliases, newId, find, giveWay, isBehind };
  }

  async send(messages: unknown, selection: unknown = {}): Promise<SendResult> {
    const { lifecycle } = this.#parts;
    try {
      const { accepted, skipped } = await lifecycle.accepting(() =>
        this.#accept(messages, selection),
      );
      return { accepted: accepted.map(({ stored }) => stored.messageId), skipped };
    } catch (error) {
      // Nothing that is refused may disappear.
      throw error instanceof SecurityEventError ? error.about(messages) : error;
    }
  }

  [SEND_EACH](
    messages: Promise<readonly object[]>,
    selection: SendSelection = {},
  ): Promise<readonly PromiseSettledResult<Taken>[]> {
    const { lifecycle } = this.#parts;
    return lifecycle.accepting(() =>
      sendEach(messages, {
        accept: (given, ends) => this.#accept(given, selection, ends),
        errorFor: (error) => lifecycle.errorFor(error),
      }),
    );
  }

  async sendTest(applicationId: string): Promise<SendReport> {
    const { lifecycle, sendTest } = this.#parts;
    return await lifecycle.accepting(() => sendTest(applicationId));
  }

  async stats(): Promise<SenderStats> {
    const { queue, ready, slots, attempts } = this.#parts;
    await ready();
    return { ...(await queue.stats()), inFlight: slots.inUse(), attempts: attempts() };
  }

  async deadLetters(query: unknown = {}): Promise<DeadLetterList> {
    const { limit = DEFAULT_PAGE, ...rest } = readCall<DeadLetterQuery>(query, QUERY_RULES);
    await this.#parts.ready();
    const page = ownProperties({ ...rest, limit });
    const found = ownProperties(await this.#parts.queue.listDeadLetters(page));
    const messages = found.items.map((letter) => new DeadMessage(letter));
    const { next } = found;
    return { items: messages, ...(next === undefined ? {} : { next }) };
  }

  async replay(selection: unknown = {}): Promise<number> {
    const filter = readCall<DeadLetterSelection>(selection, SELECTION_RULES);
    return await this.#changing((queue) => queue.replayDeadLetters(filter));
  }

  async purge(selection: unknown = {}): Promise<number> {
    // A filter that is misspelt must not discard everything.
    const filter = readCall<DeadLetterSelection>(selection, SELECTION_RULES);
    const count = await this.#changing((queue) => queue.purgeDeadLetters(filter));
    if (count > 0) this.#parts.observe('discarded', () => ({ reason: 'purged', count }));
    return count;
  }

  async reopen(applicationId: string): Promise<void> {
    await this.#changing((queue) => queue.reopenApplication(applicationId));
  }

  /** Not async, and no more `close` is: their callers share one promise. */
  flush(options: unknown = {}): Promise<FlushResult> {
    try {
      return this.#parts.lifecycle.flush(readCall<FlushOptions>(options, FLUSH_RULES));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  close(options: unknown = {}): Promise<CloseResult> {
    try {
      const { deadlineMs } = readCall<CloseOptions>(options, CLOSE_RULES);
      return this.#parts.lifecycle.close(deadlineMs);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #changing<T>(change: (queue: MessageQueue) => Promise<T>): Promise<T> {
    const { lifecycle, queue, ready } = this.#parts;
    return lifecycle.accepting(async () => {
      await ready();
      return await change(queue);
    });
  }

  async #accept(messages: unknown, selection: unknown, ends?: Ends): Promise<Accepted> {
    const { clock, giveWay } = this.#parts;
    const call = { messages, selection, acceptedAtMs: clock.now() };
    const { entries, skipped } = await takeIn(call, this.#rules);
    // Mostly there is nothing to wait for, and then awaiting it takes longer than asking.
    let way = giveWay();
    if (way !== undefined) await way;
    const refusing = entries.length === 0 ? NONE_CLOSED : await this.#put(entries, ends);
    const closed = refusing.length === 0 ? NONE : await this.#open(refusing, entries, ends);
    const isClosed = ({ applicationId }: AcceptedEntry): boolean => closed.has(applicationId);
    const accepted = closed.size === 0 ? entries : entries.filter((entry) => !isClosed(entry));
    const refused = closed.size === 0 ? [] : entries.filter(isClosed).map(closedSkip);
    way = giveWay();
    if (way !== undefined) await way;
    const all =
      refused.length === 0
        ? skipped
        : [...skipped, ...refused].toSorted((a, b) => a.index - b.index);
    this.#tell(accepted, all);
    way = giveWay();
    if (way !== undefined) await way;
    return { accepted, skipped: all };
  }

  /** Tries those that were closed again. Gives those for which nothing was taken, since they still are. */
  async #open(
    closed: readonly string[],
    entries: readonly AcceptedEntry[],
    ends?: Ends,
  ): Promise<ReadonlySet<string>> {
    const reopened = new Set<string>();
    for (const applicationId of closed) {
      // The others are accepted by now: whatever fails here must not tell the caller otherwise.
      const isOpen = await this.#reopenForNewUrl(applicationId).catch(() => false);
      if (isOpen) reopened.add(applicationId);
    }
    if (reopened.size === 0) return new Set(closed);
    const again = entries.filter(({ applicationId }) => reopened.has(applicationId));
    const second = await this.#put(again, ends).catch(() => [...reopened]);
    const isStillClosed = (id: string): boolean => !reopened.has(id) || second.includes(id);
    return new Set(closed.filter(isStillClosed));
  }

  /** Resolves to the applications that are closed, for which nothing was stored. */
  async #put(entries: readonly AcceptedEntry[], ends?: Ends): Promise<readonly string[]> {
    const { ready, tracker } = this.#parts;
    const opening = ready();
    if (opening !== undefined) await opening;
    const expected = tracker.expect(entries.length);
    let result: EnqueueResult;
    try {
      result = await this.#enqueue(entries);
    } catch (error) {
      expected.rejected();
      throw error;
    }
    const { sequences, closed } = result;
    expected.accepted(sequences, ends && follow(ends, storedOf(entries, closed)));
    return closed;
  }

  async #enqueue(entries: readonly AcceptedEntry[]): Promise<EnqueueResult> {
    const { queue, delayMs } = this.#parts;
    try {
      return await queue.enqueue(entries, delayMs);
    } catch (error) {
      // A queue may give one error to all calls whose messages it was to write at once.
      if (error instanceof SecurityEventError) throw error.copy(placeIn(entries, error));
      throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: error });
    }
  }

  /** D72: the new URL of a destination that was closed has not said 410 yet. */
  async #reopenForNewUrl(applicationId: string): Promise<boolean> {
    const { hasMoved, queue } = this.#parts;
    if (!(await hasMoved(applicationId))) return false;
    await queue.reopenApplication(applicationId);
    return true;
  }

  #tell(accepted: readonly AcceptedEntry[], skipped: readonly SkippedMessage[]): void {
    const { observe } = this.#parts;
    for (const { first, count } of tallies(accepted, idOf)) {
      const { applicationId, stored } = first;
      observe('accepted', () => ({ applicationId, format: stored.format, count }));
    }
    for (const { first, count } of tallies(
      skipped,
      (one) => `${one.reason} ${one.applicationId}`,
    )) {
      const { applicationId, reason } = first;
      observe('skipped', () => ({ applicationId, reason, count }));
    }
  }
}

/** Returns the entries that the queue has stored, in their order: each has a sequence. */
function storedOf(
  entries: readonly AcceptedEntry[],
  closed: readonly string[],
): readonly AcceptedEntry[] {
  if (closed.length === 0) return entries;
  const refusing = new Set(closed);
  return entries.filter(({ applicationId }) => !refusing.has(applicationId));
}

function idOf({ applicationId }: { readonly applicationId: string }): string {
  return applicationId;
}

/** A queue counts what it was given: what is skipped is not among it. */
function placeIn(accepted: readonly AcceptedEntry[], { code, path }: SecurityEventError) {
  const index = code === 'ERR_MESSAGE_TOO_LARGE' ? accepted[Number(path[0])]?.index : undefined;
  return index === undefined ? path : [index];
}

function closedSkip({ index, applicationId }: AcceptedEntry): SkippedMessage {
  return { index, applicationId, reason: 'destination-closed' satisfies SkipReason };
}
