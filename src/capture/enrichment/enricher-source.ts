/** Calls one enricher: caches the results of promises for later events of an address, and counts failures. */
import { BoundedMap } from '../../runtime/bounded-map.ts';
import type { Clock } from '../../runtime/clock.ts';
import { isPromiseLike } from '../../runtime/host-calls.ts';
import { untraced } from '../../runtime/untraced.ts';
import { type AddressEnrichment, noFacts, readEnrichment } from './enrichment.ts';

/**
 * Returns facts of a normalised address (`203.0.113.9`, `2001:db8::1`), or `undefined` if there are none.
 * A promise is not awaited: the event is written without its facts, which are cached for later events of
 * the same address. Slow synchronous code blocks the host.
 *
 * Called outside the request's async context, with tracing suppressed, since its facts also serve later
 * requests. Events that it reports are ignored.
 */
export type Enricher = (
  address: string,
) => AddressEnrichment | undefined | PromiseLike<AddressEnrichment | undefined>;

export type EnricherFault =
  /** It threw or rejected. */
  | 'failed'
  /** It returned an invalid fact, such as half a `geo`; its other facts are used. */
  | 'invalid'
  /** A promise did not settle within 30 s; the address may be looked up again. */
  | 'slow'
  /** Not called, because 100 of its promises were pending. */
  | 'skipped';

export interface EnricherFailure {
  /** Index in `enrichers`. */
  readonly index: number;
  readonly fault: EnricherFault;
  /** For `failed`: what it threw or rejected with. */
  readonly error?: unknown;
}

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

interface SourceOptions {
  readonly maxCached: number;
  readonly cachedMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly onFailure: (failure: Omit<EnricherFailure, 'index'>) => void;
}

export class EnricherSource {
  readonly counts: Record<EnricherFault, number> = { failed: 0, invalid: 0, slow: 0, skipped: 0 };
  readonly #enricher: Enricher;
  readonly #options: SourceOptions;
  /** Least recently used first. */
  readonly #cache: BoundedMap<string, Entry>;
  /** When each look-up began, oldest first. */
  readonly #pending = new Map<string, number>();

  constructor(enricher: Enricher, options: SourceOptions) {
    this.#enricher = enricher;
    this.#options = options;
    this.#cache = new BoundedMap(options.maxCached);
  }

  /** Returns the facts that are known now. Never throws. */
  factsOf(address: string): AddressEnrichment {
    const now = this.#options.clock.monotonicMs();
    this.#dropSlow(now);
    if (this.#pending.has(address)) return noFacts();
    const entry = this.#cache.get(address);
    if (entry !== undefined && entry.untilMs > now) {
      this.#cache.set(address, entry);
      return entry.facts;
    }
    if (this.#pending.size < MAX_PENDING) {
      // `bind`, since a function of our own would be one more frame in stack traces of errors.
      return untraced(this.#call.bind(this, address));
    }
    this.#report('skipped');
    return noFacts();
  }

  #call(address: string): AddressEnrichment {
    try {
      const given: unknown = this.#enricher(address);
      if (!isPromiseLike(given)) return this.#read(given);
      this.#await(address, given);
    } catch (error) {
      this.#report('failed', error);
    }
    return noFacts();
  }

  #await(address: string, promise: PromiseLike<unknown>): void {
    this.#pending.set(address, this.#options.clock.monotonicMs());
    Promise.resolve(promise)
      .then((given) => this.#set(address, this.#read(given), this.#options.cachedMs))
      .catch((error: unknown) => {
        this.#report('failed', error);
        this.#set(address, noFacts(), REJECTED_MS);
      });
  }

  #set(address: string, facts: AddressEnrichment, forMs: number): void {
    this.#pending.delete(address);
    this.#cache.set(address, { facts, untilMs: this.#options.clock.monotonicMs() + forMs });
  }

  #dropSlow(now: number): void {
    for (const [address, startedAt] of this.#pending) {
      if (now - startedAt < SLOW_AFTER_MS) return;
      this.#pending.delete(address);
      this.#report('slow');
    }
  }

  #read(given: unknown): AddressEnrichment {
    const { facts, isSound } = readEnrichment(given);
    if (!isSound) this.#report('invalid');
    return facts;
  }

  /** Counts each failure, and reports the first of each kind. */
  #report(fault: EnricherFault, error?: unknown): void {
    this.counts[fault] += 1;
    if (this.counts[fault] > 1) return;
    try {
      untraced(() => this.#options.onFailure(fault === 'failed' ? { fault, error } : { fault }));
    } catch {
      // An error of the host's listener must not cost the event.
    }
  }
}
