/**
 * Adds facts about addresses from the user's enrichers. An enricher never delays or loses an event: if it
 * throws, rejects, is slow or returns invalid facts, only its own facts are missing, and the failure is
 * counted and reported.
 */
import { A_FUNCTION, check, integer, invalidOption, listOf, usable } from '../../option-rules.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { isPromiseLike } from '../../runtime/is-promise-like.ts';
import { untraced } from '../../runtime/untraced.ts';
import { type AddressEnrichment, noFacts, readEnrichment } from './enrichment.ts';
import { EnrichmentCache } from './enrichment-cache.ts';

/**
 * Returns facts of a normalised address (`203.0.113.9`, `2001:db8::1`), or `undefined` if it knows none.
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
  /** It returned an invalid fact, such as half a `geo`; its other facts count. */
  | 'nonsense'
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

export interface EnrichmentOptions {
  /** Called in this order. The first `geo` and `datacenter` count; a flag is set if any enricher sets it. */
  readonly enrichers: readonly Enricher[];
  /**
   * Called with the first failure of each kind of each enricher, outside any request; `stats()` counts all
   * of them.
   */
  readonly onFailure?: (failure: EnricherFailure) => void;
  /** Maximum number of cached addresses for each asynchronous enricher. 1 to 1,000,000; default 10,000. */
  readonly maxCached?: number;
  /** Time for which facts are cached, in milliseconds. 1 to 2,147,483,647; default 3,600,000 (an hour). */
  readonly cachedMs?: number;
  /** Default: the system's. */
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

export interface Enrichment {
  /** Returns the facts that are known now. Never throws. */
  readonly factsOf: (address: string) => AddressEnrichment;
  /** Returns the number of failures so far, for each enricher in order. */
  readonly stats: () => readonly Readonly<Record<EnricherFault, number>>[];
}

const RULES = {
  enrichers: listOf('functions', (value) => typeof value === 'function'),
  onFailure: A_FUNCTION,
  maxCached: integer(1, 1_000_000),
  cachedMs: integer(1, 2 ** 31 - 1),
  clock: usable('a clock', (value) => typeof value === 'object' && value !== null),
};

/** @throws SecurityEventError `ERR_INVALID_OPTION` */
export function createEnrichment(options: EnrichmentOptions): Enrichment {
  const checked = check<EnrichmentOptions>(options, RULES);
  const { maxCached = 10_000, cachedMs = 3_600_000, clock = systemClock } = checked;
  if (checked.enrichers === undefined) throw invalidOption('expected enrichers', ['enrichers']);
  const sources = checked.enrichers.map((enricher, index) => {
    const failures = new Failures(index, checked.onFailure);
    const cache = new EnrichmentCache({ maxCached, cachedMs, clock }, failures);
    return { enricher, failures, cache };
  });
  return {
    factsOf: (address) => {
      const facts = noFacts();
      for (const source of sources) add(facts, lookUp(source, address));
      return facts;
    },
    stats: () => sources.map(({ failures }) => ({ ...failures.counts })),
  };
}

interface Source {
  readonly enricher: Enricher;
  readonly failures: Failures;
  readonly cache: EnrichmentCache;
}

const lookUp = (source: Source, address: string): AddressEnrichment =>
  source.cache.get(address) ?? untraced(() => callEnricher(source, address));

function callEnricher({ enricher, failures, cache }: Source, address: string): AddressEnrichment {
  try {
    const given: unknown = enricher(address);
    if (isPromiseLike(given)) {
      cache.await(address, given);
      return noFacts();
    }
    return failures.read(given);
  } catch (error) {
    failures.report('failed', error);
    return noFacts();
  }
}

function add(facts: AddressEnrichment, more: AddressEnrichment): void {
  if (more.proxy === true) facts.proxy = true;
  if (more.tor === true) facts.tor = true;
  if (more.vpn === true) facts.vpn = true;
  if (more.geo !== undefined) facts.geo ??= more.geo;
  if (more.datacenter !== undefined) facts.datacenter ??= more.datacenter;
}

/** Counts the failures of one enricher, and reports the first of each kind. */
class Failures {
  readonly counts: Record<EnricherFault, number> = { failed: 0, nonsense: 0, slow: 0, skipped: 0 };
  readonly #index: number;
  readonly #onFailure: EnrichmentOptions['onFailure'];

  constructor(index: number, onFailure: EnrichmentOptions['onFailure']) {
    this.#index = index;
    this.#onFailure = onFailure;
  }

  report(fault: EnricherFault, error?: unknown): void {
    this.counts[fault] += 1;
    if (this.counts[fault] > 1) return;
    const failure = { index: this.#index, fault };
    try {
      untraced(() => this.#onFailure?.(fault === 'failed' ? { ...failure, error } : failure));
    } catch {
      // An error of the host's listener must not cost the event.
    }
  }

  read(given: unknown): AddressEnrichment {
    const { facts, isSound } = readEnrichment(given);
    if (!isSound) this.report('nonsense');
    return facts;
  }
}
