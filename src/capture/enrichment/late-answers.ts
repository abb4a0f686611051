/** What promises of an enricher resolved with, for the later events of the same address. */
import type { Clock } from '../../runtime/clock.ts';
import { type AddressEnrichment, noFacts } from './enrichment.ts';

/** Promises of one enricher that may be open at a time. */
const MAX_PENDING = 100;
/** A promise that has not settled after this no longer counts as open. */
const SLOW_AFTER_MS = 30_000;
/** After a rejection the enricher is left alone about that address. */
const REJECTED_MS = 60_000;

interface Answer {
  readonly facts: AddressEnrichment;
  readonly untilMs: number;
}

interface Faults {
  readonly tell: (fault: 'failed' | 'slow' | 'skipped', error?: unknown) => void;
  readonly read: (given: unknown) => AddressEnrichment;
}

interface CacheLimits {
  readonly maxCached: number;
  readonly cachedMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export class LateAnswers {
  readonly #limits: CacheLimits;
  readonly #faults: Faults;
  /** In the order of their last use: the first goes first. */
  readonly #answers = new Map<string, Answer>();
  /** When each was asked, oldest first. */
  readonly #pending = new Map<string, number>();

  constructor(limits: CacheLimits, faults: Faults) {
    this.#limits = limits;
    this.#faults = faults;
  }

  /** What to use now; `undefined` where the enricher is to be asked. */
  answerOf(address: string): AddressEnrichment | undefined {
    const now = this.#limits.clock.monotonicMs();
    this.#giveUp(now);
    if (this.#pending.has(address)) return noFacts();
    const answer = this.#answers.get(address);
    if (answer !== undefined) {
      this.#answers.delete(address);
      if (answer.untilMs > now) {
        this.#answers.set(address, answer);
        return answer.facts;
      }
    }
    if (this.#pending.size < MAX_PENDING) return undefined;
    this.#faults.tell('skipped');
    return noFacts();
  }

  await(address: string, answer: PromiseLike<unknown>): void {
    this.#pending.set(address, this.#limits.clock.monotonicMs());
    Promise.resolve(answer)
      .then((given) => this.#keep(address, this.#faults.read(given), this.#limits.cachedMs))
      .catch((error: unknown) => {
        this.#faults.tell('failed', error);
        this.#keep(address, noFacts(), REJECTED_MS);
      });
  }

  #keep(address: string, facts: AddressEnrichment, forMs: number): void {
    this.#pending.delete(address);
    this.#answers.delete(address);
    this.#answers.set(address, { facts, untilMs: this.#limits.clock.monotonicMs() + forMs });
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.#limits.maxCached) return;
      this.#answers.delete(oldest);
    }
  }

  #giveUp(now: number): void {
    for (const [address, askedAt] of this.#pending) {
      if (now - askedAt < SLOW_AFTER_MS) return;
      this.#pending.delete(address);
      this.#faults.tell('slow');
    }
  }
}
