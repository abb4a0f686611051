/** The end of a process whose queue is busy: no abort, no delay, and what was accepted is there. */
import { describe, expect, test } from 'vitest';
import { runFixture } from '../../helpers/child-programs.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../../helpers/seeded-random.ts';
import { deliverAll } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';
import { integrityOf } from './raw-database.ts';

const idsIn = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Exit codes by the way in which the process ends. */
const ENDS = { exit: 0, throw: 1, busy: 0, idle: 0 } as const;

describe('a process with a busy queue in an SQLite file', () => {
  test.each(Object.entries(ENDS))(
    'ends soon and cleanly by %s',
    async (how, code) => {
      const file = newFile();
      const random = createSeededRandom(code + how.length);
      const runs = quickOrNightly(3, 50);
      for (let run = 0; run < runs; run += 1) {
        const turns = `${Math.floor(random() * 300)}`;
        const ended = await runFixture('sqlite-exit', [file, how, turns]);
        // Node's own SQLite is experimental in some versions (D80): no warning of it.
        expect(ended.stderr).toMatch(how === 'throw' ? 'meant to be uncaught' : /^$/);
        expect(ended.exitCode).toBe(code);
        // The exit handler waits for the worker for 1.5 s at most, but one transaction is shorter.
        expect(ended.lingeredMs).toBeLessThan(500);
        const reports: unknown[] = [];
        const queue = await openQueue({ file, onDamage: (report) => reports.push(report) });
        const found = new Set(await deliverAll(queue));
        await queue.close();
        expect(reports).toEqual([]);
        expect(idsIn(ended.stdout).filter((id) => !found.has(id))).toEqual([]);
      }
      expect(integrityOf(file)).toBe('ok');
    },
    300_000,
  );
});
