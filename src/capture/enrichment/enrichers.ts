/**
 * What else is known of an address, from sources that the user names. A source never delays or loses
 * an event: one that throws, rejects, or answers late or nonsense costs its own facts alone, and is
 * counted and told.
 */

import { A_FUNCTION, check, integer, invalidOption, listOf, usable } from '../../option-rules.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { untraced } from '../../runtime/untraced.ts';
import { type AddressEnrichment, noFacts, readEnrichment } from './enrichment.ts';
import { LateAnswers } from './late-answers.ts';

/**
 * Facts of an address, which is spelt as in the contract (`203.0.113.9`, `2001:db8::1`); `undefined`
 * where nothing is known. A look-up in memory answers at once. A promise is not waited for: an event
 * is written without its facts, and what it resolves with is kept for the later events of the same
 * address. What runs long without a promise holds up the host as any code does.
 *
 * What it finds is of the address, and serves later requests too, so it is called in nobody's request:
 * in no store of an AsyncLocalStorage, with tracing suppressed, and what it might report is no event.
 */
export type Enricher = (
  address: string,
) => AddressEnrichment | undefined | PromiseLike<AddressEnrichment | undefined>;

export type EnricherFault =
  /** It threw or rejected. */
  | 'failed'
  /** It gave something that is no fact, such as half a `geo`; its other facts count. */
  | 'nonsense'
  /** A promise that had not settled after 30 s; the address may be asked for again. */
  | 'slow'
  /** Not asked, since 100 of its promises were open. */
  | 'skipped';

export interface EnricherFailure {
  /** Which of `enrichers`, from 0. */
  readonly index: number;
  readonly fault: EnricherFault;
  /** What it threw or rejected with, for `failed` alone. */
  readonly error?: unknown;
}

export interface EnrichmentOptions {
  /** Asked in this order: of `geo` and `datacenter` the first counts, a flag that one sets is set. */
  readonly enrichers: readonly Enricher[];
  /**
   * Told of the first failure of each kind of each enricher; the rest is counted in `stats()`. Called
   * as enrichers are, in nobody's request.
   */
  readonly onFailure?: (failure: EnricherFailure) => void;
  /** Late answers that are kept, for each enricher. 1 to 1,000,000; default 10,000 addresses. */
  readonly maxCached?: number;
  /** How long a late answer counts, in milliseconds. 1 to 2,147,483,647; default an hour. */
  readonly cachedMs?: number;
  /** Default: the system's. */
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

export interface Enrichment {
  /** What is known now, at once. Never throws. */
  readonly factsOf: (address: string) => AddressEnrichment;
  /** Failures since the start, for each enricher in its place. */
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
    return { enricher, failures, late: new LateAnswers({ maxCached, cachedMs, clock }, failures) };
  });
  return {
    factsOf: (address) => {
      const facts = noFacts();
      for (const source of sources) add(facts, ask(source, address));
      return facts;
    },
    stats: () => sources.map(({ failures }) => ({ ...failures.counts })),
  };
}

interface Source {
  readonly enricher: Enricher;
  readonly failures: Failures;
  readonly late: LateAnswers;
}

const ask = (source: Source, address: string): AddressEnrichment =>
  source.late.answerOf(address) ?? untraced(() => askNow(source, address));

function askNow({ enricher, failures, late }: Source, address: string): AddressEnrichment {
  try {
    const given: unknown = enricher(address);
    if (isThenable(given)) {
      late.await(address, given);
      return noFacts();
    }
    return failures.read(given);
  } catch (error) {
    failures.tell('failed', error);
    return noFacts();
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';

function add(facts: AddressEnrichment, more: AddressEnrichment): void {
  if (more.proxy === true) facts.proxy = true;
  if (more.tor === true) facts.tor = true;
  if (more.vpn === true) facts.vpn = true;
  if (more.geo !== undefined) facts.geo ??= more.geo;
  if (more.datacenter !== undefined) facts.datacenter ??= more.datacenter;
}

/** Of one enricher: counts each failure, tells the first of each kind. */
class Failures {
  readonly counts: Record<EnricherFault, number> = { failed: 0, nonsense: 0, slow: 0, skipped: 0 };
  readonly #index: number;
  readonly #onFailure: EnrichmentOptions['onFailure'];

  constructor(index: number, onFailure: EnrichmentOptions['onFailure']) {
    this.#index = index;
    this.#onFailure = onFailure;
  }

  tell(fault: EnricherFault, error?: unknown): void {
    this.counts[fault] += 1;
    if (this.counts[fault] > 1) return;
    const failure = { index: this.#index, fault };
    try {
      untraced(() => this.#onFailure?.(fault === 'failed' ? { ...failure, error } : failure));
    } catch {
      // The listener is the host's; an event must not be lost for it.
    }
  }

  read(given: unknown): AddressEnrichment {
    const { facts, isSound } = readEnrichment(given);
    if (!isSound) this.tell('nonsense');
    return facts;
  }
}
