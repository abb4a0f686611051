/** What this process knows of an application: its row, and what lies behind the row's cursor. */

import type { SecurityEventError } from '../../errors.ts';
import { nowhere, type TurnTaker } from '../in-process/turns.ts';
import type { ApplicationRow } from '../queue.ts';
import type { Message } from './envelope.ts';
import { FreshMessages } from './fresh-messages.ts';
import type { FreshRoom, Keeper } from './fresh-room.ts';
import { KnownRow, type RowRoom } from './known-row.ts';
import { applicationIdOf } from './names.ts';
import { CALL_MS, type Looked } from './page.ts';
import { acceptedMsOf, newRow, type Row } from './row.ts';
import { type FreshTold, factsOf, type RowFacts, readyAtMs } from './row-due.ts';
import type { FollowUp } from './row-ends.ts';

/** Stands for the claim that is being made. */
const BUSY = Object.freeze({});

/** Stands for one that is out. */
const CLAIMED = Object.freeze({});

/** As much as a claim may have: so many messages, or of so many bytes. */
export interface Wanted {
  readonly messages: number;
  readonly bytes: number;
}

export interface Surroundings {
  /** The server's time. */
  readonly now: () => number;
  readonly initial: () => { readonly row: ApplicationRow; readonly lingerMs: number };
  readonly room: FreshRoom;
  readonly rowRoom: RowRoom;
}

export class View implements TurnTaker, Keeper {
  readonly place = nowhere();
  readonly token: string;
  readonly applicationId: string;
  readonly #surroundings: Surroundings;
  /** 0: it was never written. */
  revision = 0;
  isBusy = false;
  /** Its row cannot be read: a newer release wrote it, or it is damaged. Until another one is written nothing is claimed. */
  unreadable: SecurityEventError | undefined;
  /** The highest sequence that came in, whether it was kept in mind or not. */
  seen = 0;
  /** It looked ready, and was not: not to be asked again and again. */
  pausedUntilMs = 0;
  /** What this process has done of it already: written with the next change. */
  done: readonly FollowUp[] = [];
  readonly #fresh: FreshMessages;
  #row: KnownRow | undefined;
  /** What has come while somebody looks. */
  #meanwhile: Message[] | undefined;

  constructor(token: string, surroundings: Surroundings, isWhole: boolean) {
    this.token = token;
    this.applicationId = applicationIdOf(token);
    this.#surroundings = surroundings;
    this.#fresh = new FreshMessages(surroundings.room, isWhole);
  }

  /** Ascending, without a gap. */
  get fresh(): readonly Message[] {
    return this.#fresh.messages;
  }

  get kept(): number {
    return this.fresh.length;
  }

  /** Whether `fresh` is all that lies behind the cursor. */
  get isWhole(): boolean {
    return this.#fresh.isWhole;
  }

  /** Whether it is known what lies behind the cursor, so far. */
  knows({ messages, bytes }: Wanted): boolean {
    if (this.isWhole || this.kept >= messages) return true;
    let sum = 0;
    for (const { sizeBytes } of this.fresh) sum += sizeBytes;
    return sum >= bytes;
  }

  get state(): Row {
    return this.#row?.state ?? newRow(this.#surroundings.initial().row);
  }

  get rowBytes(): number {
    return this.#row?.bytes ?? 0;
  }

  /** Of the row, for which it is not read out. */
  get facts(): RowFacts {
    return this.#row?.facts ?? factsOf(this.state);
  }

  get row(): ApplicationRow {
    return this.#row?.facts.application ?? this.#surroundings.initial().row;
  }

  get cursor(): number {
    return this.#row?.cursor ?? 0;
  }

  get claim(): object | undefined {
    if (this.isBusy) return BUSY;
    const untilMs = this.#row?.facts.untilMs ?? 0;
    return untilMs > this.#surroundings.now() ? CLAIMED : undefined;
  }

  claimableAtMs(): number | undefined {
    const isNobodys = this.isBusy || this.unreadable !== undefined;
    const atMs = isNobodys ? undefined : this.readyAtMs();
    return atMs === undefined ? undefined : Math.max(atMs, this.pausedUntilMs);
  }

  /** When something of it could be claimed, or its lease is over. */
  readyAtMs(): number | undefined {
    const { now, initial } = this.#surroundings;
    return readyAtMs(this.facts, this.#told(), { lingerMs: initial().lingerMs, nowMs: now() });
  }

  #told(): FreshTold | undefined {
    const { first, count } = this.#visible();
    if (first !== undefined) return { firstMs: first.storedMs, waiting: this.waiting(count) };
    const hidden = this.fresh[0];
    // Who enqueued it may have ended: nothing more may come that would tell of it.
    if (hidden !== undefined) return { firstMs: hidden.storedMs + CALL_MS, waiting: 0 };
    if (this.isWhole) return undefined;
    // Nobody has looked: to be read once it is its turn.
    return { firstMs: 0, waiting: this.waiting(0) };
  }

  /** See {@link FreshMessages}. */
  waiting(visible: number): number {
    return this.#fresh.waiting(visible);
  }

  /** See {@link FreshMessages}. */
  get oldestBehindMs(): number {
    return this.#fresh.oldestBehindMs;
  }

  lookedFar(): void {
    this.#fresh.lookedFar();
  }

  /** Whether something of it may have been accepted before: for that its row is not read out. */
  mayHoldOlder(beforeMs: number): boolean {
    const { touched, claimed } = this.facts;
    const ms = Math.min(touched.acceptedMs, claimed.acceptedMs, this.oldestBehindMs);
    const isUnread = this.kept === 0 && !this.isWhole;
    return ms < beforeMs || isUnread || this.fresh.some((one) => acceptedMsOf(one) < beforeMs);
  }

  /** Whether the row knows it: it is fresh no more. */
  isKnown(sequence: number): boolean {
    return sequence <= this.cursor || this.#row?.knows(sequence) === true;
  }

  /** The row as it was written last; whether it is news. */
  written(row: Row, revision: number, bytes: Uint8Array): boolean {
    if (revision <= this.revision) return false;
    this.#row?.end();
    this.#row = new KnownRow(this.#surroundings.rowRoom, row, bytes);
    this.unreadable = undefined;
    this.revision = revision;
    this.pausedUntilMs = 0;
    this.#prune();
    return true;
  }

  #prune(): void {
    this.#fresh.keep((sequence) => !this.isKnown(sequence));
  }

  /** What came in; whether it may change when something can be claimed. */
  came(message: Message): boolean {
    this.#meanwhile?.push(message);
    this.seen = Math.max(this.seen, message.sequence);
    if (this.isKnown(message.sequence) || !this.#fresh.came(message)) return false;
    this.pausedUntilMs = 0;
    return true;
  }

  /** What lies behind the cursor is about to be read. */
  looking(): void {
    this.#meanwhile = [];
  }

  /** What was read: but for what has come since. */
  looked(page: Looked): void {
    const came = this.#meanwhile ?? [];
    this.#meanwhile = undefined;
    this.#fresh.replace(page);
    this.#prune();
    for (const message of came) this.came(message);
  }

  /** It could not be read. */
  lookedAway(): void {
    this.#meanwhile = undefined;
  }

  /** Whether the last message of a call is known to be stored, behind what is kept. */
  isEnded(call: string): boolean {
    return this.#fresh.isEnded(call);
  }

  /** See {@link FreshMessages}. */
  behind(count: number): readonly number[] {
    return this.#fresh.behind(count);
  }

  recall(sequences: readonly number[], found: readonly Message[]): void {
    this.#fresh.recall(
      sequences,
      found.filter(({ sequence }) => !this.isKnown(sequence)),
    );
  }

  keepOnly(count: number): void {
    this.#fresh.keepOnly(count);
  }

  forget(sequences: ReadonlySet<number>): void {
    this.#fresh.keep((sequence) => !sequences.has(sequence));
  }

  /** What lies before the first call that is not wholly stored. */
  visible(): readonly Message[] {
    const { count } = this.#visible();
    return count === this.kept ? this.fresh : this.fresh.slice(0, count);
  }

  #visible(): { readonly first: Message | undefined; readonly count: number } {
    const count = this.#fresh.visible(this.#surroundings.now() - CALL_MS);
    return { first: count === 0 ? undefined : this.fresh[0], count };
  }
}
