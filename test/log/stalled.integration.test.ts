import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import type { LogWriterStats } from '../../src/log/write-counters.ts';
import { logFixtureCommand, startChild, waitForExit } from '../helpers/child-programs.ts';
import { parseLines } from '../helpers/log-records.ts';
import { type OnFinished, stalledPipe } from '../helpers/temporary-files.ts';

/** How a parent that stops reading looks from inside: Node's own parents give sockets. */
const STALLED: Readonly<Record<string, (ending: string, onFinished: OnFinished) => ChildProcess>> =
  {
    pipe: (ending, onFinished) => {
      const { fd } = stalledPipe(onFinished);
      return startChild(logFixtureCommand('flood', [ending]), ['ignore', fd, 'pipe'], onFinished);
    },
    socket: (ending, onFinished) => {
      const child = startChild(logFixtureCommand('flood', [ending]), undefined, onFinished);
      child.stdout?.pause();
      return child;
    },
  };

/** Like `waitForExit`, without reading standard output. */
async function endUnread(
  child: ChildProcess,
): Promise<{ code: number | null; stats: LogWriterStats }> {
  if (child.stderr === null) throw new Error('the child has no standard error');
  // The process may exit before its last output arrives.
  const [printed, [code]] = await Promise.all([
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stats: JSON.parse(printed) as LogWriterStats };
}

describe.concurrent('with sync: false', () => {
  test.for(['natural', 'exit'])(
    'a pipe or socket without a reader does not keep the process alive (%s)',
    async (ending, { onTestFinished }) => {
      const ends = await Promise.all(
        Object.values(STALLED).map((run) => endUnread(run(ending, onTestFinished))),
      );
      for (const { code, stats } of ends) {
        expect(code).toBe(0);
        expect(stats.pending).toBeGreaterThan(0);
        expect(stats.written + stats.pending).toBe(2000);
      }
    },
  );

  test.for(['natural', 'close'])(
    'a reader that reads gets every line before the process ends (%s)',
    async (ending, { onTestFinished }) => {
      const child = startChild(logFixtureCommand('flood', [ending]), undefined, onTestFinished);
      const end = await waitForExit(child);
      expect(end.code).toBe(0);
      expect(parseLines(end.stdout)).toHaveLength(2000);
      expect(JSON.parse(end.stderr)).toMatchObject({ written: 2000, pending: 0, dropped: 0 });
    },
  );
});
