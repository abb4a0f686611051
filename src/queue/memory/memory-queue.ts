import { SecurityEventError } from '../../errors.ts';
import { type GiveWay, givingWay } from '../../system/giving-way.ts';
import { addSizes, SLICE_MESSAGES, slicesOf } from '../in-process/batch.ts';
import { type Moment, momentOf, type QueueClock } from '../in-process/moment.ts';
import type {
  ApplicationRow,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  Enqueued,
  ExpiredMessage,
  MessageQueue,
  Moved,
  Nothing,
  QueueClosing,
  QueueEntry,
  QueueStats,
  ReturnedMessage,
  RowUpdate,
  Verdict,
} from '../queue.ts';
import type { Application, LiveClaim } from './application.ts';
import { Content } from './content.ts';
import type { PageRequest } from './dead-letters.ts';
import type { MemoryQueueOptions } from './memory-options.ts';
import type { ClaimLimits } from './taken.ts';
import { movingMessages } from './waiting-message.ts';

/**
 * Each method but `enqueue` and `close`, and what has to wait for an `enqueue`, does all it does in
 * one go, so that none sees half of another. There is no timer: what time changes is noticed by the next call.
 */
export class MemoryQueue implements MessageQueue {
  readonly durability = 'memory';
  readonly #clock: QueueClock;
  readonly #content: Content;
  readonly #giveWay: GiveWay;
  readonly #listeners = new Set<() => void>();
  #initialRow: ApplicationRow | undefined;
  /** Calls of `enqueue` that are not over. */
  readonly #entering = new Set<Promise<unknown>>();
  #closing: Promise<QueueClosing> | undefined;
  #lastClaim = 0;

  constructor(options: Required<MemoryQueueOptions>, clock: QueueClock) {
    this.#clock = clock;
    this.#giveWay = givingWay(clock);
    this.#content = new Content(options);
  }

  async open(initialRow: ApplicationRow, lingerMs = 0): Promise<void> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#initialRow = initialRow;
    this.#content.lingerMs = lingerMs;
  }

  /** Room is taken for all of it first; a large batch then comes in in slices (D80). */
  async enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    this.#begin();
    if (entries.length <= SLICE_MESSAGES) {
      const { open, closed } = this.#admit(entries, addSizes(new Map(), entries));
      this.#accept(open);
      if (open.length > 0) this.#tellListeners();
      return { closed };
    }
    const entering = this.#takeInSlices(entries);
    this.#entering.add(entering);
    return await entering.finally(() => this.#entering.delete(entering));
  }

  async #takeInSlices(entries: readonly QueueEntry[]): Promise<Enqueued> {
    const sizes = new Map<string, number>();
    for (const slice of slicesOf(entries)) {
      addSizes(sizes, slice);
      const pause = this.#giveWay();
      if (pause !== undefined) await pause;
    }
    const { open, closed } = this.#admit(entries, sizes);
    for (const slice of slicesOf(open)) {
      const pause = this.#giveWay();
      if (pause !== undefined) {
        // Not slice by slice: whoever listens would claim a hundred at a time.
        this.#tellListeners();
        await pause;
      }
      this.#accept(slice);
    }
    if (open.length > 0) this.#tellListeners();
    return { closed };
  }

  /** What is not of a closed application, for which room was taken. */
  #admit(entries: readonly QueueEntry[], sizes: Map<string, number>) {
    const isClosed = (id: string): boolean => this.#content.find(id)?.isClosed === true;
    const isAnyClosed = [...sizes.keys()].some(isClosed);
    const isRefused = ({ applicationId, past }: QueueEntry): boolean =>
      isClosed(applicationId) && past?.death === undefined;
    const open = isAnyClosed ? entries.filter((entry) => !isRefused(entry)) : entries;
    const closed = isAnyClosed ? entries.filter(isRefused).map((entry) => entry.applicationId) : [];
    const taken = isAnyClosed ? addSizes(new Map(), open) : sizes;
    const bytes = [...taken.values()].reduce((sum, size) => sum + size, 0);
    this.#content.room.take(open.length, bytes);
    return { open, closed: [...new Set(closed)] };
  }

  #accept(entries: readonly QueueEntry[]): void {
    const at = momentOf(this.#clock);
    this.#content.wake(at);
    this.#content.accept(entries, this.#initialRow as ApplicationRow, at);
  }

  async claim(request: ClaimRequest): Promise<Claim | Nothing> {
    const { at } = this.#begin();
    const { turns } = this.#content;
    const isEarly = request.early === true;
    const application = isEarly ? this.#content.unclaimed() : turns.next(request.tiers);
    if (application === undefined) {
      const nextAtMs = isEarly ? undefined : turns.nextAtMs(request.tiers);
      return nextAtMs === undefined ? {} : { dueInMs: nextAtMs - at.nowMs };
    }
    const { id: applicationId, row, waiting } = application;
    const taken = isEarly
      ? waiting.take(request, Number.POSITIVE_INFINITY)
      : waiting.take(within(row, request), at.nowMs);
    this.#lastClaim += 1;
    const id = String(this.#lastClaim);
    const endsAtMs = at.after(request.leaseMs);
    application.claim = { id, application, taken, endsAtMs };
    turns.place(application, at.nowMs);
    const messages = isEarly ? movingMessages(taken.messages(), at.nowMs) : taken.claimed(at.nowMs);
    return { id, applicationId, format: taken.format, row, now: at.nowMs, messages };
  }

  async settle(
    claim: Claim,
    verdicts: readonly (Verdict | Moved)[],
    row: RowUpdate,
  ): Promise<'settled' | 'lost'> {
    const { at } = this.#begin();
    const held = this.#held(claim);
    if (held === undefined) return 'lost';
    const { application, taken } = held;
    if (verdicts.length !== taken.size) {
      const detail = `${verdicts.length} verdicts for ${taken.size} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    this.#content.settle(held, verdicts, at);
    this.#endClaim(application, row, at);
    return 'settled';
  }

  async release(claim: Claim, row?: RowUpdate): Promise<'released' | 'lost'> {
    const { at } = this.#begin();
    const held = this.#held(claim);
    if (held === undefined) return 'lost';
    const { application, taken } = held;
    for (const message of taken.messages()) {
      message.sends -= 1;
      application.waiting.putBack(message);
    }
    this.#endClaim(application, row, at);
    return 'released';
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const { at } = this.#begin();
    const held = this.#held(claim);
    if (held === undefined) return 'lost';
    held.endsAtMs = at.after(leaseMs);
    this.#content.turns.place(held.application, at.nowMs);
    return 'extended';
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    const { at } = this.#begin();
    const expired: ExpiredMessage[] = [];
    for (const application of this.#content.all()) {
      const left = maxMessages - expired.length;
      if (left <= 0) break;
      const messages = application.waiting.takeOlder(at.nowMs - olderThanMs, left);
      const expiry = { application, messages, reason: 'horizon-passed' } as const;
      for (const message of this.#content.expire(expiry, at)) expired.push(message);
    }
    return expired;
  }

  async application(applicationId: string): Promise<ApplicationRow | undefined> {
    this.#begin();
    return this.#content.find(applicationId)?.row;
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    const application = this.#content.ensure(applicationId, this.#begin().initialRow);
    application.close();
    // What was admitted before it was closed comes in yet, and is not to wait for nobody.
    if (this.#entering.size > 0) await Promise.allSettled(this.#entering);
    const { at } = this.#begin();
    const messages = application.waiting.takeFirst(maxMessages);
    return this.#content.expire({ application, messages, reason: 'destination-closed' }, at);
  }

  async reopen(applicationId: string): Promise<void> {
    const { at, initialRow } = this.#begin();
    const application = this.#content.find(applicationId);
    if (application === undefined) return;
    application.reopen(initialRow);
    this.#content.turns.place(application, at.nowMs);
    this.#tellListeners();
  }

  async deadLetters(page: PageRequest): Promise<DeadLetterPage> {
    this.#begin();
    return this.#content.dead.page(page);
  }

  /** As many as there is room for: the oldest of them. */
  async replay(filter: DeadLetterFilter): Promise<number> {
    const { at } = this.#begin();
    const revived = this.#content.revive(filter, at);
    if (revived > 0) this.#tellListeners();
    return revived;
  }

  async purge(filter: DeadLetterFilter, as: 'purged' | 'moved' = 'purged'): Promise<number> {
    this.#begin();
    const purged = this.#content.dead.take(filter);
    for (const { application } of purged) application.discard(as);
    return purged.length;
  }

  /** Also after `close`: it tells what was handed back. */
  async stats(): Promise<QueueStats> {
    const at = momentOf(this.#clock);
    this.#content.wake(at);
    return this.#content.stats(at);
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return await this.#closing;
  }

  /** What was being accepted is accepted first (law 8). */
  async #end(): Promise<QueueClosing> {
    await Promise.allSettled(this.#entering);
    this.#listeners.clear();
    const returned: ReturnedMessage[] = [];
    for (const slice of this.#content.empty(SLICE_MESSAGES)) {
      for (const message of slice) returned.push(message);
      await this.#giveWay();
    }
    return { returned, left: 0 };
  }

  /** What every call begins with: it sees no lease that is over. */
  #begin(): { readonly at: Moment; readonly initialRow: ApplicationRow } {
    const initialRow = this.#initialRow;
    if (initialRow === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    const at = momentOf(this.#clock);
    this.#content.wake(at);
    return { at, initialRow };
  }

  /** The claim as it is kept, while it is live. */
  #held({ id, applicationId }: Claim): LiveClaim | undefined {
    const held = this.#content.find(applicationId)?.claim;
    return held?.id === id ? held : undefined;
  }

  /** Its messages have gone where they belong. */
  #endClaim(application: Application, row: RowUpdate | undefined, at: Moment): void {
    application.claim = undefined;
    if (row !== undefined) application.write(row, at.after(row.waitMs));
    this.#content.turns.place(application, at.nowMs);
    this.#tellListeners();
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }
}

const within = (row: ClaimLimits, request: ClaimLimits): ClaimLimits => ({
  maxMessages: Math.min(row.maxMessages, request.maxMessages),
  maxBytes: Math.min(row.maxBytes, request.maxBytes),
});
