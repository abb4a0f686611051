/** What a row says of itself. */

/** How a row's time is told. */
export type Unit =
  | 'µs per record'
  | 'µs per message'
  | 'µs per request'
  | 'µs per event'
  | 'messages/s'
  | 'ms per call'
  | 'ms per message'
  | 'ms'
  | 'MB';

export interface Side {
  readonly label: string;
  /** Its name in the subject's `sides`. */
  readonly side: string;
  /** How often it does its work in one sample, where it is so slow that it does it less often. */
  readonly operations?: number;
}

/** What a row must reach. */
export interface Goal {
  /** `ratio` is of times, `cpuRatio` of processor times, `difference` what ours is above the rival's. */
  readonly measure: 'ratio' | 'cpuRatio' | 'difference';
  readonly atMost: number;
  readonly moonshot?: number;
  /** As it was set. */
  readonly words: string;
}

/** A goal that was set as a share of the rival's throughput. */
export const throughput = (share: number, moonshot?: number): Goal => ({
  measure: 'ratio',
  atMost: 1 / share,
  words: `${share} x its throughput${moonshot === undefined ? '' : `; moonshot ${moonshot}`}`,
  ...(moonshot === undefined ? {} : { moonshot: 1 / moonshot }),
});

/** A goal that was set as a share of the rival's cost. */
export const cost = (atMost: number, measure: 'ratio' | 'cpuRatio' = 'ratio'): Goal => ({
  measure,
  atMost,
  words: `at most ${atMost} x its ${measure === 'ratio' ? 'time' : 'CPU'}`,
});

export const above = (atMost: number, unit: Unit): Goal => ({
  measure: 'difference',
  atMost,
  words: `at most ${atMost} ${unit} more`,
});

export interface Comparison {
  /** For `--only`. */
  readonly name: string;
  readonly work: string;
  /** The file that does the work. */
  readonly subject: URL;
  readonly ours: Side;
  readonly rival: Side;
  /** Times the subject does its work in one sample, and how many items of the unit that makes. */
  readonly operations: number;
  readonly itemsPerOperation?: number;
  readonly unit: Unit;
  /** Samples of each side, where they are not the usual ones. */
  readonly runs?: number;
  /** Whether a PostgreSQL server is started for it. */
  readonly needsServer?: true;
  /** Whether the resident memory that the work added is told. */
  readonly tellsMemory?: true;
  readonly goal?: Goal;
}

export const side = (label: string, name: string = label): Side => ({ label, side: name });
