/** What became of the messages of a run so far. Bounded: of many undelivered ones only the first are listed. */
import type { SendReport, UndeliveredMessage } from '../../index.ts';
import type { InputPlace } from './message-input.ts';

/** Why a message was not delivered: as the library says, or because it could not be sent at all. */
export interface Undelivered extends InputPlace {
  readonly message_id?: string;
  readonly reason: UndeliveredMessage['reason'] | 'invalid';
  readonly status?: number;
  readonly failure?: string;
  readonly detail?: string;
}

/** Undelivered messages that share their cause. */
export interface UndeliveredGroup {
  readonly first: Undelivered;
  readonly count: number;
}

const MAX_LISTED = 1000;
/** Of causes: reasons, statuses and failures are few, and a receiver may answer with any number. */
const MAX_GROUPS = 100;

export class SendTally {
  #delivered = 0;
  #undelivered = 0;
  #requests = 0;
  #resent = 0;
  #bytes = 0;
  readonly #listed: Undelivered[] = [];
  readonly #groups = new Map<string, UndeliveredGroup>();

  get delivered(): number {
    return this.#delivered;
  }

  get undelivered(): number {
    return this.#undelivered;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Requests with messages that had been sent before. */
  get resent(): number {
    return this.#resent;
  }

  /** Of all bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The first ones, at most {@link MAX_LISTED}. */
  get listed(): readonly Undelivered[] {
    return this.#listed;
  }

  get groups(): readonly UndeliveredGroup[] {
    return [...this.#groups.values()];
  }

  addReport({ delivered, requests }: SendReport): void {
    this.#delivered += delivered.length;
    this.#requests += requests.length;
    this.#resent += requests.filter(({ retry_count }) => retry_count > 0).length;
    this.#bytes += requests.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  addUndelivered(found: Undelivered): void {
    this.#undelivered += 1;
    if (this.#listed.length < MAX_LISTED) this.#listed.push(found);
    const key = this.#keyOf(found);
    const { first = found, count = 0 } = this.#groups.get(key) ?? {};
    this.#groups.set(key, { first, count: count + 1 });
  }

  #keyOf({ reason, status, failure }: Undelivered): string {
    const key = `${reason} ${status ?? ''} ${failure ?? ''}`;
    return this.#groups.has(key) || this.#groups.size < MAX_GROUPS ? key : 'others';
  }
}
