/**
 * A queue made of the rows alone: the stream, the dead letters and the bucket are plain arrays, and
 * every row goes through its bytes. What the engine is good for (replicas, processes) it has not.
 */
import { SecurityEventError } from '../../../src/errors.ts';
import type { Fresh, ReadMessage, Row } from '../../../src/queue/jetstream/row.ts';
import { knownOf, newRow } from '../../../src/queue/jetstream/row.ts';
import { absorb, candidates, needsFresh, take } from '../../../src/queue/jetstream/row-claim.ts';
import { decodeRow, encodeRow } from '../../../src/queue/jetstream/row-code.ts';
import { claimableAtMs, factsOf, ledgerOf } from '../../../src/queue/jetstream/row-due.ts';
import * as ends from '../../../src/queue/jetstream/row-ends.ts';
import { extend, lapse, release, settle } from '../../../src/queue/jetstream/row-settle.ts';
import type {
  ApplicationRow,
  Claim,
  ClaimRequest,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  Enqueued,
  ExpiredMessage,
  MessageQueue,
  Moved,
  Nothing,
  QueueEntry,
  QueueStats,
  RowUpdate,
  Verdict,
} from '../../../src/queue/queue.ts';
import { NOBODY } from '../conformance/trial.ts';

interface Stored extends ReadMessage {
  readonly entry: QueueEntry;
}

interface Letter extends DeadLetter {
  readonly number: number;
  readonly entry: QueueEntry;
}

interface Bounds {
  readonly maxPendingMessages?: number;
  readonly maxPendingBytes?: number;
}

const size = (list: readonly { readonly sizeBytes: number }[]): number =>
  list.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

export class RowsQueue implements MessageQueue {
  readonly durability = 'memory';
  readonly #nowMs: () => number;
  readonly #bounds: Bounds;
  readonly #listeners = new Set<() => void>();
  readonly #rows = new Map<string, Uint8Array>();
  readonly #turns = new Map<string, number>();
  #stream: Stored[] = [];
  #letters: Letter[] = [];
  #numbers = 0;
  #initial: ApplicationRow | undefined;
  #lingerMs = 0;
  #isClosed = false;
  /** Follow-up is done now and then only, and by whoever comes next. */
  #calls = 0;

  constructor(nowMs: () => number, bounds: Bounds = {}) {
    this.#nowMs = nowMs;
    this.#bounds = bounds;
  }

  open(initialRow: ApplicationRow, lingerMs = 0): Promise<void> {
    return this.#do(() => {
      this.#initial = initialRow;
      this.#lingerMs = lingerMs;
    }, false);
  }

  enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    return this.#do(() => {
      const isOver = ({ applicationId, past }: QueueEntry): boolean =>
        this.#row(applicationId)?.application.tier === 'closed' && past?.death === undefined;
      const open = entries.filter((entry) => !isOver(entry));
      this.#mustFit(open);
      for (const entry of open) this.#accept(entry);
      return { closed: [...new Set(entries.filter(isOver).map((one) => one.applicationId))] };
    });
  }

  #mustFit(entries: readonly QueueEntry[]): void {
    this.#finishAll();
    const { maxPendingMessages = 1e9, maxPendingBytes = 1e9 } = this.#bounds;
    const messages = this.#stream.length + entries.length;
    const bytes = size(this.#stream) + size(entries);
    if (messages <= maxPendingMessages && bytes <= maxPendingBytes) return;
    const bound = messages > maxPendingMessages ? 'maxPendingMessages' : 'maxPendingBytes';
    const detail = `passes ${bound} (${this.#bounds[bound]})`;
    throw new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
  }

  #accept(entry: QueueEntry): void {
    const row = this.#row(entry.applicationId) ?? newRow(this.#initial as ApplicationRow);
    this.#write(entry.applicationId, row);
    const { past } = entry;
    if (past?.death !== undefined) {
      const { reason, end, diedAt = this.#nowMs() } = past.death;
      this.#addLetter(entry, {
        reason,
        end,
        sends: past.sends,
        diedAt,
        acceptedAt: diedAt - past.ageMs,
      });
      return;
    }
    const message = this.#publish(entry, past);
    this.#write(entry.applicationId, absorb(row, [message]));
    this.#ring();
  }

  #publish(entry: QueueEntry, past: ReadMessage['past']): Stored {
    this.#numbers += 1;
    const message: Stored = {
      sequence: this.#numbers,
      storedMs: this.#nowMs(),
      format: entry.stored.format,
      sizeBytes: entry.sizeBytes,
      ...(past === undefined ? {} : { past }),
      entry,
    };
    this.#stream.push(message);
    return message;
  }

  claim(request: ClaimRequest): Promise<Claim | Nothing> {
    return this.#do(() => {
      const times: number[] = [];
      for (const id of this.#inTurn()) {
        const row = this.#lapsed(id);
        if (request.early !== true) {
          if (!request.tiers.some((tier) => tier === row.application.tier)) continue;
          const atMs = claimableAtMs(row, this.#told(id, row), this.#lingerMs);
          if (atMs === undefined) continue;
          if (atMs > this.#nowMs()) {
            times.push(atMs);
            continue;
          }
        }
        const claim = this.#take(id, row, request);
        if (claim !== undefined) return claim;
      }
      const dueInMs = Math.min(...times) - this.#nowMs();
      return request.early === true || times.length === 0 ? {} : { dueInMs };
    });
  }

  #inTurn(): string[] {
    const turnOf = (id: string): number => this.#turns.get(id) ?? 0;
    return [...this.#rows.keys()].toSorted((one, other) => turnOf(one) - turnOf(other));
  }

  #take(applicationId: string, row: Row, request: ClaimRequest): Claim | undefined {
    this.#numbers += 1;
    const id = `${this.#numbers}`;
    const rowBytes = this.#rows.get(applicationId)?.length ?? 0;
    const bounds = { rowBytes, maxPayload: 1_048_576 };
    const asked = { id, request, nowMs: this.#nowMs(), lingerMs: this.#lingerMs, ...bounds };
    const wanted = new Set(candidates(row, asked));
    const read = new Map(
      this.#stream
        .filter(({ sequence }) => wanted.has(sequence))
        .map((message) => [message.sequence, message]),
    );
    const fresh = needsFresh(row, asked) ? this.#fresh(applicationId, row) : undefined;
    const claiming = take(row, asked, { read, ...(fresh === undefined ? {} : { fresh }) });
    this.#write(applicationId, claiming.row);
    const [first] = claiming.taken;
    if (first === undefined) return undefined;
    this.#turns.set(applicationId, this.#numbers);
    return {
      id,
      applicationId,
      format: first.message.format,
      row: row.application,
      now: this.#nowMs(),
      messages: claiming.taken.map(({ message, moving, ...rest }) => ({
        stored: message.entry.stored,
        origin: message.entry.origin,
        ...rest,
        ...(request.early === true ? { moving } : {}),
      })),
    };
  }

  settle(
    { id, applicationId }: Claim,
    verdicts: readonly (Verdict | Moved)[],
    update: RowUpdate,
  ): Promise<'settled' | 'lost'> {
    return this.#end(applicationId, 'settled', (row) =>
      settle(row, id, { verdicts, update, nowMs: this.#nowMs() }),
    );
  }

  release({ id, applicationId }: Claim, update?: RowUpdate): Promise<'released' | 'lost'> {
    return this.#end(applicationId, 'released', (row) =>
      release(row, id, { update, nowMs: this.#nowMs() }),
    );
  }

  extend({ id, applicationId }: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    return this.#end(applicationId, 'extended', (row) =>
      extend(row, id, { leaseMs, nowMs: this.#nowMs() }),
    );
  }

  #end<T>(applicationId: string, word: T, change: (row: Row) => Row | undefined) {
    return this.#do((): T | 'lost' => {
      const row = this.#row(applicationId);
      const changed = row === undefined ? undefined : change(row);
      if (changed === undefined) return 'lost';
      this.#write(applicationId, changed);
      this.#ring();
      return word;
    });
  }

  expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return this.#do(() => {
      const beforeMs = this.#nowMs() - olderThanMs;
      const expired: ExpiredMessage[] = [];
      for (const id of this.#rows.keys()) {
        const row = this.#lapsed(id);
        const max = maxMessages - expired.length;
        const known = ends.olderThan(row, beforeMs, max);
        const fresh = this.#unknown(id, row).filter(({ storedMs }) => storedMs < beforeMs);
        expired.push(
          ...this.#bury(id, [...this.#at(known), ...fresh].slice(0, max), 'horizon-passed'),
        );
      }
      return expired;
    });
  }

  closeApplication(applicationId: string, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return this.#do(() => {
      const row = this.#row(applicationId) ?? newRow(this.#initial as ApplicationRow);
      this.#write(applicationId, ends.closed(row));
      const open = this.#lapsed(applicationId);
      const known = this.#at(ends.waitingOf(open, maxMessages));
      const waiting = [...known, ...this.#unknown(applicationId, open)];
      return this.#bury(applicationId, waiting.slice(0, maxMessages), 'destination-closed');
    });
  }

  #bury(applicationId: string, messages: readonly Stored[], reason: DeadReason): ExpiredMessage[] {
    const row = this.#row(applicationId) as Row;
    const { messages: page } = this.#fresh(applicationId, row);
    const nowMs = this.#nowMs();
    const after = ends.bury(row, { messages, reason, nowMs, page });
    this.#write(applicationId, after.row);
    return after.buried.map(({ entry }) => ({
      applicationId,
      messageId: entry.stored.messageId,
      origin: entry.origin,
    }));
  }

  application(applicationId: string): Promise<ApplicationRow | undefined> {
    return this.#do(() => this.#row(applicationId)?.application);
  }

  reopen(applicationId: string): Promise<void> {
    return this.#do(() => {
      const row = this.#row(applicationId);
      if (row === undefined) return;
      this.#write(applicationId, ends.reopened(row, this.#initial as ApplicationRow));
      this.#ring();
    });
  }

  deadLetters({
    limit,
    after = '0',
    ...filter
  }: DeadLetterFilter & { limit: number; after?: string }): Promise<DeadLetterPage> {
    return this.#do(() => {
      const found = this.#lettersOf(filter).filter(({ number }) => number > Number(after));
      const items = found.slice(0, limit).map(({ number: _n, entry: _e, ...letter }) => letter);
      const next = found.length > limit ? items.at(-1)?.id : undefined;
      return next === undefined ? { items } : { items, next };
    });
  }

  #lettersOf({ applicationId, ids }: DeadLetterFilter): Letter[] {
    this.#finishAll();
    return this.#letters.filter(
      (letter) =>
        (applicationId ?? letter.applicationId) === letter.applicationId &&
        (ids === undefined || ids.includes(letter.id)),
    );
  }

  replay(filter: DeadLetterFilter): Promise<number> {
    return this.#do(() => {
      const meant = this.#lettersOf(filter);
      const before = this.#letters.length;
      for (const { applicationId, number } of meant) {
        this.#write(applicationId, ends.revived(this.#row(applicationId) as Row, [number]));
      }
      this.#finishAll();
      return before - this.#letters.length;
    });
  }

  purge(filter: DeadLetterFilter, as: 'purged' | 'moved' = 'purged'): Promise<number> {
    return this.#do(() => {
      const meant = this.#lettersOf(filter);
      for (const { applicationId, number } of meant) {
        this.#write(applicationId, ends.purged(this.#row(applicationId) as Row, [number], as));
      }
      return meant.length;
    });
  }

  stats(): Promise<QueueStats> {
    return Promise.resolve().then(() => {
      this.#finishAll();
      const applications = new Map<string, ReturnType<typeof ledgerOf>>();
      const sum = { accepted: 0, delivered: 0, pending: 0, dead: 0 };
      const discarded: Record<string, number> = {};
      let oldestDueMs = 0;
      for (const id of this.#rows.keys()) {
        const row = this.#lapsed(id);
        const messages = this.#stream.filter(({ entry }) => entry.applicationId === id).length;
        const letters = this.#letters.filter(({ applicationId }) => applicationId === id).length;
        const ledger = ledgerOf(factsOf(row), { messages, letters });
        applications.set(id, ledger);
        for (const key of ['accepted', 'delivered', 'pending', 'dead'] as const)
          sum[key] += ledger[key];
        for (const [reason, count] of Object.entries(ledger.discarded))
          discarded[reason] = (discarded[reason] ?? 0) + count;
        const atMs = claimableAtMs(row, this.#told(id, row), this.#lingerMs);
        if (atMs !== undefined && row.claim === undefined)
          oldestDueMs = Math.max(oldestDueMs, this.#nowMs() - atMs);
      }
      const pendingBytes = size(this.#stream);
      return { ...sum, discarded, pendingBytes, oldestDueMs, applications };
    });
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  close() {
    this.#isClosed = true;
    const returned = this.#stream.map(({ entry }) => ({ ...entry, sends: 0 }));
    return Promise.resolve({ returned, left: 0 });
  }

  async #do<T>(work: () => T, mustBeOpen = true): Promise<T> {
    if (this.#isClosed || (mustBeOpen && this.#initial === undefined))
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    this.#calls += 1;
    if (this.#calls % 3 === 0) this.#finishAll();
    return work();
  }

  #row(applicationId: string): Row | undefined {
    const bytes = this.#rows.get(applicationId);
    return bytes === undefined ? undefined : decodeRow(bytes);
  }

  #lapsed(applicationId: string): Row {
    const row = this.#row(applicationId) as Row;
    const lapsed = lapse(row, this.#nowMs());
    if (lapsed !== row) this.#write(applicationId, lapsed);
    return lapsed;
  }

  #write(applicationId: string, row: Row): void {
    this.#rows.set(applicationId, encodeRow(row));
  }

  #fresh(applicationId: string, { cursor }: Row): Fresh<Stored> {
    const messages = this.#stream.filter(
      ({ sequence, entry }) => sequence > cursor && entry.applicationId === applicationId,
    );
    return { messages: messages.slice(0, 2000), waiting: messages.length };
  }

  #unknown(applicationId: string, row: Row): Stored[] {
    const known = knownOf(row);
    return this.#fresh(applicationId, row).messages.filter(({ sequence }) => !known.has(sequence));
  }

  #told(applicationId: string, row: Row) {
    const unknown = this.#unknown(applicationId, row);
    const [first] = unknown;
    return first && { firstMs: first.storedMs, waiting: unknown.length };
  }

  #at(sequences: readonly number[]): Stored[] {
    const bySequence = new Map(this.#stream.map((message) => [message.sequence, message]));
    return sequences.map((sequence) => bySequence.get(sequence) as Stored);
  }

  #addLetter(
    { applicationId, stored, origin, sizeBytes, ...entry }: QueueEntry,
    death: Pick<Letter, 'reason' | 'end' | 'sends' | 'diedAt' | 'acceptedAt'>,
  ): void {
    this.#numbers += 1;
    const named = { applicationId, stored, origin, sizeBytes };
    const number = this.#numbers;
    this.#letters.push({
      ...named,
      ...death,
      id: `${number}`,
      number,
      entry: { ...named, ...entry },
    });
  }

  #finishAll(): void {
    for (const id of this.#rows.keys()) {
      const row = this.#row(id) as Row;
      const followUp = ends.followUpOf(row);
      if (followUp === undefined) continue;
      const gone = new Set(followUp.garbage);
      for (const { places, sends, reason, end, diedMs } of followUp.dying) {
        for (const { sequence, acceptedMs } of places) {
          const [message] = this.#at([sequence]);
          const times = { diedAt: diedMs, acceptedAt: acceptedMs };
          this.#addLetter((message as Stored).entry, { sends, reason, end, ...times });
          gone.add(sequence);
        }
      }
      this.#stream = this.#stream.filter(({ sequence }) => !gone.has(sequence));
      const letters = new Set([...followUp.deadGarbage, ...followUp.reviving]);
      for (const { number, entry, sends } of this.#letters) {
        if (!followUp.reviving.includes(number)) continue;
        const past = { sends, ageMs: 0, dueInMs: 0, progress: null };
        this.#publish({ ...entry, origin: NOBODY }, past);
        this.#ring();
      }
      this.#letters = this.#letters.filter(({ number }) => !letters.has(number));
      this.#write(id, ends.done(row, followUp));
    }
  }

  #ring(): void {
    for (const listener of this.#listeners) listener();
  }
}
