/**
 * Periodic maintenance: dead-letters messages past their horizon, and those of closed destinations. Reopens destinations
 * that have a new URL, and reports messages that no process claims.
 */
import type { DeadLetteredMessage, DeadReason, MessageQueue, QueueStats } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { errorCodeOf, nextTry, type Observe, type QueueOperation } from './events.ts';
import type { ReopenIfMoved } from './reopen.ts';
import type { DeliveryPolicy } from './retry-policy.ts';
import type { Tracker } from './tracker.ts';

export interface MaintenanceParts {
  readonly queue: MessageQueue;
  readonly policy: Pick<DeliveryPolicy, 'schedule'>;
  /** Time between two rounds, in ms. */
  readonly maintenanceIntervalMs: number;
  /** A message that has been due for longer, and that nobody claims, is reported. */
  readonly stalledAfterMs: number;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly tracker: Tracker;
  readonly reopenIfMoved: ReopenIfMoved;
  /** Awaited between two pages. */
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Makes the scheduler poll the queue. */
  readonly wake: () => void;
}

/** Maximum number of messages that one call makes dead letters: reporting thousands would block the event loop. */
const PAGE_SIZE = 1000;

/** Number of concurrent lookups of settings. One by one, a settings function that hangs would delay the round. */
const LOOKED_UP_AT_ONCE = 100;

/** The last attempt may be due at the horizon itself, and must still be made. */
const GRACE_MS = 60_000;

export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #deadLettering: Promise<void> = Promise.resolve();

  constructor(parts: MaintenanceParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#deadLettering;
  }

  /**
   * Makes the messages of a closed application dead letters, unless its URL has changed. After a failure, the next round
   * tries again.
   */
  deadLetterClosed(applicationId: string): void {
    this.#deadLettering = this.#deadLettering.then(() =>
      this.#try('close', () => this.#reopenOrDeadLetter(applicationId)),
    );
  }

  async #run(): Promise<void> {
    const { clock, maintenanceIntervalMs } = this.#parts;
    while (!this.#stop.signal.aborted) {
      await clock.sleepUnref(maintenanceIntervalMs, this.#stop.signal);
      if (!this.#stop.signal.aborted) await this.#try('maintenance', () => this.#round());
    }
  }

  async #round(): Promise<void> {
    const { queue, policy, stalledAfterMs, observe, tracker, wake } = this.#parts;
    const { horizonMs } = policy.schedule;
    await this.#deadLetterInPages('horizon-passed', () =>
      queue.deadLetterOlderThan(horizonMs + GRACE_MS, PAGE_SIZE),
    );
    tracker.startEpoch();
    await tracker.findSettledElsewhere((ranges) => queue.countPending(ranges));
    const { applications, oldestDueMs } = await queue.stats();
    if (oldestDueMs > stalledAfterMs) {
      observe('stalled', () => ({ oldestDueMs }));
      wake();
    }
    await this.#reopenMoved(applications);
  }

  /**
   * Reopens destinations that have a new URL. Nothing else would notice it: a closed one is never claimed, and a failing
   * one may be paused for long. Tries all, then rejects with the first error.
   */
  async #reopenMoved(applications: QueueStats['applications']): Promise<void> {
    const closedOrFailing = [...applications].filter(
      ([, { health, pending }]) => health === 'closed' || (health === 'failing' && pending > 0),
    );
    const errors: unknown[] = [];
    for (let at = 0; at < closedOrFailing.length; at += LOOKED_UP_AT_ONCE) {
      if (this.#stop.signal.aborted) return;
      const reopenings = closedOrFailing
        .slice(at, at + LOOKED_UP_AT_ONCE)
        .map(([id]) => this.#reopenOrDeadLetter(id));
      for (const result of await Promise.allSettled(reopenings)) {
        if (result.status === 'rejected') errors.push(result.reason);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  /** Reopens the application if its URL has changed. Otherwise makes its messages dead letters if it is closed. */
  async #reopenOrDeadLetter(applicationId: string): Promise<void> {
    const { queue, reopenIfMoved } = this.#parts;
    // Without settings it is unknown whether the destination has a new URL: its messages wait.
    if ((await reopenIfMoved(applicationId)) !== 'same') return;
    await this.#deadLetterInPages('destination-closed', () =>
      queue.deadLetterClosed(applicationId, PAGE_SIZE),
    );
  }

  /** Calls `deadLetterPage` until a page is not full, and reports the dead letters. */
  async #deadLetterInPages(
    reason: DeadReason,
    deadLetterPage: () => Promise<readonly DeadLetteredMessage[]>,
  ): Promise<void> {
    const { observe, tracker, yieldToEventLoop } = this.#parts;
    for (;;) {
      let page: readonly DeadLetteredMessage[];
      const endSettling = tracker.beginSettling();
      try {
        page = await deadLetterPage();
        for (const { applicationId, messageId, sequence } of page) {
          tracker.recordSettled(sequence, 'dead', reason);
          observe('dead', () => ({ applicationId, message_id: messageId, reason }));
        }
      } finally {
        endSettling();
      }
      if (page.length < PAGE_SIZE || this.#stop.signal.aborted) return;
      await yieldToEventLoop();
    }
  }

  async #try(operation: QueueOperation, work: () => Promise<void>): Promise<void> {
    const { observe, maintenanceIntervalMs } = this.#parts;
    try {
      await work();
    } catch (error) {
      const next = nextTry(maintenanceIntervalMs, this.#stop.signal);
      observe('queue-failed', () => ({ operation, ...next, ...errorCodeOf(error) }));
    }
  }
}
