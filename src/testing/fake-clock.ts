/** A clock that only moves when a test moves it. */
import { SecurityEventError } from '../errors.ts';
import { invalidOption, MAX_TIMER_MS } from '../option-rules.ts';
import { type Clock, type StartTimer, waitsOf } from '../runtime/clock.ts';
import { Heap } from '../runtime/heap.ts';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';

/**
 * A `Clock` for tests. Its waits (sleeps and timers) end in the order of their due times; waits due at the same time,
 * in the order in which they started. Like real timers, a wait takes at least 1 ms, and one above 2^31 - 1 ms (24.8 days) takes 1 ms.
 *
 * Before the clock moves, and after each wait, it runs pending work that needs no time: promises,
 * `process.nextTick`, `queueMicrotask` and `setImmediate`, including work that these start (immediates for at most
 * 100 turns of the event loop). It does not wait for the network, files, other threads and real timers: await them
 * yourself before you advance.
 */
export interface FakeClock extends Clock {
  /** Number of waits that have not ended. */
  readonly pending: number;
  /** Time until the next wait ends, in ms; 0 if it is overdue; undefined if there is none. */
  readonly nextTimerInMs: number | undefined;
  /** Advances by `ms`, and ends the waits that are due. With 0 it only runs pending work. */
  advance(ms: number): Promise<void>;
  /** Advances until `now()` is `epochMs`. Refuses a past time. */
  advanceTo(epochMs: number): Promise<void>;
  /**
   * Advances from wait to wait until `predicate` returns true. It is called at once, and after each wait.
   *
   * Rejects with `ERR_TIMED_OUT` after `maxMs`, or if no wait is left; the clock then stays at the end of the
   * last wait.
   */
  runUntil(predicate: () => boolean, maxMs?: number): Promise<void>;
  /** Like `runUntil`, until `promise` settles. Settles like `promise`. */
  runUntilSettled<T>(promise: Promise<T>, maxMs?: number): Promise<T>;
  /**
   * Lets `ms` pass without ending waits, as if the program computed or the machine slept. Waits that are due end
   * when the clock advances next.
   */
  elapse(ms: number): void;
  /** Sets only the wall clock, like a user or NTP: waits do not change. */
  setWallClock(epochMs: number): void;
}

/** 2026-11-21T10:00:00Z */
const DEFAULT_START_MS = Date.UTC(2026, 10, 21, 10);
/** Unlike the wall clock's origin, so that tests notice when the two are mixed up. */
const MONOTONIC_START_MS = 5_000_000;
const DEFAULT_MAX_MS = 24 * 60 * 60 * 1000;

/**
 * Creates a clock at `startMs` (milliseconds since the epoch; default 2026-11-21T10:00:00Z).
 *
 * Refuses a time that is no finite number, and a negative or invalid duration, with `ERR_INVALID_OPTION`. The default of
 * `maxMs` is 24 hours.
 */
export function createFakeClock(startMs = DEFAULT_START_MS): FakeClock {
  return new SteppedClock(startMs);
}

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  /** Index in the heap. */
  index: number;
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.dueMs === other.dueMs ? one.order < other.order : one.dueMs < other.dueMs;

class SteppedClock implements FakeClock {
  /** A heap, since days of virtual time have millions of timers. */
  readonly #timers = new Heap<Timer>(isBefore, (timer, index) => {
    timer.index = index;
  });
  #monotonicMs = MONOTONIC_START_MS;
  #wallOffsetMs: number;
  #order = 0;

  constructor(startMs: number) {
    this.#wallOffsetMs = checkTime(startMs, 'startMs') - MONOTONIC_START_MS;
    ({ sleep: this.sleep, sleepUnref: this.sleepUnref } = waitsOf(this.startTimer));
  }

  // Functions, not methods: the parts of a clock may be passed on separately, like systemClock's.
  readonly now = (): number => this.#monotonicMs + this.#wallOffsetMs;
  readonly monotonicMs = (): number => this.#monotonicMs;
  readonly startTimer: StartTimer = (ms, callback) => this.#start(ms, callback);
  readonly sleep: Clock['sleep'];
  readonly sleepUnref: Clock['sleepUnref'];

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
      throw new SecurityEventError('ERR_TIMED_OUT', { detail: this.#timeoutDetail(maxMs) });
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
    this.#wallOffsetMs = checkTime(epochMs, 'epochMs') - this.#monotonicMs;
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

  /** Returns false if no wait is due until `endMs`. */
  async #endNextWait(endMs: number): Promise<boolean> {
    const next = this.#timers.first();
    if (next === undefined || next.dueMs > endMs) return false;
    this.#moveTo(next.dueMs);
    next.fire();
    await settled();
    return true;
  }

  /** Never moves back: a wait may be overdue, and several callers may advance concurrently. */
  #moveTo(ms: number): void {
    this.#monotonicMs = Math.max(this.#monotonicMs, ms);
  }

  #timeoutDetail(maxMs: number): string {
    return this.pending === 0
      ? 'no wait is left on the fake clock'
      : `not within ${maxMs} ms of the fake clock`;
  }
}

function checkSpan(ms: number, name: string): number {
  // Not Infinity: the clock could never leave it.
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw invalidOption(`${name}: expected 0 or a positive number of milliseconds`, [name]);
}

function checkTime(ms: number, name: string): number {
  if (Number.isFinite(ms)) return ms;
  throw invalidOption(`${name}: expected milliseconds since the epoch`, [name]);
}

const MAX_TURNS = 100;

/**
 * Runs pending work that needs no time. One turn of the event loop empties the queues of promises
 * and ticks; further turns are for immediates that were set meanwhile.
 */
export async function settled(): Promise<void> {
  let turns = 0;
  do {
    await nextTurn();
    turns += 1;
  } while (turns < MAX_TURNS && process.getActiveResourcesInfo().includes('Immediate'));
}
