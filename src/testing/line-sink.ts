/** A log destination in memory. */
import { type ParsedLogLine, parseLogLine } from '../contract/index.ts';
import { A_FUNCTION, check, type Rules } from '../option-rules.ts';

export interface MemoryLineSink {
  /** A destination of `createLogWriter`. */
  write(line: string): void;
  /** The written lines, each with its line feed. */
  readonly lines: readonly string[];
  /**
   * The lines as records, parsed with `parseLogLine` at each access. Throws `ERR_INVALID_LINE` or
   * `ERR_INVALID_RECORD` for an invalid line.
   */
  readonly records: readonly ParsedLogLine<'open', 'received'>[];
}

export interface MemoryLineSinkOptions {
  /**
   * Called for each write (`index` counts them from 0). Returns an error to throw, such as that of a full disk, or
   * `undefined` to accept the line.
   */
  readonly failWith?: ((line: string, index: number) => Error | undefined) | undefined;
}

const RULES: Rules<keyof MemoryLineSinkOptions> = { failWith: A_FUNCTION };

/** Creates a destination that keeps the lines: `createLogWriter({ destination: createLineSink() })`. */
export function createLineSink(options: MemoryLineSinkOptions = {}): MemoryLineSink {
  const { failWith } = check<MemoryLineSinkOptions>(options, RULES);
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
