/** Reports each incident in order, and retracts failed reports from the store. */
import type { SecurityEventError } from '../errors.ts';
import type { IncidentChanges, IncidentReport, IncidentStore } from '../incident/incident-store.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** Reports what is new about an incident. Returns false when the report failed. */
export type ReportIncident<T extends boolean | Promise<boolean>> = (changes: IncidentChanges) => T;

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
   * Reports synchronously if the store is synchronous and no report of the incident is in progress, else
   * in order. Throws or rejects with `ERR_QUEUE_FAILED` if the store fails, and with `ERR_QUEUE_FULL` if
   * too many reports wait.
   */
  run(report: IncidentReport, write: ReportIncident<boolean>): void | Promise<void> {
    const key = keyOf(report);
    if (this.#last.has(key)) return this.runInOrder(report, async (changes) => write(changes));
    this.#inFlight[report.channel].checkRoom();
    const changes = attempt(() => this.#store.record(report));
    if (!isPromiseLike(changes)) return this.#reportNow(report, changes, write);
    return this.#queued(report, async () => this.#settle(report, await answered(changes), write));
  }

  /** Starts a report when the previous one of the same incident has succeeded or failed. */
  runInOrder(report: IncidentReport, write: ReportIncident<Promise<boolean>>): Promise<void> {
    return this.#queued(report, async () => {
      const changes = await answered(attempt(() => this.#store.record(report)));
      await this.#settle(report, changes, write);
    });
  }

  #reportNow(
    report: IncidentReport,
    changes: IncidentChanges,
    write: ReportIncident<boolean>,
  ): void | Promise<void> {
    let isReported = false;
    let end: Promise<void> | undefined;
    try {
      isReported = write(changes);
    } finally {
      end = this.#endNow(report, changes, isReported);
    }
    return end;
  }

  /** The next report of the incident waits for an asynchronous retraction. */
  #endNow(
    report: IncidentReport,
    changes: IncidentChanges,
    isReported: boolean,
  ): Promise<void> | undefined {
    const end = this.#end(report, changes, isReported);
    if (end === undefined) return undefined;
    const ended = this.#queued(report, () => answered(end));
    // If the report threw, its caller gets that error instead.
    ended.catch(ignore);
    return ended;
  }

  async #settle(
    report: IncidentReport,
    changes: IncidentChanges,
    write: ReportIncident<boolean | Promise<boolean>>,
  ): Promise<void> {
    let isReported = false;
    try {
      isReported = await write(changes);
    } finally {
      await answered(this.#end(report, changes, isReported));
    }
  }

  #end(
    report: IncidentReport,
    changes: IncidentChanges,
    isReported: boolean,
  ): void | Promise<void> {
    if (!isReported) return attempt(() => this.#store.retract(report, changes));
  }

  #queued(report: IncidentReport, work: () => Promise<void>): Promise<void> {
    return this.#inFlight[report.channel].during(() => this.#inOrder(keyOf(report), work));
  }

  async #inOrder(key: string, work: () => Promise<void>): Promise<void> {
    const last = this.#last.get(key);
    const run = last === undefined ? work() : last.then(work);
    const end = run.catch(ignore);
    this.#last.set(key, end);
    try {
      await run;
    } finally {
      if (this.#last.get(key) === end) this.#last.delete(key);
    }
  }
}

const keyOf = ({ channel, applicationId, incidentId }: IncidentReport): string =>
  JSON.stringify([channel, applicationId, incidentId]);

function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw storeFailed(error);
  }
}

async function answered<T>(answer: T | Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw storeFailed(error);
  }
}

/** Wraps an error of the incident store. */
export const storeFailed = (thrown: unknown): SecurityEventError =>
  wrapHostError(thrown, 'ERR_QUEUE_FAILED', { detail: 'the store of incidents' });

const ignore = (): void => {};
