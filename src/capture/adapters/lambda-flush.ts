/** Delivers the events of a Lambda function's call before AWS freezes the function. */
import { isObjectLike, readProperty } from '../../own-properties.ts';
import { ignoreRejection, tryCall } from '../../runtime/host-calls.ts';

/** The part of the function's context that is used. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number;
}

/** A reporter or a sender. */
export interface Flushable {
  flush(options: { readonly deadlineMs: number }): Promise<unknown>;
}

/** The result of a flush that did not deliver everything. */
export interface LambdaFlushFailure {
  readonly delivered?: number;
  /** Messages that wait for a retry. */
  readonly pending?: number;
  /** Messages that were given up. */
  readonly dead?: number;
  /** Why: the last failure of each destination. */
  readonly failures?: readonly object[];
  /** Why a log line was lost. */
  readonly logError?: Error;
  /** The error of a flush that rejected. */
  readonly error?: unknown;
}

export type OnUndelivered = (result: LambdaFlushFailure) => unknown;

interface FlushSettings {
  readonly flushDeadlineMs: number;
  readonly onUndelivered: OnUndelivered | undefined;
}

/** Time that a flush leaves to the function for returning its result. */
const RESERVE_MS = 250;

/** The shortest wait of calls whose predecessors delivered nothing. */
const MIN_DEADLINE_MS = 100;

export class LambdaFlush {
  readonly #source: Flushable;
  readonly #settings: FlushSettings;
  /** Number of calls in a row that delivered nothing although messages were waiting. */
  #fruitless = 0;
  #hasReported = false;

  constructor(source: Flushable, settings: FlushSettings) {
    this.#source = source;
    this.#settings = settings;
  }

  /** Never rejects: the request is answered regardless. */
  async run(context: Partial<LambdaContext> | undefined): Promise<void> {
    try {
      // A test may call the handler without a context, or with an empty one.
      const remainingMs = context?.getRemainingTimeInMillis?.() ?? Number.POSITIVE_INFINITY;
      const leftMs = Math.floor(remainingMs) - RESERVE_MS;
      const deadlineMs = Math.max(0, Math.min(this.#deadlineMs(), leftMs));
      this.#judge(await this.#source.flush({ deadlineMs }));
    } catch (error) {
      this.#report({ error });
    }
  }

  /** Halves after each fruitless call: while a receiver refuses everything, calls do not all wait in vain. */
  #deadlineMs(): number {
    const { flushDeadlineMs } = this.#settings;
    const halved = Math.floor(flushDeadlineMs / 2 ** this.#fruitless);
    return Math.min(flushDeadlineMs, Math.max(MIN_DEADLINE_MS, halved));
  }

  #judge(result: unknown): void {
    const undelivered = countIn(result, 'pending') + countIn(result, 'dead');
    const isFruitless = undelivered > 0 && countIn(result, 'delivered') === 0;
    this.#fruitless = isFruitless ? this.#fruitless + 1 : 0;
    const isComplete = undelivered === 0 && propertyOf(result, 'logError') === undefined;
    if (isComplete) this.#hasReported = false;
    else this.#report(result as LambdaFlushFailure);
  }

  /** Reports once until a flush succeeds, so that an outage does not fill the log. */
  #report(result: LambdaFlushFailure): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    const { onUndelivered } = this.#settings;
    tryCall(() => ignoreRejection(onUndelivered?.(result)));
  }
}

const propertyOf = (value: unknown, name: string): unknown =>
  isObjectLike(value) ? readProperty(value, name) : undefined;

function countIn(result: unknown, name: string): number {
  const count = propertyOf(result, name);
  return typeof count === 'number' ? count : 0;
}
