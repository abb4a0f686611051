import type { Clock } from '../../runtime/clock.ts';

/** The part of a clock that the queue needs. It sets no timers. */
export type QueueClock = Pick<Clock, 'now' | 'monotonicMs'>;

/** The time of one call. */
export interface QueueTime {
  /** The queue's own time in whole milliseconds: V8 keeps small integers inside the message. */
  readonly nowMs: number;
  /** The wall clock, for what people see. No decision uses it. */
  readonly epochMs: number;
  /** Returns the time in `ms` milliseconds, rounded up: nothing is due too early. */
  after(ms: number): number;
}

export function readTime(clock: QueueClock): QueueTime {
  const exactMs = clock.monotonicMs();
  const nowMs = Math.floor(exactMs);
  const epochMs = clock.now();
  return { nowMs, epochMs, after: (ms) => (ms > 0 ? Math.ceil(exactMs + ms) : nowMs) };
}
