/** What one caller after the other cannot show: calls of all kinds at once, on a slow store that may fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { copyAsKilled } from '../../helpers/copy-as-killed.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { ConcurrentRun } from './concurrent-run.ts';
import { drain, tables } from './drain.ts';
import { createLevelQueue, ROW } from './old-trial.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'level-concurrent-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const SEEDS = Array.from({ length: quickOrNightly(2, 20) }, (_, index) => 1 + 10 * index);

async function empties(place: string): Promise<void> {
  const queue = createLevelQueue({ folder: place, sync: false });
  await queue.open(ROW);
  expect(await drain(queue)).toBeUndefined();
  const { dead } = await queue.stats();
  await queue.close();
  const { a: _, M: __, ...left } = await tables(place);
  expect(left).toEqual(dead === 0 ? {} : { x: dead, y: dead });
}

describe.each([
  ['slow', 0],
  ['slow and fails', 0.01],
])('where the store is %s, calls at once', (_, failures) => {
  test.each(SEEDS)('lose and forget nothing, and leave nothing behind (seed %i)', async (seed) => {
    const live = join(folder, 'live');
    const run = new ConcurrentRun({
      seed,
      folder: live,
      calls: quickOrNightly(800, 3000),
      failures,
    });
    await run.live();
    expect(run.wrong.slice(0, 5)).toEqual([]);
    // As a crash leaves it, and as it is closed.
    copyAsKilled(live, join(folder, 'crashed'));
    const { accepted, delivered, pending, dead } = await run.queue.stats();
    const known = [...run.messages.values()].filter(({ isAccepted }) => isAccepted).length;
    // What failed may have been written.
    const most = failures > 0 ? Number.POSITIVE_INFINITY : 0;
    expect(accepted - known).toBeGreaterThanOrEqual(0);
    expect(accepted - known).toBeLessThanOrEqual(most);
    expect(delivered - run.delivered).toBeGreaterThanOrEqual(0);
    expect(delivered - run.delivered).toBeLessThanOrEqual(most);
    const { left } = await run.queue.close();
    expect(left).toBe(pending);
    const { f = 0, b = 0, x = 0, y = 0 } = await tables(live);
    expect([f + b, x, y]).toEqual([pending, dead, dead]);
    await empties(join(folder, 'crashed'));
    await empties(live);
  });
});
