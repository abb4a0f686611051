/** Reports of a damaged file. They have counts and ids of applications: no content, no secret. */
import { channel } from 'node:diagnostics_channel';
import { calm } from '../../system/calm.ts';
import type { LostMessages } from './protocol.ts';

/** Damage that the queue found in its file. The intact messages are delivered. */
export interface SqliteQueueDamage {
  /** The file's real path. */
  readonly file: string;
  /**
   * `rows`: messages whose stored form is damaged. They are not sent, count as discarded (`lost`), and
   * are kept in the table `damaged_message`. `missing-wal`: the write-ahead log was removed after a
   * process was killed. What was accepted since the last checkpoint is gone, and nobody can count it.
   */
  readonly kind: 'rows' | 'missing-wal';
  /** Number of messages lost, by application; empty for `missing-wal`. */
  readonly applications: readonly LostMessages[];
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
