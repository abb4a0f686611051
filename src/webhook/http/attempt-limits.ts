/** What may end one attempt early: its deadlines (D76), its caller, the poster's end. */
import type { Clock } from '../../runtime/clock.ts';
import { cancelWait, onAbort } from '../../runtime/on-abort.ts';
import { type Failure, failure } from './errors.ts';

/** How long an attempt may take, each from its start, in ms: 1 to 2147483647. */
export interface Deadlines {
  /** Name lookup, TCP and TLS together. Default 5000. */
  readonly connectMs: number;
  /** Until the response headers. Default 15000. */
  readonly headersMs: number;
  /** Until the end of the response body. Default 20000. */
  readonly totalMs: number;
}

export interface AttemptLimits {
  /** The one signal of the attempt: aborted when a limit is reached. */
  readonly signal: AbortSignal;
  /** Resolves when a limit is reached; stays pending otherwise. Never rejects. */
  readonly reached: Promise<Failure>;
  /** Ends the attempt for a reason found on the way. The first reason stands. */
  reach(why: Failure): void;
  /** The header deadline no longer counts. */
  headersArrived(): void;
  /** Clears the timers and lets go of the caller's signal. */
  end(): void;
}

/**
 * The caller's signal gets a listener that is taken off: `AbortSignal.any` would tie each attempt to a caller's signal
 * that may live as long as the process.
 */
export function startLimits(
  clock: Clock,
  deadlines: Deadlines,
  caller: AbortSignal | undefined,
): AttemptLimits {
  const attempt = new AbortController();
  const over = new AbortController();
  let areHeadersHere = false;
  let tell!: (why: Failure) => void;
  const reached = new Promise<Failure>((resolve) => {
    tell = resolve;
  });

  const reach = (why: Failure): void => {
    tell(why);
    attempt.abort();
  };
  // One signal for both waits: each costs as much as the headers of a request.
  const expire = async (code: 'headers-timeout' | 'deadline', ms: number) => {
    await clock.sleep(ms, over.signal);
    if (over.signal.aborted || (code === 'headers-timeout' && areHeadersHere)) return;
    reach(failure(code, `${ms} ms`));
  };
  const letGo =
    caller === undefined ? undefined : onAbort(caller, () => reach(failure('aborted', 'signal')));
  void expire('headers-timeout', deadlines.headersMs);
  void expire('deadline', deadlines.totalMs);

  return {
    signal: attempt.signal,
    reached,
    reach,
    headersArrived: () => {
      areHeadersHere = true;
    },
    end: () => {
      cancelWait(over);
      letGo?.();
    },
  };
}
