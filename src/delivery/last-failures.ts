/** Why messages are not delivered: the last failure of each destination, for `flush` and `close` (D83). */
import type { FailureCode } from '../webhook/outcome.ts';
import type { MissingDestination } from './attempt.ts';

/** How the last attempt at a destination failed, or why there was none. */
export interface DestinationFailure {
  readonly applicationId: string;
  /** Of the response; absent without one. */
  readonly status?: number;
  /** Why there was no response. */
  readonly failure?: FailureCode;
  /** One sentence about the failure that says what to do; no received text. */
  readonly detail?: string;
  /** Why nothing could be sent: no usable URL and secret. */
  readonly because?: MissingDestination;
}

/** With more destinations that fail, the one that failed longest ago is forgotten. */
const MAX_DESTINATIONS = 1000;

export class LastFailures {
  readonly #byApplication = new Map<string, DestinationFailure>();

  /** Takes the failure of an attempt. */
  failed(failure: DestinationFailure): void {
    const failures = this.#byApplication;
    failures.delete(failure.applicationId);
    failures.set(failure.applicationId, failure);
    const [oldest] = failures.keys();
    if (failures.size > MAX_DESTINATIONS && oldest !== undefined) failures.delete(oldest);
  }

  /** Forgets the failure of a destination that took a request. */
  succeeded(applicationId: string): void {
    this.#byApplication.delete(applicationId);
  }

  /** Returns what a report of `undelivered` messages adds: nothing if all were delivered. */
  reportOf(undelivered: number): { readonly failures?: readonly DestinationFailure[] } {
    const failures = [...this.#byApplication.values()];
    return undelivered === 0 || failures.length === 0 ? {} : { failures };
  }
}
