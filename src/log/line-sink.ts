/**
 * What the writer needs from a place that takes lines. Whatever `write` throws is the cause as it
 * came (a system error, what a stream threw); the writer turns it into an error of ours.
 */

/** What became of a line by the time `write` returned. */
export type LineOutcome =
  /** handed to the operating system, or to the stream that was lent */
  | 'written'
  /** accepted; {@link LateOutcomes} tells the rest */
  | 'pending'
  /** there was no room for it */
  | 'dropped'
  /** the stream answered with a promise although it was to be synchronous */
  | 'promised';

/** Called when a line is lost after its `write` has returned. */
export type LineLost = (cause: unknown) => void;

/** What becomes of lines after `write` has returned. Not called after `close`. */
export interface LateOutcomes {
  /** One pending line was written. */
  written(): void;
  /** One pending line was lost; `lost` is what its `write` was given. */
  failed(cause: unknown, lost: LineLost | undefined): void;
  /** The stream reported a fault that belongs to no line we know of. */
  troubled(cause: unknown): void;
}

export interface LineSink {
  /** `line` ends in a line feed and holds no other. */
  write(line: string, lost?: LineLost): LineOutcome;
  /** Resolves when every line accepted before the call is written or lost, and files are synced. */
  flush(): Promise<void>;
  /**
   * Lets everything go at once: our descriptors, our listeners, lines that still wait. Returns how
   * many lines that were. Never closes what the caller owns.
   */
  close(): number;
}

export const systemCode = (cause: unknown): string | undefined => {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z\d_]*$/.test(code) ? code : undefined;
};
