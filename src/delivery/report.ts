/** Reports of deliveries. They hold ids, statuses and codes, and no text that was received. */
import type { ClaimedMessage } from '../queue/queue.ts';
import { BoundedMap } from '../runtime/bounded-map.ts';
import { NumberedItems } from '../runtime/numbered-items.ts';
import type { AttemptResult, FailureCode, Outcome } from '../webhook/outcome.ts';
import type { GiveUpReason } from '../webhook/retry.ts';
import type { MissingDestination } from './destination.ts';

export type UndeliveredReason =
  | GiveUpReason
  /** refused with 413 although it was alone in its request */
  | 'too-large'
  /** the caller's signal */
  | 'aborted';

/** Result of an attempt that dead letters and events keep. */
export interface LastAttempt {
  /** Status of the response; absent without one. */
  readonly status?: number;
  /** Why there was no response. */
  readonly failure?: FailureCode;
}

/** How an attempt ended. */
export interface AttemptEnd extends LastAttempt {
  /** One sentence: what happened and what to do. */
  readonly detail?: string;
}

export interface UndeliveredMessage extends AttemptEnd {
  /** Index of the message in the call. */
  readonly index: number;
  readonly message_id: string;
  readonly reason: UndeliveredReason;
  /**
   * Wait before it should be sent again, in ms, if the receiver or the schedule asks for one. Absent for `aborted`, since
   * part of the wait may be over.
   */
  readonly retryAfterMs?: number;
}

/** One attempt: one POST. */
export interface RequestReport extends AttemptEnd {
  readonly outcome: Outcome;
  readonly message_ids: readonly string[];
  /** Highest number of times that one of these messages was sent before (D24). */
  readonly retry_count: number;
  /** Size of the body. */
  readonly bytes: number;
  readonly durationMs: number;
  /** Wait that the receiver asked for. */
  readonly retryAfterMs?: number;
}

export interface SendReport {
  /** Whether every message was delivered; true without messages. */
  readonly ok: boolean;
  /** Ids, in the order of the call. */
  readonly delivered: readonly string[];
  /** In the order of the call. */
  readonly undelivered: readonly UndeliveredMessage[];
  /** All attempts, in order. */
  readonly requests: readonly RequestReport[];
}

export function attemptEnd(result: AttemptResult): AttemptEnd {
  return result.kind === 'response'
    ? { status: result.status }
    : { failure: result.code, detail: result.detail };
}

/** Why the last attempt at a destination failed, had no response in time, or could not be made. */
export interface DestinationFailure extends AttemptEnd {
  readonly applicationId: string;
  /** Why nothing could be sent. */
  readonly because?: MissingDestination;
}

/** A request without a response yet. */
export interface RequestInFlight {
  readonly applicationId: string;
  readonly messages: readonly Pick<ClaimedMessage, 'sequence'>[];
  /** On the monotonic clock. */
  readonly sentAt: number;
}

/** With more failing destinations, the one that failed longest ago is dropped. */
const MAX_DESTINATIONS = 1000;

export class LastFailures {
  readonly #byApplication = new BoundedMap<string, DestinationFailure>(MAX_DESTINATIONS);
  readonly #inFlight = new NumberedItems<RequestInFlight>();

  record(failure: DestinationFailure): void {
    this.#byApplication.set(failure.applicationId, failure);
  }

  remove(applicationId: string): void {
    this.#byApplication.delete(applicationId);
  }

  /** Begins a request. Returns a function to call when it has its result. */
  beginRequest(request: RequestInFlight): () => void {
    const number = this.#inFlight.add(request);
    return () => void this.#inFlight.remove(number);
  }

  /** Records the requests in flight, which `close` aborts at its deadline. */
  recordAborted(nowMs: number): void {
    for (const request of this.#unanswered()) {
      this.record(noResponse(request, { failure: 'aborted', call: 'close', nowMs }));
    }
  }

  /** Returns an entry for each request in flight, when `flush` ends early, with messages that it awaits. */
  pendingAt(nowMs: number, isAwaited: (sequence: number) => boolean): DestinationFailure[] {
    return this.#unanswered()
      .filter(({ messages }) => messages.some(({ sequence }) => isAwaited(sequence)))
      .map((request) => noResponse(request, { failure: 'deadline', call: 'flush', nowMs }));
  }

  /** Leaves out destinations with an earlier failed attempt, since that says more than a request without a result. */
  #unanswered(): RequestInFlight[] {
    return [...this.#inFlight].filter(({ applicationId }) => {
      const last = this.#byApplication.get(applicationId);
      return last === undefined || Object.hasOwn(last, 'because');
    });
  }

  /** Returns the `failures` field of a report, with those of `pending` requests; empty if all messages were delivered. */
  reportOf(
    undelivered: number,
    pending: readonly DestinationFailure[] = [],
  ): { readonly failures?: readonly DestinationFailure[] } {
    const byApplication = new Map(this.#byApplication);
    for (const failure of pending) byApplication.set(failure.applicationId, failure);
    const failures = [...byApplication.values()];
    return undelivered === 0 || failures.length === 0 ? {} : { failures };
  }
}

interface UnansweredEnd {
  readonly failure: FailureCode;
  /** Which call ends. */
  readonly call: 'flush' | 'close';
  readonly nowMs: number;
}

function noResponse(
  { applicationId, sentAt }: RequestInFlight,
  { failure, call, nowMs }: UnansweredEnd,
): DestinationFailure {
  const detail =
    `The request had no response for ${Math.round(nowMs - sentAt)} ms when \`${call}\` ended; ` +
    `check the log of the receiver, or give \`${call}\` more time.`;
  return { applicationId, failure, detail };
}
