/** The description of a row. */

/** Unit in which a row's time is shown. */
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
  /** Operations of a slow side in one sample. Default: as many as the other side. */
  readonly operations?: number;
}

/** The goal of a row: the maximum of each value. */
export interface Goal {
  /** Our time divided by the rival's. */
  readonly ratio?: number;
  /** The same for processor time. */
  readonly cpuRatio?: number;
  /** Our value minus the rival's, in the unit of the row. */
  readonly difference?: number;
  /** Our value alone, in the unit of the row. */
  readonly value?: number;
}

export interface Comparison {
  /** Name for `--only`. */
  readonly name: string;
  readonly work: string;
  /** The file that does the work. */
  readonly subject: URL;
  readonly ours: Side;
  readonly rival: Side;
  /** Operations in one sample, and items of the unit per operation. */
  readonly operations: number;
  readonly itemsPerOperation?: number;
  readonly unit: Unit;
  /** Number of samples of each side. Default `USUAL_RUNS`. */
  readonly runs?: number;
  /** Whether it needs a PostgreSQL server. */
  readonly needsServer?: true;
  /** Whether the growth of resident memory is shown. */
  readonly showsMemory?: true;
  readonly goal?: Goal;
}

export const side = (label: string, name: string = label): Side => ({ label, side: name });
