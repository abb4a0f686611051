/** A log writer's destination in memory. */

import { type ParsedLogLine, parseLogLine } from '../contract/index.ts';
import { ownProperties } from '../own-properties.ts';

export interface MemoryLineSink {
  /** A destination of `createLogWriter`. */
  write(line: string): void;
  /** What was written, as it was: each with its line feed. */
  readonly lines: readonly string[];
  /**
   * The lines as records, read with `parseLogLine` when asked for; throws `ERR_INVALID_LINE` or
   * `ERR_INVALID_RECORD` where one is none.
   */
  readonly records: readonly ParsedLogLine<'open', 'received'>[];
}

export interface MemoryLineSinkOptions {
  /**
   * Called for each write (`index` counts them from 0): the error to throw, as a full disk would, or
   * `undefined` to take the line. A line that fails is not kept.
   */
  readonly failWith?: (line: string, index: number) => Error | undefined;
}

/** Keeps the lines of a log writer: `createLogWriter({ destination: createLineSink() })`. */
export function createLineSink(options: MemoryLineSinkOptions = {}): MemoryLineSink {
  const { failWith } = ownProperties(options);
  const lines: string[] = [];
  let writes = 0;
  return {
    lines,
    write: (line) => {
      const failure = failWith?.(line, writes);
      writes += 1;
      if (failure !== undefined) throw failure;
      lines.push(line);
    },
    get records() {
      return lines.map((line) => parseLogLine(line));
    },
  };
}
