/** What this process knows of an application: its row, and what lies behind the row's cursor. */

import type { SecurityEventError } from '../../errors.ts';
import { nowhere, type TurnTaker } from '../in-process/turns.ts';
import type { ApplicationRow } from '../queue.ts';
import type { Message } from './envelope.ts';
import { applicationIdOf } from './names.ts';
import { knownOf, newRow, type Row } from './row.ts';
import { claimableAtMs, type FreshTold } from './row-due.ts';
import type { FollowUp } from './row-ends.ts';
import { lapse } from './row-settle.ts';

/** More than so many are not kept in mind: they are read again once these are claimed. */
export const MAX_FRESH = 4000;

/** A call that is not wholly stored after so long never will be: what is there of it is given. */
const CALL_MS = 60_000;

/** Stands for the claim that is being made. */
const BUSY = Object.freeze({});

export interface Surroundings {
  /** The server's time. */
  readonly now: () => number;
  readonly initial: () => { readonly row: ApplicationRow; readonly lingerMs: number };
}

export class View implements TurnTaker {
  readonly place = nowhere();
  readonly token: string;
  readonly applicationId: string;
  readonly #surroundings: Surroundings;
  /** 0: it was never written. */
  revision = 0;
  rowBytes = 0;
  isBusy = false;
  /** Its row cannot be read: a newer release wrote it, or it is damaged. Until another one is written nothing is claimed. */
  unreadable: SecurityEventError | undefined;
  /** The highest sequence that came in, whether it was kept in mind or not. */
  seen = 0;
  /** It looked ready, and was not: not to be asked again and again. */
  pausedUntilMs = 0;
  /** What this process has done of it already: written with the next change. */
  done: readonly FollowUp[] = [];
  /** Ascending, without a gap. */
  fresh: Message[] = [];
  /** Whether `fresh` is all that lies behind the cursor. */
  isWhole: boolean;
  #state: Row | undefined;
  #knownState: Row | undefined;
  #known: ReadonlySet<number> = new Set();
  /** Calls of which the last message has not come, by their ids: their first one. */
  #open = new Map<string, Message>();
  /** What has come while somebody looks. */
  #meanwhile: Message[] | undefined;

  constructor(token: string, surroundings: Surroundings, isWhole: boolean) {
    this.token = token;
    this.applicationId = applicationIdOf(token);
    this.#surroundings = surroundings;
    this.isWhole = isWhole;
  }

  get state(): Row {
    return this.#state ?? newRow(this.#surroundings.initial().row);
  }

  get row(): ApplicationRow {
    return this.state.application;
  }

  get claim(): object | undefined {
    if (this.isBusy) return BUSY;
    const { claim } = this.state;
    return claim !== undefined && claim.untilMs > this.#surroundings.now() ? claim : undefined;
  }

  claimableAtMs(): number | undefined {
    const isNobodys = this.isBusy || this.unreadable !== undefined;
    const atMs = isNobodys ? undefined : this.readyAtMs();
    return atMs === undefined ? undefined : Math.max(atMs, this.pausedUntilMs);
  }

  /** When something of it could be claimed, or its lease is over. */
  readyAtMs(): number | undefined {
    const { now, initial } = this.#surroundings;
    return claimableAtMs(lapse(this.state, now()), this.#told(), initial().lingerMs);
  }

  #told(): FreshTold | undefined {
    const { first, count } = this.#visible();
    if (first !== undefined) return { firstMs: first.storedMs, waiting: count };
    const hidden = this.isWhole ? this.fresh[0] : undefined;
    // Who enqueued it may have ended: nothing more may come that would tell of it.
    if (hidden !== undefined) return { firstMs: hidden.storedMs + CALL_MS, waiting: 0 };
    if (this.isWhole || this.fresh.length > 0) return undefined;
    // Nobody has looked: to be read once it is its turn.
    return { firstMs: 0, waiting: Number.POSITIVE_INFINITY };
  }

  get known(): ReadonlySet<number> {
    if (this.#knownState !== this.state) {
      this.#knownState = this.state;
      this.#known = knownOf(this.state);
    }
    return this.#known;
  }

  /** The row as it was written last; whether it is news. */
  written(row: Row, revision: number, bytes: number): boolean {
    if (revision <= this.revision) return false;
    this.#state = row;
    this.unreadable = undefined;
    this.revision = revision;
    this.rowBytes = bytes;
    this.pausedUntilMs = 0;
    this.#prune();
    return true;
  }

  #prune(): void {
    const { known } = this;
    const { cursor } = this.state;
    const fresh = this.fresh.filter(({ sequence }) => sequence > cursor && !known.has(sequence));
    if (fresh.length === this.fresh.length) return;
    this.#restart(fresh);
  }

  #restart(messages: readonly Message[]): void {
    this.fresh = [];
    this.#open = new Map();
    for (const message of messages) this.#append(message);
  }

  /** What came in; whether it may change when something can be claimed. */
  came(message: Message): boolean {
    this.#meanwhile?.push(message);
    this.seen = Math.max(this.seen, message.sequence);
    const last = this.fresh.at(-1)?.sequence ?? this.state.cursor;
    if (!this.isWhole || message.sequence <= last || this.known.has(message.sequence)) return false;
    if (this.fresh.length >= MAX_FRESH) {
      this.isWhole = false;
      return false;
    }
    this.pausedUntilMs = 0;
    this.#append(message);
    return true;
  }

  #append(message: Message): void {
    this.fresh.push(message);
    const { batch } = message;
    if (batch === undefined) return;
    if (batch.index === batch.count - 1) this.#open.delete(batch.id);
    else if (!this.#open.has(batch.id)) this.#open.set(batch.id, message);
  }

  /** What lies behind the cursor is about to be read. */
  looking(): void {
    this.#meanwhile = [];
  }

  /** What was read, and whether that is all: but for what has come since. */
  looked(messages: readonly Message[], isWhole: boolean): void {
    const { known } = this;
    const { cursor } = this.state;
    const came = this.#meanwhile ?? [];
    this.#meanwhile = undefined;
    this.isWhole = isWhole;
    this.#restart(messages.filter(({ sequence }) => sequence > cursor && !known.has(sequence)));
    if (isWhole) for (const message of came) this.came(message);
  }

  /** It could not be read. */
  lookedAway(): void {
    this.#meanwhile = undefined;
  }

  forget(sequences: ReadonlySet<number>): void {
    this.#restart(this.fresh.filter(({ sequence }) => !sequences.has(sequence)));
  }

  /** What lies before the first call that is not wholly stored. */
  visible(): readonly Message[] {
    const { count } = this.#visible();
    return count === this.fresh.length ? this.fresh : this.fresh.slice(0, count);
  }

  #visible(): { readonly first: Message | undefined; readonly count: number } {
    if (this.#open.size === 0 || !this.isWhole) {
      return { first: this.fresh[0], count: this.fresh.length };
    }
    const oldestMs = this.#surroundings.now() - CALL_MS;
    let end = Number.POSITIVE_INFINITY;
    for (const { sequence, storedMs } of this.#open.values()) {
      if (storedMs > oldestMs) end = Math.min(end, sequence);
    }
    if (end === Number.POSITIVE_INFINITY) return { first: this.fresh[0], count: this.fresh.length };
    const count = this.fresh.findIndex(({ sequence }) => sequence >= end);
    return { first: count === 0 ? undefined : this.fresh[0], count };
  }
}
