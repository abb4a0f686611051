/** Reports each incident in order, and retracts failed reports from the store. */
import type { IncidentChanges, IncidentReport, IncidentStore } from '../incident/incident-store.ts';
import { ignoreRejection, isPromiseLike } from '../runtime/host-calls.ts';
import { InFlightLimit } from './in-flight-limit.ts';

/** Writes or sends what is new about an incident. Returns false if that failed. */
type Output<T extends boolean | Promise<boolean>> = (changes: IncidentChanges) => T;

export class IncidentReports {
  readonly #store: IncidentStore;
  /** The end of the latest report in progress, by incident and channel. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** One limit for each channel: waiting messages must not keep records from being written. */
  readonly #inFlight = { log: new InFlightLimit(), webhook: new InFlightLimit() };

  constructor(store: IncidentStore) {
    this.#store = store;
  }

  /**
   * Reports synchronously if the store is synchronous and no report of the incident is in progress.
   * Otherwise waits for that report. `write` must not throw. Throws or rejects with the error of the store,
   * and with `ERR_QUEUE_FULL` if too many reports wait.
   */
  report(incident: IncidentReport, write: Output<boolean>): void | Promise<void> {
    const key = keyOf(incident);
    const writeLater = async (changes: IncidentChanges): Promise<boolean> => write(changes);
    if (this.#last.has(key)) return this.reportInOrder(incident, writeLater);
    this.#inFlight[incident.channel].checkLimit();
    const recorded = this.#store.record(incident);
    if (isPromiseLike(recorded)) {
      // Nobody awaits it if the limit was reached while the store was called.
      ignoreRejection(recorded);
      return this.#inOrder(incident, async () =>
        this.#reportOrRetract(incident, await recorded, writeLater),
      );
    }
    let retraction: void | Promise<void>;
    // If `write` itself leads to a report of the incident, that report waits for this one and its retraction.
    const writing = Promise.resolve()
      .then(() => retraction)
      .catch(ignore);
    this.#last.set(key, writing);
    const isReported = write(recorded);
    if (this.#last.get(key) === writing) this.#last.delete(key);
    if (isReported) return undefined;
    retraction = this.#store.retract(incident, recorded);
    ignoreRejection(retraction);
    // The next report of the incident waits for it.
    return retraction && this.#inOrder(incident, async () => retraction);
  }

  /** Starts a report when the previous one of the same incident has succeeded or failed. */
  reportInOrder(incident: IncidentReport, send: Output<Promise<boolean>>): Promise<void> {
    return this.#inOrder(incident, async () =>
      this.#reportOrRetract(incident, await this.#store.record(incident), send),
    );
  }

  async #reportOrRetract(
    incident: IncidentReport,
    changes: IncidentChanges,
    send: Output<Promise<boolean>>,
  ): Promise<void> {
    let isReported = false;
    try {
      isReported = await send(changes);
    } finally {
      if (!isReported) await this.#store.retract(incident, changes);
    }
  }

  /** Rejects, before `work` begins, if too many reports wait. */
  async #inOrder(report: IncidentReport, work: () => Promise<void>): Promise<void> {
    const inFlight = this.#inFlight[report.channel];
    inFlight.enter();
    const key = keyOf(report);
    const last = this.#last.get(key);
    const run = last === undefined ? work() : last.then(work);
    const end = run.catch(ignore);
    this.#last.set(key, end);
    try {
      await run;
    } finally {
      if (this.#last.get(key) === end) this.#last.delete(key);
      inFlight.leave();
    }
  }
}

const keyOf = ({ channel, applicationId, incidentId }: IncidentReport): string =>
  JSON.stringify([channel, applicationId, incidentId]);

const ignore = (): void => {};
