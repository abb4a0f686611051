import { nowhere, type TurnTaker } from '../in-process/turns.ts';
import type { ApplicationRow, DiscardReason, Json, Ledger, RowUpdate } from './old-contract.ts';
import { earlier, type Tally } from './tally.ts';
import type { Content } from './values.ts';

/** A message in memory: while it is claimed, or on its way to somewhere else. */
export interface TakenMessage {
  readonly content: Content;
  readonly sequence: number;
  readonly dueMs: number;
  readonly sends: number;
  readonly maxMessages: number | undefined;
  readonly progress: Json | null;
  /** It has a row among those that wait again. */
  readonly isAgain: boolean;
  readonly isBrought: boolean;
}

export interface LiveClaim {
  readonly id: string;
  readonly application: LevelApplication;
  /** Empty while they are being read. */
  messages: readonly TakenMessage[];
  /** Where the first of them that had not been claimed before lay, and behind the last one. */
  fresh: { readonly from: number; readonly to: number };
  endsAtMs: number;
  /** Its beginning is in the store: whoever asked for it has it. */
  isHandedOut: boolean;
  /** Its end is being written: it cannot be used any more. */
  isEnding: boolean;
  /** Its messages are neither among those that wait nor over. */
  isCounted: boolean;
}

/** When the first of what was left by a reading is due, and the age of what waits again where that was read. */
export interface Left {
  readonly freshDueMs: number | undefined;
  readonly againDueMs: number | undefined;
  readonly againOldestMs?: number | undefined;
}

/** What an application begins with; `open` may change it. */
export interface Defaults {
  row: ApplicationRow;
  lingerMs: number;
}

/** An application as the store keeps it. What is missing of times is not known, or not there. */
interface Incoming {
  readonly dueMs: number | undefined;
  readonly oldestMs: number | undefined;
}

const NONE: Incoming = { dueMs: undefined, oldestMs: undefined };

export interface StoredApplication {
  readonly id: string;
  /** `null`: nothing was settled for it, nor was it closed. */
  readonly row: ApplicationRow | null;
  readonly notBeforeMs: number;
  /** The next sequence, and the first that may not have been claimed. */
  readonly tail: number;
  readonly head: number;
  readonly freshCount: number;
  readonly againCount: number;
  readonly freshDueMs?: number;
  readonly againDueMs?: number;
  readonly againOldestMs?: number;
  readonly pendingBytes: number;
  readonly deadBytes: number;
  readonly accepted: number;
  readonly delivered: number;
  readonly dead: number;
  readonly discarded: Readonly<Partial<Record<DiscardReason, number>>>;
}

/** One application: its row, what waits of it and where, and what became of the rest. */
export class LevelApplication implements TurnTaker {
  readonly id: string;
  readonly number: number;
  readonly place = nowhere();
  readonly counts: { accepted: number; delivered: number; dead: number };
  readonly #defaults: Defaults;
  readonly #discarded: Partial<Record<DiscardReason, number>>;
  #row: ApplicationRow | null;
  #notBeforeMs: number;
  #lock: Promise<unknown> = Promise.resolve();
  claim: LiveClaim | undefined;
  tail: number;
  head: number;
  /** Below it every sequence that was given is in the store. */
  committedTail: number;
  freshCount: number;
  againCount: number;
  /** When the first one that has not been claimed was due, which is when it was accepted. */
  freshDueMs: number | undefined;
  againDueMs: number | undefined;
  /** None that waits again was accepted before. */
  againOldestMs: number | undefined;
  pendingBytes: number;
  deadBytes: number;
  /** Raised when the store has more of it: what was being read then may have missed that. */
  arrivals = 0;
  /** Of what another queue brings, and the store does not have yet: none is due or was accepted before. */
  #incoming: Incoming = NONE;
  /** Its messages could not be read: others have their turns meanwhile. */
  unreadableUntilMs = 0;

  constructor(number: number, stored: StoredApplication, defaults: Defaults) {
    this.number = number;
    this.#defaults = defaults;
    this.id = stored.id;
    this.#row = stored.row;
    this.#notBeforeMs = stored.notBeforeMs;
    this.tail = stored.tail;
    this.head = stored.head;
    this.committedTail = stored.tail;
    this.freshCount = stored.freshCount;
    this.againCount = stored.againCount;
    // Unknown, where a row was written between two steps: to be looked at.
    this.freshDueMs = stored.freshDueMs ?? (stored.freshCount > 0 ? 0 : undefined);
    this.againDueMs = stored.againDueMs ?? (stored.againCount > 0 ? 0 : undefined);
    this.againOldestMs = stored.againOldestMs ?? (stored.againCount > 0 ? 0 : undefined);
    this.pendingBytes = stored.pendingBytes;
    this.deadBytes = stored.deadBytes;
    this.counts = { accepted: stored.accepted, delivered: stored.delivered, dead: stored.dead };
    this.#discarded = { ...stored.discarded };
  }

  stored(): StoredApplication {
    const { id, tail, head, freshCount, againCount, pendingBytes, deadBytes } = this;
    // What is incoming is in the store once this row is.
    const againDueMs = earlier(this.againDueMs, this.#incoming.dueMs);
    const againOldestMs = earlier(this.againOldestMs, this.#incoming.oldestMs);
    return {
      id,
      row: this.#row,
      notBeforeMs: this.#notBeforeMs,
      tail,
      head,
      freshCount,
      againCount,
      ...(this.freshDueMs === undefined ? {} : { freshDueMs: this.freshDueMs }),
      ...(againDueMs === undefined ? {} : { againDueMs }),
      ...(againOldestMs === undefined ? {} : { againOldestMs }),
      pendingBytes,
      deadBytes,
      ...this.counts,
      discarded: this.#discarded,
    };
  }

  /** See {@link TurnTaker}. */
  get state(): ApplicationRow {
    return this.row;
  }

  get row(): ApplicationRow {
    return this.#row ?? this.#defaults.row;
  }

  get isClosed(): boolean {
    return this.row.tier === 'closed';
  }

  /** Neither claimed nor over. */
  get waiting(): number {
    return this.freshCount + this.againCount;
  }

  /** What a claim leaves behind does not open what was closed meanwhile: that is `reopen`'s alone. */
  write({ tier, maxMessages, maxBytes, lane }: RowUpdate, notBeforeMs: number): void {
    this.#row = { tier: this.isClosed ? 'closed' : tier, maxMessages, maxBytes, lane };
    this.#notBeforeMs = notBeforeMs;
  }

  close(): void {
    this.#row = { ...this.row, tier: 'closed' };
  }

  reopen(): void {
    this.#row = null;
    this.#notBeforeMs = 0;
  }

  /** See {@link TurnTaker}. */
  claimableAtMs(): number | undefined {
    if (this.claim !== undefined) return this.claim.isEnding ? undefined : this.claim.endsAtMs;
    const dueMs = earlier(this.freshDueMs, this.againDueMs);
    if (dueMs === undefined || this.isClosed) return undefined;
    const lingerMs = this.waiting < this.row.maxMessages ? this.#defaults.lingerMs : 0;
    return Math.max(dueMs + lingerMs, this.#notBeforeMs, this.unreadableUntilMs);
  }

  /** On its way from another queue: it is not to be looked for before it has arrived. */
  comesIn(count: number, { dueMs, oldestMs }: Required<Incoming>): void {
    this.againCount += count;
    this.#incoming = {
      dueMs: earlier(this.#incoming.dueMs, dueMs),
      oldestMs: earlier(this.#incoming.oldestMs, oldestMs),
    };
  }

  /** The store has all below `tail` now. */
  arrived(tail: number, nowMs: number): void {
    this.arrivals += 1;
    this.committedTail = Math.max(this.committedTail, tail);
    if (this.freshCount > 0) this.freshDueMs ??= nowMs;
    this.againDueMs = earlier(this.againDueMs, this.#incoming.dueMs);
    this.againOldestMs = earlier(this.againOldestMs, this.#incoming.oldestMs);
    if (this.committedTail === this.tail) this.#incoming = NONE;
  }

  /**
   * Of what is left. Where something arrived while that was read, it is to be looked at again, and
   * what was known of it stays true: a time that is too late hides it for good.
   */
  setDue(
    left: Left,
    { arrivals, nowMs }: { readonly arrivals: number; readonly nowMs: number },
  ): void {
    const isAll = this.arrivals === arrivals;
    this.freshDueMs = left.freshDueMs ?? (isAll ? undefined : nowMs);
    this.againDueMs = isAll ? left.againDueMs : earlier(left.againDueMs, this.againDueMs);
    if (!('againOldestMs' in left)) return;
    const { againOldestMs } = left;
    this.againOldestMs = isAll ? againOldestMs : earlier(againOldestMs, this.againOldestMs);
  }

  add(tally: Tally): void {
    this.counts.delivered += tally.delivered;
    this.counts.dead += tally.dead;
    this.freshCount += tally.fresh;
    this.againCount += tally.again;
    this.pendingBytes += tally.pendingBytes;
    this.deadBytes += tally.deadBytes;
    this.freshDueMs = earlier(this.freshDueMs, tally.freshDueMs);
    this.againDueMs = earlier(this.againDueMs, tally.againDueMs);
    this.againOldestMs = earlier(this.againOldestMs, tally.againOldestMs);
    for (const [reason, count] of tally.discarded) this.discard(reason, count);
  }

  discard(reason: DiscardReason, count = 1): void {
    this.#discarded[reason] = (this.#discarded[reason] ?? 0) + count;
  }

  ledger(): Ledger {
    const claimed = this.claim?.isCounted === true ? this.claim.messages.length : 0;
    const pending = this.waiting + claimed;
    return { ...this.counts, pending, discarded: { ...this.#discarded } };
  }

  /** One after the other: what reads what waits, and writes it, sees no half of another such call. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#lock;
    const running = before.then(work, work);
    this.#lock = running.catch(() => {});
    return await running;
  }
}

export const newApplication = (id: string): StoredApplication => ({
  id,
  row: null,
  notBeforeMs: 0,
  tail: 1,
  head: 1,
  freshCount: 0,
  againCount: 0,
  pendingBytes: 0,
  deadBytes: 0,
  accepted: 0,
  delivered: 0,
  dead: 0,
  discarded: {},
});
