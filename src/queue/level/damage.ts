/** What is told of a folder that was damaged. Counts and ids of applications: no content, no secret. */
import { channel } from 'node:diagnostics_channel';
import { calm } from '../../system/calm.ts';

/** By what damage was noticed. */
export type DamageSign =
  /** files of the store are missing, cut or cannot be read: it was put together anew from the others */
  | 'files'
  /** writes in the middle of the newest file cannot be read */
  | 'writes'
  /** rows are not as they were written */
  | 'rows'
  /** less waits than was counted */
  | 'counts'
  /** the process ended while it was making up for damage */
  | 'unfinished';

/** What lay in a row that cannot be read. */
export type DamagedRow =
  /** the numbers of the whole queue */
  | 'queue'
  /** the counts of an application, its lane, and whether it is closed */
  | 'application'
  /** a message that waits */
  | 'message'
  /** when a message is due again, and how often it was sent */
  | 'wait'
  /** which messages were claimed */
  | 'claim'
  | 'dead-letter'
  /** what was told of an incident */
  | 'incident'
  /** nobody knows: its key is damaged, too */
  | 'unknown';

export interface DamagedApplication {
  readonly applicationId: string;
  /** Accepted messages that are gone; `stats()` counts them as discarded, for the reason `lost`. */
  readonly lost: number;
  /** Messages that are there again though they had ended: they are accepted and delivered once more. */
  readonly reappeared: number;
}

/** That the folder of a queue was damaged, and what is gone as far as that can be known. */
export interface QueueDamage {
  /** As it was given. */
  readonly folder: string;
  /** At least one. */
  readonly signs: readonly DamageSign[];
  /** How many rows were there and could not be read. Those in lost files are not among them. */
  readonly unreadable: Readonly<Partial<Record<DamagedRow, number>>>;
  /** Of all applications. */
  readonly lost: number;
  readonly reappeared: number;
  /** Messages of which only the wait is gone: they are due at once, as sent once more than is known. */
  readonly dueAtOnce: number;
  /** Those that have lost something, or have something again. */
  readonly applications: readonly DamagedApplication[];
}

/** Told of {@link QueueDamage}, wherever somebody listens. */
const DAMAGED_CHANNEL = 'security-event-delivery:queue-damaged';

/** Never throws: what is intact is to be delivered, whatever the host makes of the rest. */
export function tellDamage(
  damage: QueueDamage,
  onDamage: ((damage: QueueDamage) => void) | undefined,
): void {
  const { signs, unreadable, lost, reappeared, dueAtOnce } = damage;
  const isFound = Object.keys(unreadable).length > 0 || lost + reappeared + dueAtOnce > 0;
  // A count of before the folder was opened anew may be compared with what is there now.
  if (!isFound && signs.every((sign) => sign === 'counts')) return;
  channel(DAMAGED_CHANNEL).publish(damage);
  try {
    calm(onDamage?.(damage));
  } catch {
    // The host's own function.
  }
}
