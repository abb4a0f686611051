/** kill -9 of processes that share a file: nothing that was accepted is lost, no send is forgotten. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../../helpers/seeded-random.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { kill, LifeJournal, startLife } from '../life-journal.ts';
import { openQueue } from './open-queue.ts';
import { integrityOf, wrongCountersOf } from './raw-database.ts';

/** Steps that each process does at a time. */
const STEPS = 3;

describe('a queue in an SQLite file', () => {
  test('keeps what was accepted when its processes are killed again and again', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'queue.db');
    const journal = new LifeJournal(join(folder, 'journal'));
    const random = createSeededRandom(1);
    const wanted = quickOrNightly(4, 200);
    let kills = 0;
    for (let generation = 0; kills < wanted; generation += 1) {
      const count = 2 + (generation % 3);
      const lives = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          startLife('sqlite-workload', [file, journal.file, `${generation * 4 + index}`]),
        ),
      );
      await journal.waitUntilBusy(generation + 1);
      const ends = lives.map(async (child) => {
        await new Promise((resolve) => setTimeout(resolve, random() * 300));
        await kill(child);
      });
      await Promise.all(ends);
      kills += count;
      expect(integrityOf(file)).toBe('ok');
      expect(wrongCountersOf(file)).toEqual([]);
    }
    expect(journal.idsOf('failed')).toEqual([]);
    const reports: unknown[] = [];
    const queue = await openQueue({ file, onDamage: (report) => reports.push(report) });
    await journal.judge(queue, kills * STEPS);
    expect(reports).toEqual([]);
  }, 1_200_000);
});
