/** What a row says of itself. */

/** How a row's time is told. */
export type Unit =
  | 'µs per record'
  | 'µs per message'
  | 'µs per request'
  | 'messages/s'
  | 'ms per call'
  | 'ms per message'
  | 'ms';

export interface Side {
  readonly label: string;
  /** Its name in the subject's `sides`. */
  readonly side: string;
}

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
}

export const side = (label: string, name: string = label): Side => ({ label, side: name });
