/** Passes rejected events to `onRejected`, publishes and counts them, so that none is lost silently. */
import type { SecurityEventError } from '../errors.ts';
import { DiagnosticsChannel } from '../runtime/diagnostics.ts';
import { ignoreRejection } from '../runtime/host-calls.ts';
import type { EventCall } from './build-record.ts';
import type { EventContext, EventKind } from './event-input.ts';
import type { RejectedChannel, ReporterCounters } from './reporter-stats.ts';

/** An event that one channel rejected, with the caller's arguments. */
export interface RejectedEvent {
  /** `log`: the record; `webhook`: the message. The other channel may have accepted the event. */
  readonly channel: RejectedChannel;
  readonly method: EventKind;
  /** For a custom event: `{ event_name, options }`. */
  readonly payload: unknown;
  /** The caller's own object: do not change it. */
  readonly context: EventContext;
  /**
   * Why. Its `path` names the invalid field: on channel A from the root of the record, on channel B from the
   * call's arguments (`payload`, or `webhook` for other fields of the message).
   */
  readonly error: SecurityEventError;
}

/** Diagnostics event of each rejection. */
interface RejectedDiagnostics {
  readonly channel: RejectedChannel;
  readonly method: EventKind;
  readonly code: string;
}

export class Rejections {
  readonly #counters: ReporterCounters;
  readonly #onRejected: ((rejected: RejectedEvent) => void) | undefined;
  readonly #rejected = { log: new WeakSet<EventCall>(), webhook: new WeakSet<EventCall>() };
  #isCalling = false;
  readonly #diagnostics = new DiagnosticsChannel<RejectedDiagnostics>('rejected');

  constructor(
    counters: ReporterCounters,
    onRejected: ((rejected: RejectedEvent) => void) | undefined,
  ) {
    this.#counters = counters;
    this.#onRejected = onRejected;
  }

  /**
   * Counts and reports the first rejection of an event on a channel; ignores later ones. Returns the error.
   * Never throws.
   */
  add(by: RejectedChannel, call: EventCall, error: SecurityEventError): SecurityEventError {
    // A rejected incident is added again if the store then fails to retract it.
    if (this.#rejected[by].has(call)) return error;
    this.#rejected[by].add(call);
    const { kind: method, payload, context } = call;
    this.#counters.rejected(by);
    if (this.#diagnostics.isWanted) {
      const { code, message } = error;
      this.#diagnostics.publish({ channel: by, method, code }, { message });
    }
    // `onRejected` may itself report an event that is rejected: count that one without another call.
    if (this.#isCalling) return error;
    this.#isCalling = true;
    try {
      ignoreRejection(this.#onRejected?.({ channel: by, method, payload, context, error }));
    } catch {
      // An error of the host's function must not stop reporting.
    } finally {
      this.#isCalling = false;
    }
    return error;
  }
}
