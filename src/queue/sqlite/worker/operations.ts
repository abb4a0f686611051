/** Runs one call in a transaction. */
import type { CallTuple, Operation } from '../protocol.ts';
import {
  applicationState,
  backlog,
  closeApplication,
  countPending,
  expire,
  reopenApplication,
  stats,
} from './applications.ts';
import { claim, type Outgoing } from './claim.ts';
import { listDeadLetters, purge, replay } from './dead-letters.ts';
import { enqueue } from './enqueue.ts';
import { retractIncident, tellIncident } from './incidents.ts';
import { exportPage, importItems } from './items.ts';
import { closeHandle, extend, release, settle } from './settle.ts';
import type { Transaction } from './transaction.ts';
import { rescueExpired } from './waiting.ts';

export interface CallContext extends Outgoing {
  readonly bodies: Uint8Array;
}

/** These read no claim and no lease. */
const WITHOUT_LEASES: readonly Operation[] = ['tellIncident', 'retractIncident'];

export function runOperation(
  transaction: Transaction,
  [, operation, argument]: CallTuple,
  context: CallContext,
): unknown {
  // No call sees a lease that has expired.
  if (!WITHOUT_LEASES.includes(operation)) rescueExpired(transaction, context.at.nowMs);
  const run = OPERATIONS[operation] as (
    transaction: Transaction,
    argument: unknown,
    context: CallContext,
  ) => unknown;
  return run(transaction, argument, context);
}

type Implementations = {
  readonly [Name in Operation]: (
    transaction: Transaction,
    argument: Extract<CallTuple, readonly [number, Name, ...unknown[]]>[2],
    context: CallContext,
  ) => unknown;
};

const OPERATIONS: Implementations = {
  open: (transaction, _, { at }) => backlog(transaction, at),
  enqueue,
  claim,
  settle: (transaction, argument, { at }) => settle(transaction, argument, at),
  release: (transaction, argument, { at }) => release(transaction, argument, at),
  extend: (transaction, argument, { at }) => extend(transaction, argument, at),
  expire: (transaction, argument, { at }) => expire(transaction, argument, at),
  countPending,
  applicationState,
  closeApplication: (transaction, argument, { at }) => closeApplication(transaction, argument, at),
  reopenApplication: (transaction, argument, { at }) =>
    reopenApplication(transaction, argument, at),
  listDeadLetters,
  replay: (transaction, argument, { at }) => replay(transaction, argument, at),
  purge,
  exportPage,
  importItems,
  stats: (transaction, _, { at }) => stats(transaction, at),
  closeHandle: (transaction, argument, { at }) => closeHandle(transaction, argument, at),
  tellIncident: (transaction, argument, { at }) => tellIncident(transaction, argument, at),
  retractIncident,
};
