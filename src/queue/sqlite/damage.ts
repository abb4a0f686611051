/** Reports of a damaged file. They have counts and ids of applications: no content, no secret. */
import { channel } from 'node:diagnostics_channel';
import { calm } from '../../runtime/ignore-rejection.ts';
import type { LostMessages } from './protocol.ts';

/** Damage that the queue found in its file. The intact messages are delivered. */
export interface SqliteQueueDamage {
  /** The file's real path. */
  readonly file: string;
  /**
   * `rows`: the stored form of messages is damaged. They are not sent, count as discarded (`lost`), and
   * are kept in the table `damaged_message`; or the row of an application was damaged, and is mended.
   * `rolled-back`: commits are gone. The write-ahead log was
   * removed after a process was killed, an older copy was put back, or, with `sync: false`, power was
   * lost.
   */
  readonly kind: 'rows' | 'rolled-back';
  /** Number of messages lost, by application; empty for `rolled-back`. */
  readonly applications: readonly LostMessages[];
  /** Number of sequences that were given to messages of which nothing is known. 0 for `rows`. */
  readonly missingSequences: number;
}

/** Publishes each {@link SqliteQueueDamage} once. */
const DAMAGED_CHANNEL = 'security-event-delivery:queue-damaged';

export const publishDamage = (damage: SqliteQueueDamage): void =>
  channel(DAMAGED_CHANNEL).publish(damage);

/** Calls the host's function. What it throws is ignored: the intact messages are to be delivered. */
export function reportDamage(
  damage: SqliteQueueDamage,
  onDamage: ((damage: SqliteQueueDamage) => void) | undefined,
): void {
  try {
    calm(onDamage?.(damage));
  } catch {
    // The host's own function.
  }
}
