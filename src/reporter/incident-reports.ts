/** Incidents in their order: what is told first creates, and what could not be told has created nothing. */
import type { SecurityEventError } from '../errors.ts';
import type { IncidentNews, IncidentReport, IncidentStore } from '../incident/incident-store.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** Tells of an incident what is new. `false`: it was not told after all. */
export type TellIncident<T extends boolean | Promise<boolean>> = (news: IncidentNews) => T;

export class IncidentReports {
  readonly #store: IncidentStore;
  /** The end of what is under way, by incident and channel. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** Of each channel its own: messages that wait must not keep records from being written. */
  readonly #inFlight = { log: new InFlightLimit(), webhook: new InFlightLimit() };

  constructor(store: IncidentStore) {
    this.#store = store;
  }

  /**
   * Tells at once where the store answers at once and nothing is under way, else in order. Rejects, or
   * throws, with `ERR_QUEUE_FAILED` where the store fails, and with `ERR_QUEUE_FULL` where too many
   * wait for it.
   */
  told(report: IncidentReport, tell: TellIncident<boolean>): void | Promise<void> {
    const key = keyOf(report);
    if (this.#last.has(key)) return this.toldInOrder(report, async (news) => tell(news));
    this.#inFlight[report.channel].checkRoom();
    const news = attempt(() => this.#store.tell(report));
    if (!isPromiseLike(news)) return this.#tellNow(report, news, tell);
    return this.#queued(report, async () => this.#settle(report, await answered(news), tell));
  }

  /** Of one incident the next is told when the one before it was accepted, or was not. */
  toldInOrder(report: IncidentReport, tell: TellIncident<Promise<boolean>>): Promise<void> {
    return this.#queued(report, async () => {
      const news = await answered(attempt(() => this.#store.tell(report)));
      await this.#settle(report, news, tell);
    });
  }

  #tellNow(
    report: IncidentReport,
    news: IncidentNews,
    tell: TellIncident<boolean>,
  ): void | Promise<void> {
    let isTold = false;
    let end: Promise<void> | undefined;
    try {
      isTold = tell(news);
    } finally {
      end = this.#endNow(report, news, isTold);
    }
    return end;
  }

  /** An asynchronous end is waited for by whoever tells next. */
  #endNow(report: IncidentReport, news: IncidentNews, isTold: boolean): Promise<void> | undefined {
    const end = this.#end(report, news, isTold);
    if (end === undefined) return undefined;
    const ended = this.#queued(report, () => answered(end));
    // Where telling threw, that is what its caller hears of.
    ended.catch(nothing);
    return ended;
  }

  async #settle(
    report: IncidentReport,
    news: IncidentNews,
    tell: TellIncident<boolean | Promise<boolean>>,
  ): Promise<void> {
    let isTold = false;
    try {
      isTold = await tell(news);
    } finally {
      await answered(this.#end(report, news, isTold));
    }
  }

  #end(report: IncidentReport, news: IncidentNews, isTold: boolean): void | Promise<void> {
    if (!isTold) return attempt(() => this.#store.retract(report, news));
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

/** Of what a store throws, and of what becomes of an answer that is none. */
export const storeFailed = (thrown: unknown): SecurityEventError =>
  wrapHostError(thrown, 'ERR_QUEUE_FAILED', { detail: 'the store of incidents' });

const nothing = (): void => {};
