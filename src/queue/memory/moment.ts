import type { Clock } from '../../runtime/clock.ts';

/** What the queue needs of a clock: it waits for nothing. */
export type QueueClock = Pick<Clock, 'now' | 'monotonicMs'>;

/** The time of one call. */
export interface Moment {
  /** The queue's own time, in whole milliseconds: small integers are kept within a message. */
  readonly nowMs: number;
  /** Milliseconds since the epoch: for what is shown, never for what is decided. */
  readonly epochMs: number;
  /** When `ms` are over: rounded up, so that nothing comes sooner than was asked. */
  after(ms: number): number;
}

export function momentOf(clock: QueueClock): Moment {
  const exactMs = clock.monotonicMs();
  const nowMs = Math.floor(exactMs);
  return {
    nowMs,
    epochMs: clock.now(),
    after: (ms) => (ms > 0 ? Math.ceil(exactMs + ms) : nowMs),
  };
}
