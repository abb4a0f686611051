import type { ApplicationState, ApplicationUpdate, DiscardReason, Ledger } from '../queue.ts';
import { DueOrder } from './due-order.ts';
import type { Taken } from './taken.ts';
import { nowhere } from './turns.ts';

export interface LiveClaim {
  readonly id: string;
  readonly application: Application;
  readonly taken: Taken;
  endsAtMs: number;
}

/** One application: its state, its waiting and claimed messages, and what became of the others. */
export class Application {
  readonly id: string;
  readonly waiting = new DueOrder();
  readonly place = nowhere();
  readonly counts = { accepted: 0, delivered: 0, dead: 0 };
  state: ApplicationState;
  claim: LiveClaim | undefined;
  /** Nothing may be claimed before. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  readonly #discarded: Partial<Record<DiscardReason, number>> = {};

  constructor(id: string, state: ApplicationState) {
    this.id = id;
    this.state = state;
  }

  get notBeforeMs(): number {
    return this.#notBeforeMs;
  }

  get isClosed(): boolean {
    return this.state.tier === 'closed';
  }

  /** Writes what a claim leaves behind. It does not open a closed application: only `reopen` does. */
  write(update: ApplicationUpdate, notBeforeMs: number): void {
    const { tier, maxMessages, maxBytes, circuitBreaker } = update;
    this.state = { tier: this.isClosed ? 'closed' : tier, maxMessages, maxBytes, circuitBreaker };
    this.#notBeforeMs = notBeforeMs;
  }

  close(): void {
    this.state = { ...this.state, tier: 'closed' };
  }

  reopen(state: ApplicationState): void {
    this.state = state;
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
  }

  /** Makes delayed messages due once as many messages wait as one claim may have. */
  endDelaysIfFull(nowMs: number): void {
    if (this.waiting.size >= this.state.maxMessages) this.waiting.endDelays(nowMs);
  }

  /** When something of it can be claimed; `undefined` while nothing can, whatever the time. */
  claimableAtMs(): number | undefined {
    // A claim blocks the whole application. Its messages are due again when the lease is over.
    if (this.claim !== undefined) return this.claim.endsAtMs;
    const first = this.waiting.first();
    if (first === undefined || this.isClosed) return undefined;
    return Math.max(first.dueMs, this.#notBeforeMs);
  }

  discard(reason: DiscardReason): void {
    this.#discarded[reason] = (this.#discarded[reason] ?? 0) + 1;
  }

  ledger(): Ledger {
    const pending = this.waiting.size + (this.claim?.taken.size ?? 0);
    return { ...this.counts, pending, discarded: { ...this.#discarded } };
  }
}
