/** A queue in a folder of this machine that survives the process, and power loss. */
import type { IncidentStore } from '../incident/incident-store.ts';
import { systemClock } from '../system/clock.ts';
import type { QueueClock } from './in-process/moment.ts';
import { AdaptedLevelQueue } from './level/adapted-level-queue.ts';
import { type LevelQueueOptions, readLevelOptions } from './level/level-options.ts';
import { LevelQueue } from './level/level-queue.ts';
import type { LevelParts } from './level/state.ts';
import type { MessageQueue } from './queue.ts';

export type {
  DamagedApplication,
  DamagedRow,
  DamageSign,
  QueueDamage,
} from './level/damage.ts';
export type { LevelQueueOptions } from './level/level-options.ts';
export type { MessageQueue } from './queue.ts';

const PARTS: LevelParts = { load: () => import('classic-level'), onWrite: () => {} };

/** A queue, and what was told of incidents, which survives as its messages do. */
export interface LevelMessageQueue extends MessageQueue {
  /**
   * For the option `incidents` of `createReporter`. An incident is known for 30 days since it was last
   * told of; of more than 100,000, or of more than 1,000,000 addresses and accounts, those told of
   * longest ago are forgotten. It opens the folder where nobody has; it rejects as the queue does.
   */
  readonly incidents: IncidentStore;
}

/**
 * Makes a queue that keeps its messages in `folder`, by the optional peer `classic-level`
 * (`npm install classic-level@3`). Its durability is `'power-loss'`, or `'process-crash'` with
 * `sync: false`. The folder is opened by the first call, belongs to one process at a time, and is
 * readable for its owner only. Give no second argument: the clock is there for tests.
 *
 * `open` rejects with `ERR_PEER_MISSING`, with `ERR_QUEUE_LOCKED` where another process has the
 * folder, with `ERR_QUEUE_FOREIGN` where it holds another program's store, which stays as it is, and
 * with `ERR_QUEUE_FAILED` where it cannot be read.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function createLevelQueue(
  options: LevelQueueOptions,
  clock: QueueClock = systemClock,
): LevelMessageQueue {
  return new AdaptedLevelQueue(new LevelQueue(readLevelOptions(options), clock, PARTS));
}
