import { nowhere } from '../in-process/turns.ts';
import type { ApplicationRow, DiscardReason, Ledger, RowUpdate } from '../queue.ts';
import { DueOrder } from './due-order.ts';
import type { Taken } from './taken.ts';

export interface LiveClaim {
  readonly id: string;
  readonly application: Application;
  readonly taken: Taken;
  endsAtMs: number;
}

/** One application: its row, what waits and what is claimed of it, and what became of the rest. */
export class Application {
  readonly id: string;
  readonly waiting = new DueOrder();
  readonly place = nowhere();
  readonly counts = { accepted: 0, delivered: 0, dead: 0 };
  row: ApplicationRow;
  claim: LiveClaim | undefined;
  /** How long what waits is left to wait for company, unless a claim is full. */
  readonly #lingerMs: number;
  /** Nothing may be claimed before. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  readonly #discarded: Partial<Record<DiscardReason, number>> = {};

  constructor(id: string, row: ApplicationRow, lingerMs: number) {
    this.id = id;
    this.row = row;
    this.#lingerMs = lingerMs;
  }

  get isClosed(): boolean {
    return this.row.tier === 'closed';
  }

  /** What a claim leaves behind does not open what was closed meanwhile: that is `reopen`'s alone. */
  write({ tier, maxMessages, maxBytes, lane }: RowUpdate, notBeforeMs: number): void {
    this.row = { tier: this.isClosed ? 'closed' : tier, maxMessages, maxBytes, lane };
    this.#notBeforeMs = notBeforeMs;
  }

  close(): void {
    this.row = { ...this.row, tier: 'closed' };
  }

  reopen(row: ApplicationRow): void {
    this.row = row;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** When something of it can be claimed; `undefined` while nothing can, whatever the time. */
  claimableAtMs(): number | undefined {
    // A claim blocks all of it, of which what was claimed is due again when its lease is over.
    if (this.claim !== undefined) return this.claim.endsAtMs;
    const first = this.waiting.first();
    if (first === undefined || this.isClosed) return undefined;
    const lingerMs = this.waiting.size < this.row.maxMessages ? this.#lingerMs : 0;
    return Math.max(first.dueMs + lingerMs, this.#notBeforeMs);
  }

  discard(reason: DiscardReason): void {
    this.#discarded[reason] = (this.#discarded[reason] ?? 0) + 1;
  }

  ledger(): Ledger {
    const pending = this.waiting.size + (this.claim?.taken.size ?? 0);
    return { ...this.counts, pending, discarded: { ...this.#discarded } };
  }
}
