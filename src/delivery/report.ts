/** What a call of the direct sender came to. Ids, statuses and words of ours; no received text. */
import type { AttemptResult, FailureCode, Outcome } from '../webhook/outcome.ts';
import type { GiveUpReason } from '../webhook/retry.ts';
import type { MissingDestination } from './destination.ts';

export type UndeliveredReason =
  | GiveUpReason
  /** alone in its request, and refused with 413 */
  | 'too-large'
  /** the caller's signal */
  | 'aborted';

/** How an attempt ended: with a status, or with a word for why there is none. */
export interface AttemptEnd {
  readonly status?: number;
  readonly failure?: FailureCode;
  /** One sentence about the failure that says what to do; no received text. */
  readonly detail?: string;
}

export interface UndeliveredMessage extends AttemptEnd {
  /** Where it is among the messages given. */
  readonly index: number;
  readonly message_id: string;
  readonly reason: UndeliveredReason;
  /**
   * How long to wait before it is sent again, in ms, where the receiver or the schedule says so. Not
   * for `aborted`: a part of that wait may be over.
   */
  readonly retryAfterMs?: number;
}

/** One attempt: one POST. */
export interface RequestReport extends AttemptEnd {
  readonly outcome: Outcome;
  readonly message_ids: readonly string[];
  /** How often these messages were sent before (D24). */
  readonly retry_count: number;
  /** Of the body. */
  readonly bytes: number;
  readonly durationMs: number;
  /** What the receiver asked for. */
  readonly retryAfterMs?: number;
}

export interface SendReport {
  /** Whether every message was delivered; true without messages. */
  readonly ok: boolean;
  /** Ids, in the order in which the messages were given. */
  readonly delivered: readonly string[];
  /** In the order in which the messages were given. */
  readonly undelivered: readonly UndeliveredMessage[];
  /** Every attempt, in the order in which they were made. */
  readonly requests: readonly RequestReport[];
}

export function attemptEnd(result: AttemptResult): AttemptEnd {
  return result.kind === 'response'
    ? { status: result.status }
    : { failure: result.code, detail: result.detail };
}

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
