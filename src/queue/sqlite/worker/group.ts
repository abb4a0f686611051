/** Group commit: calls that waited while a transaction ran are done together in the next one. */
import { systemClock } from '../../../runtime/clock.ts';
import type { AnswerTuple, CallTuple, LostMessages } from '../protocol.ts';
import type { Database } from './database.ts';
import type { DiskSpace } from './disk-space.ts';
import { failureAnswer, isBroken, isDiskFull, Rejection } from './failure.ts';
import { Stopped } from './gate.ts';
import { runOperation } from './operations.ts';
import { Moment, Transaction } from './transaction.ts';

export interface WaitingCall {
  readonly call: CallTuple;
  /** Bodies of all calls of its post. */
  readonly bodies: Uint8Array;
}

/** What the calls of one or more transactions answer. */
export interface Answers {
  readonly answers: AnswerTuple[];
  readonly bodies: Uint8Array[];
  bytes: number;
  due: boolean;
  lastSequence: number;
  /** Value of `due_changes`, when it is known. */
  dueChanges: number | undefined;
  readonly lost: LostMessages[];
  /** Whether the connection has to be opened again. */
  isBroken: boolean;
}

export const noAnswers = (): Answers => ({
  answers: [],
  bodies: [],
  bytes: 0,
  due: false,
  lastSequence: 0,
  dueChanges: undefined,
  lost: [],
  isBroken: false,
});

export interface Storage {
  readonly file: string;
  readonly database: Database;
  readonly space: DiskSpace;
}

/** Answers every call. Throws only when the gate was closed. */
export function runGroup(storage: Storage, calls: readonly WaitingCall[], into: Answers): void {
  try {
    // Looked at before the transaction: it may take a checkpoint.
    const hasSpace = calls.every(({ call }) => call[1] !== 'enqueue') || storage.space.canGrow();
    const given = { calls, bytesBefore: into.bytes, hasSpace };
    const done = storage.database.transaction(() => attempt(storage, given));
    storage.space.committed(done.lastSequence);
    into.answers.push(...done.answers);
    into.bodies.push(...done.bodies);
    into.lost.push(...done.lost);
    into.bytes = done.bytes;
    into.due ||= done.due;
    into.dueChanges = done.dueChanges;
  } catch (error) {
    recover(storage, { calls, into, error });
  }
}

/** One failing call fails its group, so the others are tried without it. */
function recover(
  storage: Storage,
  { calls, into, error }: { calls: readonly WaitingCall[]; into: Answers; error: unknown },
): void {
  if (error instanceof Stopped) throw error;
  const isLockWait = error instanceof Rejection;
  if (calls.length > 1 && !isLockWait) {
    for (const call of calls) runGroup(storage, [call], into);
    return;
  }
  const [first] = calls;
  if (isDiskFull(error) && first?.call[1] !== 'enqueue' && storage.space.makeRoom()) {
    runGroup(storage, calls, into);
    return;
  }
  into.isBroken ||= isBroken(error);
  const failure = failureAnswer(error, storage.file);
  into.answers.push(...calls.map(({ call }): AnswerTuple => [call[0], null, 0, failure]));
}

function attempt(
  storage: Storage,
  {
    calls,
    bytesBefore,
    hasSpace,
  }: { calls: readonly WaitingCall[]; bytesBefore: number; hasSpace: boolean },
): Answers {
  const transaction = new Transaction(storage.database);
  const done = { ...noAnswers(), bytes: bytesBefore };
  for (const waiting of calls)
    done.answers.push(answer(storage, { transaction, waiting, done, hasSpace }));
  transaction.flush();
  done.due = transaction.isDue;
  done.lastSequence = transaction.state.last_sequence;
  done.dueChanges = transaction.state.due_changes;
  done.lost.push(...transaction.lostMessages);
  return done;
}

function answer(
  storage: Storage,
  {
    transaction,
    waiting: { call, bodies },
    done,
    hasSpace,
  }: { transaction: Transaction; waiting: WaitingCall; done: Answers; hasSpace: boolean },
): AnswerTuple {
  const [id, operation, , nowMs, bodiesAt] = call;
  const start = done.bytes;
  const context = {
    at: new Moment(nowMs ?? systemClock.now()),
    bodies: bodies.subarray(bodiesAt),
    send: (body: Uint8Array): void => {
      done.bodies.push(body);
      done.bytes += body.length;
    },
  };
  try {
    if (operation === 'enqueue' && !hasSpace) {
      throw new Rejection('ERR_QUEUE_FAILED', 'the disk is full');
    }
    return [id, runOperation(transaction, call, context), start, null];
  } catch (error) {
    // Nothing of it was changed: the others of the group go on.
    if (!(error instanceof Rejection)) throw error;
    return [id, null, 0, failureAnswer(error, storage.file)];
  }
}
