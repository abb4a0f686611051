/** Caches the results of an asynchronous enricher for later events of the same address. */
import type { Clock } from '../../runtime/clock.ts';
import { type AddressEnrichment, noFacts } from './enrichment.ts';

/** Maximum pending promises of one enricher. */
const MAX_PENDING = 100;
/** A promise that has not settled after this no longer counts as pending. */
const SLOW_AFTER_MS = 30_000;
/** After a rejection the enricher is not called for that address for this long. */
const REJECTED_MS = 60_000;

interface Entry {
  readonly facts: AddressEnrichment;
  readonly untilMs: number;
}

interface Failures {
  readonly report: (fault: 'failed' | 'slow' | 'skipped', error?: unknown) => void;
  readonly read: (given: unknown) => AddressEnrichment;
}

interface CacheLimits {
  readonly maxCached: number;
  readonly cachedMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export class EnrichmentCache {
  readonly #limits: CacheLimits;
  readonly #failures: Failures;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** When each look-up began, oldest first. */
  readonly #pending = new Map<string, number>();

  constructor(limits: CacheLimits, failures: Failures) {
    this.#limits = limits;
    this.#failures = failures;
  }

  /** Returns the facts to use now, or `undefined` if the enricher must be called. */
  get(address: string): AddressEnrichment | undefined {
    const now = this.#limits.clock.monotonicMs();
    this.#dropSlow(now);
    if (this.#pending.has(address)) return noFacts();
    const entry = this.#entries.get(address);
    if (entry !== undefined) {
      this.#entries.delete(address);
      if (entry.untilMs > now) {
        this.#entries.set(address, entry);
        return entry.facts;
      }
    }
    if (this.#pending.size < MAX_PENDING) return undefined;
    this.#failures.report('skipped');
    return noFacts();
  }

  await(address: string, promise: PromiseLike<unknown>): void {
    this.#pending.set(address, this.#limits.clock.monotonicMs());
    Promise.resolve(promise)
      .then((given) => this.#set(address, this.#failures.read(given), this.#limits.cachedMs))
      .catch((error: unknown) => {
        this.#failures.report('failed', error);
        this.#set(address, noFacts(), REJECTED_MS);
      });
  }

  #set(address: string, facts: AddressEnrichment, forMs: number): void {
    this.#pending.delete(address);
    this.#entries.delete(address);
    this.#entries.set(address, { facts, untilMs: this.#limits.clock.monotonicMs() + forMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxCached) return;
      this.#entries.delete(oldest);
    }
  }

  #dropSlow(now: number): void {
    for (const [address, askedAt] of this.#pending) {
      if (now - askedAt < SLOW_AFTER_MS) return;
      this.#pending.delete(address);
      this.#failures.report('slow');
    }
  }
}
