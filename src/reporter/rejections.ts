/** What could not be told: handed back, published and counted, so that nothing refused disappears. */
import { channel } from 'node:diagnostics_channel';
import type { SecurityEventError } from '../errors.ts';
import { calm } from '../runtime/ignore-rejection.ts';
import type { EventCall } from './build-record.ts';
import type { EventContext, EventKind } from './event-input.ts';
import type { RejectedChannel, ReporterCounters } from './reporter-stats.ts';

/** An event that one channel was not told of, as it was given. */
export interface RejectedEvent {
  /** `log`: the record; `webhook`: the message. The other channel may have been told. */
  readonly channel: RejectedChannel;
  readonly method: EventKind;
  /** Of a custom event `{ event_name, options }`. */
  readonly payload: unknown;
  /** To be read, as its types say: it may be frozen, or the caller's own object. */
  readonly context: EventContext;
  /**
   * Why. Its `path` names the field at fault: on channel A from the root of the record; on channel B
   * from what the call was given (`payload`, `webhook`), or, where the sender refused the message,
   * from the list of the one message that it was sent (`0`, `message`, …).
   */
  readonly error: SecurityEventError;
}

/** Told of `{ channel, method, code }`, wherever somebody listens. */
export const REJECTED_CHANNEL = 'security-event-delivery:rejected';

export class Rejections {
  readonly #counters: ReporterCounters;
  readonly #onRejected: ((rejected: RejectedEvent) => void) | undefined;
  #isTelling = false;
  readonly #told = channel(REJECTED_CHANNEL);

  constructor(
    counters: ReporterCounters,
    onRejected: ((rejected: RejectedEvent) => void) | undefined,
  ) {
    this.#counters = counters;
    this.#onRejected = onRejected;
  }

  /** Gives the error. Never throws. */
  add(rejectedBy: RejectedChannel, call: EventCall, error: SecurityEventError): SecurityEventError {
    const { kind: method, payload, given: context } = call;
    this.#counters.rejected(rejectedBy);
    if (this.#told.hasSubscribers) {
      this.#told.publish({ channel: rejectedBy, method, code: error.code });
    }
    // What it reports of a rejection may be rejected in turn: that is counted, and goes no further.
    if (this.#isTelling) return error;
    this.#isTelling = true;
    try {
      calm(this.#onRejected?.({ channel: rejectedBy, method, payload, context, error }));
    } catch {
      // The host's own function: it is told of events, and must not end what reports them.
    } finally {
      this.#isTelling = false;
    }
    return error;
  }
}
