/** What comes in of one application: it gets its place at once, and its rows in parts. */
import type { Moment } from '../in-process/moment.ts';
import type { LevelApplication } from './application.ts';
import type { LevelContent } from './content.ts';
import { storable } from './keys.ts';
import type { QueueEntry } from './old-contract.ts';

export interface Share {
  count: number;
  bytes: number;
  /** Among them: new ones, those that wait in another queue, and those that are dead. */
  fresh: number;
  again: number;
  dead: number;
  deadBytes: number;
  /** Of those that wait in another queue, the soonest and the oldest. */
  dueInMs: number;
  ageMs: number;
}

/** Where the next message of a share goes. */
export interface Place {
  readonly application: LevelApplication;
  sequence: number;
  /** The number of its death, where it is dead. */
  death: number;
}

export const NO_SHARE: Readonly<Share> = {
  count: 0,
  bytes: 0,
  fresh: 0,
  again: 0,
  dead: 0,
  deadBytes: 0,
  dueInMs: Number.POSITIVE_INFINITY,
  ageMs: 0,
};

export function addTo(share: Share, { sizeBytes, past }: QueueEntry): void {
  share.count += 1;
  share.bytes += sizeBytes;
  if (past === undefined) share.fresh += 1;
  else if (past.death !== undefined) {
    share.dead += 1;
    share.deadBytes += sizeBytes;
  } else {
    share.again += 1;
    share.dueInMs = Math.min(share.dueInMs, past.dueInMs);
    share.ageMs = Math.max(share.ageMs, past.ageMs);
  }
}

interface Making {
  readonly content: LevelContent;
  readonly at: Moment;
}

/**
 * So many come in, in one go: their sequences are given in the order in which the store is written.
 * Room was taken for them.
 */
export function admit({ content, at }: Making, applicationId: string, share: Share): Place {
  const application = content.ensure(applicationId);
  const { count, fresh, again, dead, bytes, deadBytes } = share;
  const sequence = application.tail;
  content.changed(application);
  application.tail += count;
  application.counts.accepted += count;
  application.counts.dead += dead;
  application.freshCount += fresh;
  application.pendingBytes += bytes - deadBytes;
  application.deadBytes += deadBytes;
  content.deadBytes += deadBytes;
  content.room.give(deadBytes, dead);
  if (again > 0) {
    const dueMs = storable(at.nowMs + share.dueInMs);
    application.comesIn(again, { dueMs, oldestMs: storable(at.nowMs - share.ageMs) });
  }
  return { application, sequence, death: dead > 0 ? content.nextDeath(dead) : 0 };
}
