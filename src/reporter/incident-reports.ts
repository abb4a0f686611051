/**
 * Reports each incident in order: the first report creates it, and a report that fails is retracted from the
 * store, so that it has created nothing.
 */
import type { SecurityEventError } from '../errors.ts';
import type { IncidentChanges, IncidentReport, IncidentStore } from '../incident/incident-store.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** Reports what is new about an incident. Returns false when the report failed. */
export type ReportIncident<T extends boolean | Promise<boolean>> = (changes: IncidentChanges) => T;

export class IncidentReports {
  readonly #store: IncidentStore;
  /** The end of what is under way, by incident and channel. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** One limit for each channel: waiting messages must not keep records from being written. */
  readonly #inFlight = { log: new InFlightLimit(), webhook: new InFlightLimit() };

  constructor(store: IncidentStore) {
    this.#store = store;
  }

  /**
   * Reports at once when the store answers synchronously and no report of the incident is under way, else in
   * order. Throws or rejects with `ERR_QUEUE_FAILED` when the store fails, and with `ERR_QUEUE_FULL` when too
   * many reports wait.
   */
  run(report: IncidentReport, write: ReportIncident<boolean>): void | Promise<void> {
    const key = keyOf(report);
    if (this.#last.has(key)) return this.runInOrder(report, async (changes) => write(changes));
    this.#inFlight[report.channel].checkRoom();
    const changes = attempt(() => this.#store.record(report));
    if (!isPromiseLike(changes)) return this.#reportNow(report, changes, write);
    return this.#queued(report, async () => this.#settle(report, await answered(changes), write));
  }

  /** Starts a report when the one before it of the same incident has succeeded or failed. */
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

  /** The next report of the incident waits for a retraction that is asynchronous. */
  #endNow(
    report: IncidentReport,
    changes: IncidentChanges,
    isReported: boolean,
  ): Promise<void> | undefined {
    const end = this.#end(report, changes, isReported);
    if (end === undefined) return undefined;
    const ended = this.#queued(report, () => answered(end));
    // If the report threw, its caller gets that error.
    ended.catch(nothing);
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
    const end = run.catch(nothing);
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

function attempt<T>(ask: () => T): T {
  try {
    return ask();
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

const nothing = (): void => {};
