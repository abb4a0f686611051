/** The operations that the worker runs for the main thread. Several calls can share a transaction. */
import {
  applicationState,
  deadLetterClosed,
  deadLetterOlderThan,
  reopenApplication,
} from './applications.ts';
import { claim } from './claim.ts';
import { listDeadLetters, purge, replay } from './dead-letters.ts';
import { enqueue } from './enqueue.ts';
import { recordIncident, retractIncident } from './incidents.ts';
import { exportItems, importItems } from './items.ts';
import { closeHandle, extend, release, settle } from './live-claims.ts';
import { countBacklog, countPending, stats } from './stats.ts';
import type { Context } from './store.ts';

export const OPERATIONS = {
  countBacklog,
  enqueue,
  claim,
  settle,
  release,
  extend,
  deadLetterOlderThan,
  countPending,
  applicationState,
  deadLetterClosed,
  reopenApplication,
  listDeadLetters,
  replay,
  purge,
  stats,
  exportItems,
  importItems,
  closeHandle,
  recordIncident,
  retractIncident,
};

export type Operation = keyof typeof OPERATIONS;

type Signature<Run> = Run extends (context: Context, ...args: infer Args) => infer Result
  ? [args: Args, result: Result]
  : never;

/** The arguments and the result of each operation. */
export type Operations = {
  [Name in Operation]: Signature<(typeof OPERATIONS)[Name]>;
};
