/**
 * What nobody's turn brings about: messages that wait past their horizon become dead letters, and so
 * does what waits for a closed destination; a new URL is not held to what the old one said; a message
 * that nobody picks up is told of.
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
  /** A message that could be claimed and has been due for longer is told of. */
  readonly stalledAfterMs: number;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly tracker: Tracker;
  /** Whether an application's URL is another than the one that its state in the queue is about. */
  readonly hasMoved: (applicationId: string) => Promise<boolean>;
  /** Awaited between two pages. */
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Makes the scheduler look again. */
  readonly wake: () => void;
}

/** So that dead letters by the thousand do not hold the event loop. */
const PAGE = 1000;

/** So that one host function that does not answer does not make a round last for ever. */
const LOOKED_UP_AT_ONCE = 100;

/** The last attempt may be due at the horizon itself, and should be made. */
const GRACE_MS = 60_000;

export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;
  #closing: Promise<void> = Promise.resolve();

  constructor(parts: MaintenanceParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#closing;
  }

  /** In pages; what fails is done by the next round. */
  closeApplication(applicationId: string): void {
    this.#closing = this.#closing.then(() => this.#try('close', () => this.#empty(applicationId)));
  }

  async #run(): Promise<void> {
    const { clock, everyMs } = this.#parts;
    while (!this.#stop.signal.aborted) {
      await clock.idle(everyMs, this.#stop.signal);
      if (!this.#stop.signal.aborted) await this.#try('upkeep', () => this.#round());
    }
  }

  async #round(): Promise<void> {
    const { queue, horizonMs, stalledAfterMs, observe, tracker, wake } = this.#parts;
    await this.#inPages('horizon-passed', () => queue.expire(horizonMs + GRACE_MS, PAGE));
    await tracker.forgetSettledElsewhere((ranges) => queue.countPending(ranges));
    const { applications, oldestDueMs } = await queue.stats();
    await this.#lookUp(applications);
    if (oldestDueMs <= stalledAfterMs) return;
    observe('stalled', () => ({ oldestDueMs }));
    wake();
  }

  /** Where a process only enqueues, nobody else finds out that a destination which is closed has moved. */
  async #lookUp(applications: QueueStats['applications']): Promise<void> {
    const { queue, hasMoved } = this.#parts;
    const heldBack = [...applications].filter(
      ([, { tier, pending }]) => tier === 'closed' || (tier === 'failing' && pending > 0),
    );
    for (let at = 0; at < heldBack.length; at += LOOKED_UP_AT_ONCE) {
      if (this.#stop.signal.aborted) return;
      const some = heldBack.slice(at, at + LOOKED_UP_AT_ONCE);
      const ends = await Promise.allSettled(
        some.map(async ([applicationId, { tier, pending }]) => {
          if (await hasMoved(applicationId)) await queue.reopenApplication(applicationId);
          else if (tier === 'closed' && pending > 0) await this.#empty(applicationId);
        }),
      );
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    }
  }

  async #empty(applicationId: string): Promise<void> {
    const { queue } = this.#parts;
    await this.#inPages('destination-closed', async () => {
      // Somebody may have opened it again between two pages.
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
