import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { DurableQueue } from '../../../src/queue/queue.ts';
import { createSqliteQueue, type SqliteQueueOptions } from '../../../src/queue/sqlite.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { INITIAL } from '../conformance/trial.ts';

/** A file that does not exist yet, in a folder of its own. */
export const newFile = (): string => join(temporaryFolder(), 'queue.db');

/** Opens a queue that is closed after the test. */
export async function openQueue(
  options: SqliteQueueOptions,
  clock?: Parameters<typeof createSqliteQueue>[1],
  create: typeof createSqliteQueue = createSqliteQueue,
): Promise<DurableQueue> {
  const queue = create(options, clock);
  onTestFinished(async () => void (await queue.close().catch(() => {})));
  await queue.open(INITIAL);
  return queue;
}
