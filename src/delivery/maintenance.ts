/**
 * Periodic maintenance: makes messages dead letters that are past their horizon or wait for a closed destination,
 * reopens destinations that have a new URL, and reports messages that no process claims.
 */
import type { DeadReason, ExpiredMessage, MessageQueue, QueueStats } from '../queue/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { errorCodeOf, type Observe, type QueueOperation } from './events.ts';
import type { Tracker } from './tracker.ts';

export interface MaintenanceParts {
  readonly queue: MessageQueue;
  readonly horizonMs: number;
  readonly everyMs: number;
  /** A message that has been due for longer, and that nobody claims, is reported. */
  readonly stalledAfterMs: number;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly tracker: Tracker;
  /** Whether the application's URL has changed since its state was stored in the queue. */
  readonly hasNewUrl: (applicationId: string) => Promise<boolean>;
  /** Awaited between two pages. */
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Makes the scheduler look again. */
  readonly wake: () => void;
}

/** Messages in one call, so that thousands of dead letters do not hold the event loop. */
const PAGE = 1000;

/** Destinations that are resolved at a time, so that a host function that hangs does not stop the round. */
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

  /** Makes the messages of a closed application dead letters. What fails is left to the next round. */
  closeApplication(applicationId: string): void {
    this.#deadLettering = this.#deadLettering.then(() =>
      this.#try('close', () => this.#empty(applicationId)),
    );
  }

  async #run(): Promise<void> {
    const { clock, everyMs } = this.#parts;
    while (!this.#stop.signal.aborted) {
      await clock.idle(everyMs, this.#stop.signal);
      if (!this.#stop.signal.aborted) await this.#try('maintenance', () => this.#round());
    }
  }

  async #round(): Promise<void> {
    const { queue, horizonMs, stalledAfterMs, observe, tracker, wake } = this.#parts;
    await this.#inPages('horizon-passed', () => queue.expire(horizonMs + GRACE_MS, PAGE));
    await tracker.forgetSettledElsewhere((ranges) => queue.countPending(ranges));
    const { applications, oldestDueMs } = await queue.stats();
    await this.#reopenMoved(applications);
    if (oldestDueMs <= stalledAfterMs) return;
    observe('stalled', () => ({ oldestDueMs }));
    wake();
  }

  /** No claim would find out that a closed destination has a new URL, and a failing one may be paused for long. */
  async #reopenMoved(applications: QueueStats['applications']): Promise<void> {
    const { queue, hasNewUrl } = this.#parts;
    const heldBack = [...applications].filter(
      ([, { tier, pending }]) => tier === 'closed' || (tier === 'failing' && pending > 0),
    );
    for (let at = 0; at < heldBack.length; at += LOOKED_UP_AT_ONCE) {
      if (this.#stop.signal.aborted) return;
      const some = heldBack.slice(at, at + LOOKED_UP_AT_ONCE);
      const ends = await Promise.allSettled(
        some.map(async ([applicationId, { tier, pending }]) => {
          if (await hasNewUrl(applicationId)) await queue.reopenApplication(applicationId);
          else if (tier === 'closed' && pending > 0) await this.#empty(applicationId);
        }),
      );
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    }
  }

  async #empty(applicationId: string): Promise<void> {
    const { queue } = this.#parts;
    await this.#inPages('destination-closed', async () => {
      // It may have been reopened between two pages.
      const state = await queue.applicationState(applicationId);
      return state?.tier === 'closed' ? await queue.closeApplication(applicationId, PAGE) : [];
    });
  }

  async #inPages(
    reason: DeadReason,
    next: () => Promise<readonly ExpiredMessage[]>,
  ): Promise<void> {
    const { observe, tracker, yieldToEventLoop } = this.#parts;
    for (;;) {
      let page: readonly ExpiredMessage[];
      const endSettling = tracker.beginSettling();
      try {
        page = await next();
        for (const { applicationId, messageId, sequence } of page) {
          tracker.settled(sequence, 'dead', reason);
          observe('dead', () => ({ applicationId, message_id: messageId, reason }));
        }
      } finally {
        endSettling();
      }
      if (page.length < PAGE || this.#stop.signal.aborted) return;
      await yieldToEventLoop();
    }
  }

  async #try(operation: QueueOperation, work: () => Promise<void>): Promise<void> {
    const { observe, everyMs } = this.#parts;
    try {
      await work();
    } catch (error) {
      observe('queue-failed', () => ({ operation, retryInMs: everyMs, ...errorCodeOf(error) }));
    }
  }
}
