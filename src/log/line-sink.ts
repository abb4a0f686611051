/**
 * The interface between the writer and its destinations. `write` throws the original error, of the
 * system or a stream; the writer wraps it.
 */
import { types } from 'node:util';
import type { Clock } from '../runtime/clock.ts';

/** The state of a line when `write` returns. */
export type LineOutcome =
  /** passed to the operating system, or to the host's stream */
  | 'written'
  /** accepted; {@link LateOutcomes} gets the result */
  | 'pending'
  /** the buffer is full */
  | 'dropped'
  /** the stream returned a promise although it should be synchronous */
  | 'promised';

/** Called when a line is lost after its `write` has returned. */
export type OnLost = (cause: unknown) => void;

/** Receives the results of pending lines. Not called after `close`. */
export interface LateOutcomes {
  /** One pending line was written. */
  written(): void;
  /** One pending line was lost; `onLost` is the argument of its `write`. */
  failed(cause: unknown, onLost: OnLost | undefined): void;
  /** The stream reported an error that belongs to no known line. */
  streamFailed(cause: unknown): void;
}

/** What sinks need, besides their destination. */
export interface SinkOptions {
  readonly sync: boolean;
  readonly maxBufferBytes: number;
  readonly clock: Clock;
  readonly late: LateOutcomes;
}

export interface LineSink {
  /** `line` ends with its only line feed. */
  write(line: string, onLost?: OnLost): LineOutcome;
  /** Resolves when every line accepted before the call is written or lost, and files are synced. */
  flush(): Promise<void>;
  /**
   * Closes our descriptors and gives up the pending lines, at once. Returns the `onLost` of each. The caller's stream
   * may still write them; our listeners stay until it has. Never closes the caller's descriptors or streams.
   */
  close(): readonly (OnLost | undefined)[];
}

/** Returns the code of a system error, such as EAGAIN. */
export const systemCode = (cause: unknown): string | undefined => {
  // Not `instanceof`, which runs the traps of a proxy.
  const code = types.isNativeError(cause) && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z\d_]*$/.test(code) ? code : undefined;
};
