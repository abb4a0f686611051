/** A clock that stands still until a test moves it. */
import { SecurityEventError } from '../errors.ts';
import { type Clock, type StartTimer, waitsOf } from '../runtime/clock.ts';
import { Heap } from '../runtime/heap.ts';
import { settled } from './settled.ts';

/**
 * Time for a test, as `Clock`. Waits end in the order in which they are due, and among equals in
 * the order in which they began; each is as long as a real timer's: at least 1 ms, and one above
 * 2^31 - 1 ms (24.8 days) is over after 1 ms.
 *
 * What moves the clock lets everything settle that can settle without time: before it begins, and
 * after each single wait that ends. Promises, `process.nextTick`, `queueMicrotask` and
 * `setImmediate` are waited for, however long their chains are (immediates that go on for ever: 100
 * turns of the event loop). The network, files, other threads and real timers are not: wait for those
 * yourself, then move on.
 */
export interface FakeClock extends Clock {
  /** Waits that have not ended. */
  readonly pending: number;
  /** In how many ms the next wait ends, 0 for one that is overdue; absent without any. */
  readonly nextTimerInMs: number | undefined;
  /** Lets `ms` pass (0 is possible: what can settle settles), ending the waits that are due. */
  advance(ms: number): Promise<void>;
  /** Likewise, until `now()` is `epochMs`; a time that is past is refused. */
  advanceTo(epochMs: number): Promise<void>;
  /**
   * Goes from wait to wait until `predicate` holds, which is asked after each of them.
   *
   * Rejects with `ERR_TIMED_OUT` where it does not hold after `maxMs`, or no wait is left that
   * could change anything; then the clock stands where the last wait ended.
   */
  runUntil(predicate: () => boolean, maxMs?: number): Promise<void>;
  /** Goes from wait to wait until `promise` settles, and settles like it. As `runUntil` otherwise. */
  runUntilSettled<T>(promise: Promise<T>, maxMs?: number): Promise<T>;
  /**
   * `ms` pass in one go, as while a program computes or its machine sleeps: waits that are due
   * meanwhile end when the clock is moved next.
   */
  elapse(ms: number): void;
  /** Sets the wall clock alone, as a user or NTP does: no wait becomes longer or shorter. */
  setWallClock(epochMs: number): void;
}

/** 2026-11-21T10:00:00Z */
const DEFAULT_START_MS = Date.UTC(2026, 10, 21, 10);
/** Another origin than the wall clock's, so that a program which mixes them up shows it. */
const MONOTONIC_START_MS = 5_000_000;
const MAX_TIMER_MS = 2 ** 31 - 1;
const DEFAULT_MAX_MS = 24 * 60 * 60 * 1000;

/**
 * A clock that stands at `startMs` (milliseconds since the epoch; default 2026-11-21T10:00:00Z).
 *
 * `advance`, `elapse` and `runUntil` refuse a span that is negative or no number with
 * `ERR_INVALID_OPTION`; `maxMs` is 24 hours where it is not given.
 */
export function createFakeClock(startMs = DEFAULT_START_MS): FakeClock {
  return new SteppedClock(startMs);
}

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  /** Where it is in the heap, out of which it is taken when it ends. */
  index: number;
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.dueMs === other.dueMs ? one.order < other.order : one.dueMs < other.dueMs;

class SteppedClock implements FakeClock {
  /** Days of virtual time have millions of timers, so each costs a logarithm only. */
  readonly #timers = new Heap<Timer>(isBefore, (timer, index) => {
    timer.index = index;
  });
  #monotonicMs = MONOTONIC_START_MS;
  #wallOffsetMs: number;
  #order = 0;

  constructor(startMs: number) {
    this.#wallOffsetMs = startMs - MONOTONIC_START_MS;
    ({ sleep: this.sleep, idle: this.idle } = waitsOf(this.startTimer));
  }

  // Functions and not methods: a clock's parts are handed on by themselves, as systemClock's are.
  readonly now = (): number => this.#monotonicMs + this.#wallOffsetMs;
  readonly monotonicMs = (): number => this.#monotonicMs;
  readonly startTimer: StartTimer = (ms, callback) => this.#start(ms, callback);
  readonly sleep: Clock['sleep'];
  readonly idle: Clock['idle'];

  get pending(): number {
    return this.#timers.size;
  }

  get nextTimerInMs(): number | undefined {
    const next = this.#timers.first();
    return next && Math.max(0, next.dueMs - this.#monotonicMs);
  }

  readonly advance = async (ms: number): Promise<void> => {
    const endMs = this.#monotonicMs + checkSpan(ms, 'ms');
    await settled();
    while (await this.#endNextWait(endMs));
    this.#moveTo(endMs);
  };

  readonly advanceTo = (epochMs: number): Promise<void> => this.advance(epochMs - this.now());

  readonly runUntil = async (
    predicate: () => boolean,
    maxMs: number = DEFAULT_MAX_MS,
  ): Promise<void> => {
    const endMs = this.#monotonicMs + checkSpan(maxMs, 'maxMs');
    await settled();
    while (!predicate()) {
      if (await this.#endNextWait(endMs)) continue;
      throw new SecurityEventError('ERR_TIMED_OUT', { detail: this.#whyItEnds(maxMs) });
    }
  };

  readonly runUntilSettled = async <T>(promise: Promise<T>, maxMs?: number): Promise<T> => {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    await this.runUntil(() => isSettled, maxMs);
    return promise;
  };

  readonly elapse = (ms: number): void => {
    this.#monotonicMs += checkSpan(ms, 'ms');
  };

  readonly setWallClock = (epochMs: number): void => {
    this.#wallOffsetMs = epochMs - this.#monotonicMs;
  };

  #start(ms: number, callback: () => void): () => void {
    const isTimer = ms >= 1 && ms <= MAX_TIMER_MS;
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.#timers.removeAt(timer.index);
      isOver = true;
    };
    const timer: Timer = {
      dueMs: this.#monotonicMs + (isTimer ? ms : 1),
      order: this.#order,
      fire: () => {
        end();
        callback();
      },
      index: 0,
    };
    this.#order += 1;
    this.#timers.push(timer);
    return end;
  }

  /** False where no wait ends until then. */
  async #endNextWait(endMs: number): Promise<boolean> {
    const next = this.#timers.first();
    if (next === undefined || next.dueMs > endMs) return false;
    this.#moveTo(next.dueMs);
    next.fire();
    await settled();
    return true;
  }

  /** Never back: an overdue wait ends now, and several callers may move the clock at a time. */
  #moveTo(ms: number): void {
    this.#monotonicMs = Math.max(this.#monotonicMs, ms);
  }

  #whyItEnds(maxMs: number): string {
    return this.pending === 0
      ? 'no wait is left on the fake clock'
      : `not within ${maxMs} ms of the fake clock`;
  }
}

function checkSpan(ms: number, name: string): number {
  // Not Infinity: a clock that has come there stays there.
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw new SecurityEventError('ERR_INVALID_OPTION', {
    detail: `${name}: expected 0 or a positive number of milliseconds`,
    path: [name],
  });
}
