/** Delivers the events of a Lambda function's call before AWS freezes the function. */
import { ownProperties } from '../../own-properties.ts';
import { debugError } from '../../runtime/diagnostics.ts';
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

interface FlushSettings {
  readonly flushDeadlineMs: number;
  readonly onUndelivered: ((result: LambdaFlushFailure) => unknown) | undefined;
}

/** Time that a flush leaves to the function for returning its result. */
const RESERVE_MS = 250;

/** The shortest wait of calls whose predecessors delivered nothing. */
const MIN_DEADLINE_MS = 100;

/** Returns the flush of a call. It never rejects: the request is answered regardless. */
export function createLambdaFlush(
  source: Flushable,
  { flushDeadlineMs, onUndelivered }: FlushSettings,
): (context: Partial<LambdaContext> | undefined) => Promise<void> {
  /** Half as long after each call that delivered nothing: while a receiver refuses everything, calls do not all wait in vain. */
  let limitMs = flushDeadlineMs;
  let hasReported = false;
  /** Reports once until a flush succeeds, so that an outage does not fill the log. */
  const report = (result: LambdaFlushFailure): void => {
    if (hasReported) return;
    hasReported = true;
    debugError('lambda-undelivered', { ...result });
    tryCall(() => ignoreRejection(onUndelivered?.(result)));
  };
  return async (context) => {
    try {
      // A test may call the handler without a context, or with an empty one.
      const remainingMs = context?.getRemainingTimeInMillis?.() ?? Number.POSITIVE_INFINITY;
      const leftMs = Math.max(0, Math.floor(remainingMs) - RESERVE_MS);
      const answer = await source.flush({ deadlineMs: Math.min(limitMs, leftMs) });
      const result = ownProperties<LambdaFlushFailure>(answer as object);
      const { delivered = 0, pending = 0, dead = 0, logError } = result;
      const isIncomplete = pending + dead > 0;
      if (delivered > 0 || !isIncomplete) limitMs = flushDeadlineMs;
      else if (limitMs <= leftMs) limitMs = halved(limitMs);
      if (isIncomplete || logError !== undefined) report(result);
      else hasReported = false;
    } catch (error) {
      report({ error });
    }
  };
}

const halved = (ms: number): number => Math.min(ms, Math.max(MIN_DEADLINE_MS, Math.floor(ms / 2)));
