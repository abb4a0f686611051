/** A call of `send`: reads its messages, stores them in the queue, and reports what was accepted. */
import { SecurityEventError } from '../errors.ts';
import type { EnqueueResult, MessageQueue } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import { errorCodeOf, type Observe } from './events.ts';
import { type Intake, type IntakeRules, readSendCall } from './intake.ts';
import type { ReopenIfMoved } from './reopen.ts';
import { type Accepted, type FollowedByIndex, follow } from './send-each.ts';
import type { SkippedMessage, SkipReason } from './sender.ts';
import type { Tracker } from './tracker.ts';

/** A call of `send`, without its messages. */
export interface EnqueueCall {
  readonly selection: unknown;
  /** The epoch of the tracker in which it began. */
  readonly epoch: number;
  /** Gets a followed message for each stored one; absent if they are only counted. */
  readonly followed?: FollowedByIndex;
}

interface CountedCall extends EnqueueCall {
  /** Called just before `beginEnqueue`, which counts the messages from then on. */
  readonly endReading: () => void;
}

/** `yieldToEventLoop` is shared by all parts of the sender, so that together they yield in time. */
export interface EnqueueParts extends Omit<IntakeRules, 'isBehind'> {
  readonly queue: MessageQueue;
  /** Resolves when the queue can be used; undefined if it can be used already. */
  readonly ready: () => Promise<void> | undefined;
  /** Time for which an accepted message waits for others of its application, in ms. */
  readonly lingerMs: number;
  readonly reopenIfMoved: ReopenIfMoved;
  readonly tracker: Tracker;
  readonly observe: Observe;
  readonly clock: Clock;
}

/** Two full requests. The intake yields more often when more messages are pending. */
const MANY_PENDING = 2000;

export class Enqueuer {
  readonly #parts: EnqueueParts;
  readonly #rules: IntakeRules;

  constructor(parts: EnqueueParts) {
    this.#parts = parts;
    this.#rules = { ...parts, isBehind: () => parts.tracker.pending > MANY_PENDING };
  }

  async accept(messages: unknown, call: EnqueueCall): Promise<Accepted> {
    const { clock, tracker } = this.#parts;
    const count = Array.isArray(messages) ? messages.length : 0;
    const endReading = tracker.beginReading(count, call.epoch);
    try {
      const given = { messages, selection: call.selection, acceptedAtMs: clock.now() };
      const intake = await readSendCall(given, this.#rules);
      return await this.#acceptIntake(intake, { ...call, endReading });
    } finally {
      endReading();
    }
  }

  async #acceptIntake({ entries, skipped }: Intake, call: CountedCall): Promise<Accepted> {
    const { yieldToEventLoop } = this.#parts;
    // Usually there is nothing to wait for, and a check for that is faster than an `await`.
    let yielding = yieldToEventLoop();
    if (yielding !== undefined) await yielding;
    const closed = entries.length === 0 ? [] : await this.#store(entries, call);
    const refused =
      closed.length === 0 ? undefined : await this.#storeReopened(closed, entries, call);
    const { accepted, skips } = partition(entries, refused);
    yielding = yieldToEventLoop();
    if (yielding !== undefined) await yielding;
    const all =
      skips.length === 0 ? skipped : [...skipped, ...skips].toSorted((a, b) => a.index - b.index);
    this.#publish(accepted, all);
    yielding = yieldToEventLoop();
    if (yielding !== undefined) await yielding;
    return { accepted, skipped: all };
  }

  /**
   * Reopens the closed destinations that have a new URL, which has not answered 410 yet (D72), and stores their messages.
   * Resolves to the other applications, whose messages are skipped, with the reason. Never rejects: messages are accepted
   * already.
   */
  async #storeReopened(
    closed: readonly string[],
    entries: readonly AcceptedEntry[],
    call: CountedCall,
  ): Promise<ReadonlyMap<string, SkipReason>> {
    const refused = new Map<string, SkipReason>(closed.map((id) => [id, 'destination-closed']));
    const reopened = new Set<string>();
    // At once: one by one, a settings function that hangs would hold up the call for the time limit of each.
    const reopenings = closed.map(async (applicationId) => {
      if (await this.#reopenIfMoved(applicationId)) reopened.add(applicationId);
    });
    await Promise.all(reopenings);
    if (reopened.size === 0) return refused;
    const again = entries.filter(({ applicationId }) => reopened.has(applicationId));
    try {
      const stillClosed = await this.#store(again, call);
      for (const id of reopened) if (!stillClosed.includes(id)) refused.delete(id);
    } catch (error) {
      const isFull = error instanceof SecurityEventError && error.code === 'ERR_QUEUE_FULL';
      if (!isFull) this.#publishFailure(error);
      for (const id of reopened) refused.set(id, isFull ? 'queue-full' : 'queue-failed');
    }
    return refused;
  }

  async #reopenIfMoved(applicationId: string): Promise<boolean> {
    try {
      return (await this.#parts.reopenIfMoved(applicationId)) === 'reopened';
    } catch (error) {
      this.#publishFailure(error);
      return false;
    }
  }

  /** Stores the entries, except those of closed applications. Resolves to the ids of these. */
  async #store(
    entries: readonly AcceptedEntry[],
    { epoch, followed, endReading }: CountedCall,
  ): Promise<readonly string[]> {
    const { ready, tracker } = this.#parts;
    const opening = ready();
    if (opening !== undefined) await opening;
    endReading();
    const end = tracker.beginEnqueue(entries.length, epoch);
    const { sequences, closed } = await this.#enqueue(entries).catch((error: unknown) => {
      end([]);
      throw error;
    });
    const refusing = new Set(closed);
    const isStored = (entry: AcceptedEntry): boolean => !refusing.has(entry.applicationId);
    end(sequences, followed && follow(followed, entries.filter(isStored)));
    return closed;
  }

  async #enqueue(entries: readonly AcceptedEntry[]): Promise<EnqueueResult> {
    const { queue, lingerMs } = this.#parts;
    try {
      return await queue.enqueue(entries, lingerMs);
    } catch (error) {
      // A queue may reject all calls that it wrote together with the same error.
      if (error instanceof SecurityEventError) throw error.copy(pathInCall(entries, error));
      throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: error });
    }
  }

  #publishFailure(error: unknown): void {
    this.#parts.observe('queue-failed', () => ({ operation: 'enqueue', ...errorCodeOf(error) }));
  }

  #publish(accepted: readonly AcceptedEntry[], skipped: readonly SkippedMessage[]): void {
    const { observe } = this.#parts;
    for (const { first, count } of countBy(accepted, (entry) => entry.applicationId)) {
      const { applicationId, stored } = first;
      observe('accepted', () => ({ applicationId, format: stored.format, count }));
    }
    for (const { first, count } of countBy(
      skipped,
      (one) => `${one.reason} ${one.applicationId}`,
    )) {
      const { applicationId, reason } = first;
      observe('skipped', () => ({ applicationId, reason, count }));
    }
  }
}

interface KeyCount<T> {
  readonly first: T;
  count: number;
}

/** Counts the items of each key, in the order of their first items. */
function countBy<T>(
  list: readonly T[],
  keyOf: (one: T) => string,
): Iterable<Readonly<KeyCount<T>>> {
  if (list.length === 0) return [];
  const found = new Map<string, KeyCount<T>>();
  for (const first of list) {
    const key = keyOf(first);
    const known = found.get(key);
    if (known === undefined) found.set(key, { first, count: 1 });
    else known.count += 1;
  }
  return found.values();
}

/** Replaces the index of an entry in the path by the index of its message in the call. */
function pathInCall(accepted: readonly AcceptedEntry[], { code, path }: SecurityEventError) {
  const index = code === 'ERR_MESSAGE_TOO_LARGE' ? accepted[Number(path[0])]?.index : undefined;
  return index === undefined ? path : [index];
}

/** Splits the entries of a call into those that are accepted and those of refused applications. */
function partition(
  entries: readonly AcceptedEntry[],
  refused: ReadonlyMap<string, SkipReason> | undefined,
): { readonly accepted: readonly AcceptedEntry[]; readonly skips: readonly SkippedMessage[] } {
  if (refused === undefined) return { accepted: entries, skips: [] };
  const accepted: AcceptedEntry[] = [];
  const skips: SkippedMessage[] = [];
  for (const entry of entries) {
    const { index, applicationId } = entry;
    const reason = refused.get(applicationId);
    if (reason === undefined) accepted.push(entry);
    else skips.push({ index, applicationId, reason });
  }
  return { accepted, skips };
}
