/** The schema's functions, each as a method. */
import { SecurityEventError } from '../../errors.ts';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  EnqueueResult,
  ExpiredMessage,
  ItemKind,
  MessageResult,
  NothingDue,
  QueueEntry,
  QueueItem,
  QueueStats,
  SequenceRange,
} from '../queue.ts';
import type { Database } from './database.ts';
import { fromEscaped, toDuration, toEscaped, toWhole } from './escaped-text.ts';
import { isLockTimeout } from './failure.ts';
import {
  type ClaimAnswer,
  type ClaimName,
  claimOf,
  cursorOf,
  deadLetterPage,
  entryArguments,
  expiredOf,
  filterArguments,
  resultArguments,
  type StateJson,
  stateJson,
  stateOf,
  statsOf,
  updateJson,
} from './rows.ts';
import type { Settings } from './schema.ts';

export interface Bounds {
  readonly maxPendingMessages: number;
  readonly maxPendingBytes: number;
}

interface Overflow {
  readonly full: keyof Bounds;
  readonly messages: number;
  readonly bytes: number;
}

type EnqueueAnswer =
  | Overflow
  | (Settings & { readonly full?: never; readonly sequences: number[]; readonly closed: string[] });

/** Dead letters in one transaction of a `replay` or `purge`. */
const PAGE = 1000;

/** When to claim again if others have locked what is due. In milliseconds. */
const SOON_MS = 5;

export class Calls {
  readonly #database: Database;
  readonly #bounds: Bounds;

  /** Of an application before its first settle. Set before any call that needs it. */
  initialState: ApplicationState | undefined;

  constructor(database: Database, { maxPendingMessages, maxPendingBytes }: Bounds) {
    this.#database = database;
    this.#bounds = { maxPendingMessages, maxPendingBytes };
  }

  /** Rejects with ERR_QUEUE_FULL if a bound would be passed. */
  async enqueue(
    entries: readonly QueueEntry[],
    delayMs: number,
    timeoutMs: number,
  ): Promise<EnqueueResult> {
    const { args, content } = entryArguments(entries);
    const given = {
      ...args,
      ...this.#bounds,
      delayMs: toDuration(delayMs),
      initialState: this.#initialJson(),
    };
    const answer = (await this.#database.call('enqueue', given, {
      content,
      timeoutMs,
    })) as EnqueueAnswer;
    if (answer.full !== undefined) throw this.#overflow(answer);
    this.#database.noteSettings(answer);
    return { sequences: answer.sequences, closed: answer.closed.map(fromEscaped) };
  }

  #overflow({ full: bound, messages, bytes }: Overflow): SecurityEventError {
    const more = `${messages} messages of ${bytes} bytes`;
    const detail = `${more} would pass ${bound} (${this.#bounds[bound]})`;
    return new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
  }

  async exportItems(kind: ItemKind, after: number): Promise<QueueItem[]> {
    const rows = await this.#database.rows('export_items', { kind, after });
    if (rows[0]?.['item'] !== null) return rows.map(({ item }) => item as QueueItem);
    const detail = 'messages are claimed: close the senders, or wait until the leases expire';
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }

  /** Rejects with ERR_QUEUE_FULL if a bound would be passed. */
  async importItems(items: readonly QueueItem[]): Promise<number> {
    const args = { items, ...this.#bounds, initialState: this.#initialJson() };
    const answer = (await this.#database.call('import_items', args)) as number | Overflow;
    if (typeof answer === 'object') throw this.#overflow(answer);
    return answer;
  }

  #initialJson(): StateJson {
    return stateJson(this.initialState as ApplicationState);
  }

  /** Notifies the channel, if there is one, in the name of the caller. */
  async flushCounters(channel: string | null, caller: string): Promise<void> {
    await this.#database.call('flush_counters', { channel, caller });
  }

  /** `hasDeltas`: counter deltas can change what is due. */
  async claim(
    { tiers, maxMessages, maxBytes, leaseMs }: ClaimRequest,
    timeoutMs: number,
  ): Promise<{ readonly claimed: Claim | NothingDue; readonly hasDeltas: boolean }> {
    const limits = { maxMessages: toWhole(maxMessages), maxBytes: toWhole(maxBytes) };
    const request = { tiers, ...limits, leaseMs: toDuration(leaseMs) };
    const answer = await this.#database
      .call('claim', request, { timeoutMs })
      .catch((error: unknown): ClaimAnswer | { dueIn: number; hasDeltas: boolean } => {
        if (isLockTimeout(error)) return { dueIn: 0, hasDeltas: false };
        throw error;
      });
    const { hasDeltas } = answer as ClaimAnswer;
    if ('claim' in (answer as object)) {
      const claimed = await this.#messagesOf(answer as ClaimAnswer, timeoutMs);
      return { claimed, hasDeltas };
    }
    const { dueIn } = answer as ClaimAnswer;
    if (dueIn === null && !hasDeltas) return { claimed: {}, hasDeltas };
    const isSoon = hasDeltas || dueIn === null || dueIn <= 0;
    return { claimed: { dueInMs: isSoon ? SOON_MS : dueIn }, hasDeltas };
  }

  /** Reads the messages of a claim. Releases it if that fails: nothing of it was sent. */
  async #messagesOf(answer: ClaimAnswer, timeoutMs: number): Promise<Claim | NothingDue> {
    const { number, claim, nowMs } = answer;
    try {
      const columns = await this.#database.bytes(
        'claimed_messages',
        [number, claim, nowMs],
        timeoutMs,
      );
      // Its lease has expired.
      return columns === undefined ? { dueInMs: SOON_MS } : claimOf(answer, columns);
    } catch (error) {
      await this.release({ number, claim }, undefined, timeoutMs).catch(() => {});
      throw error;
    }
  }

  /** Returns the number of messages of the claim; `undefined` if it is lost. Settles if each has a result. */
  async settle(
    name: ClaimName,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<number | undefined> {
    const args = { ...name, ...resultArguments(results), ...updateJson(state) };
    return (await this.#database.call('settle', args)) as number | undefined;
  }

  async release(name: ClaimName, state?: ApplicationUpdate, timeoutMs?: number): Promise<boolean> {
    const args = { ...name, ...(state && updateJson(state)) };
    return (await this.#database.call('release', args, { timeoutMs })) === true;
  }

  async extend(name: ClaimName, leaseMs: number): Promise<boolean> {
    const args = { ...name, leaseMs: toDuration(leaseMs) };
    return (await this.#database.call('extend', args)) === true;
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<ExpiredMessage[]> {
    const args = { olderThanMs: toDuration(olderThanMs), limit: toWhole(maxMessages) };
    return expiredOf(await this.#database.rows('expire', args));
  }

  async closeApplication(applicationId: string, maxMessages: number): Promise<ExpiredMessage[]> {
    const args = { id: toEscaped(applicationId), initialState: this.#initialJson() };
    // A transaction of its own: enqueues wait for it, and must not wait for more.
    const number = await this.#database.call('close_application', args);
    const page = { number, limit: toWhole(maxMessages) };
    return expiredOf(await this.#database.rows('expire_closed', page));
  }

  async reopen(applicationId: string): Promise<void> {
    const args = { id: toEscaped(applicationId), initialState: this.#initialJson() };
    await this.#database.call('reopen_application', args);
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    const answer = await this.#database.call('application_state', { id: toEscaped(applicationId) });
    return answer === undefined ? undefined : stateOf(answer as StateJson);
  }

  async deadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<DeadLetterPage> {
    const { limit, after } = page;
    const args = { ...filterArguments(page), after: cursorOf(after), limit: toWhole(limit) + 1 };
    return deadLetterPage(await this.#database.rows('dead_letters', args), limit);
  }

  async replay(filter: DeadLetterFilter): Promise<number> {
    return await this.#inPages('replay_dead_letters', {
      ...filterArguments(filter),
      ...this.#bounds,
    });
  }

  async purge(filter: DeadLetterFilter): Promise<number> {
    return await this.#inPages('purge_dead_letters', filterArguments(filter));
  }

  /** Each page is a transaction. Returns the sum of their counts. */
  async #inPages(name: string, filter: object): Promise<number> {
    let sum = 0;
    for (let after: number | null = 0; after !== null; ) {
      const args = { ...filter, after, limit: PAGE };
      const answer = await this.#database.call(name, args);
      const { count, next } = answer as { readonly count: number; readonly next: number | null };
      sum += count;
      after = next;
    }
    return sum;
  }

  async stats(): Promise<QueueStats> {
    return statsOf(await this.#database.rows('stats'));
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    const args = { froms: ranges.map(({ from }) => from), tos: ranges.map(({ to }) => to) };
    return (await this.#database.call('count_pending', args)) as number;
  }

  async backlog(): Promise<Backlog> {
    return (await this.#database.call('backlog')) as Backlog;
  }

  /** Returns the number of pending messages. */
  async pending(): Promise<number> {
    return (await this.#database.call('pending_messages')) as number;
  }
}
