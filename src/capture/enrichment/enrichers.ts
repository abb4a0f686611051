/**
 * Adds facts about addresses from the user's enrichers. An enricher never delays or loses an event: if it
 * throws, rejects, is slow or returns invalid facts, only its own facts are missing, and the failure is
 * counted and reported.
 */
import {
  A_FUNCTION,
  integer,
  listOf,
  MAX_TIMER_MS,
  type OptionsOf,
  option,
  optional,
  readOptions,
  required,
} from '../../option-rules.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import {
  type Enricher,
  type EnricherFailure,
  type EnricherFault,
  EnricherSource,
} from './enricher-source.ts';
import { type AddressEnrichment, noFacts } from './enrichment.ts';

const OPTIONS = {
  enrichers: required<readonly Enricher[]>(
    listOf('functions', (value) => typeof value === 'function'),
  ),
  /**
   * Called with the first failure of each kind of each enricher, outside any request; `stats()` counts all
   * of them.
   */
  onFailure: optional<(failure: EnricherFailure) => void>(A_FUNCTION),
  /** Maximum number of cached addresses for each asynchronous enricher. 1 to 1,000,000; default 10,000. */
  maxCached: option<number>(integer(1, 1_000_000), 10_000),
  /** Time for which facts are cached, in milliseconds. 1 to 2,147,483,647; default 3,600,000 (an hour). */
  cachedMs: option<number>(integer(1, MAX_TIMER_MS), 3_600_000),
} as const;

export interface EnrichmentOptions extends OptionsOf<typeof OPTIONS> {
  /** Called in this order. The first `geo` and `datacenter` count; a flag is set if any enricher sets it. */
  readonly enrichers: readonly Enricher[];
}

export interface Enrichment {
  /** Returns the facts that are known now. Never throws. */
  readonly factsOf: (address: string) => AddressEnrichment;
  /** Resolves to the number of failures so far, for each enricher in order. Never rejects. */
  readonly stats: () => Promise<readonly Readonly<Record<EnricherFault, number>>[]>;
}

/**
 * Creates an enrichment, for `describeAddress` and the host adapters. The last argument is for tests.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`
 */
export function createEnrichment(
  options: EnrichmentOptions,
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): Enrichment {
  const { enrichers, onFailure, ...limits } = readOptions(options, OPTIONS);
  const sources = enrichers.map(
    (enricher, index) =>
      new EnricherSource(enricher, {
        ...limits,
        clock,
        onFailure: (failure) => onFailure?.({ index, ...failure }),
      }),
  );
  return {
    factsOf: (address) => {
      const facts = noFacts();
      for (const source of sources) add(facts, source.factsOf(address));
      return facts;
    },
    stats: async () => sources.map(({ counts }) => ({ ...counts })),
  };
}

function add(facts: AddressEnrichment, more: AddressEnrichment): void {
  if (more.proxy === true) facts.proxy = true;
  if (more.tor === true) facts.tor = true;
  if (more.vpn === true) facts.vpn = true;
  if (more.geo !== undefined) facts.geo ??= more.geo;
  if (more.datacenter !== undefined) facts.datacenter ??= more.datacenter;
}
