/** Nothing but SQLite opens the file: closing any descriptor would drop the locks of the process. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixtureCommand, isInstalled } from '../../helpers/child-programs.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';

const hasStrace = isInstalled('strace');

/** Calls that open or close a descriptor of the file, by the file's path. */
function callsOf(trace: string, file: string): string[] {
  const lines = trace
    .split('\n')
    .filter((line) => line.includes(`${file}"`) || line.includes(`${file}>`));
  return lines.map((line) => /\b(openat|open|close)\(/.exec(line)?.[1] ?? '').filter(Boolean);
}

describe('the file of a queue', () => {
  test.runIf(hasStrace)(
    'is opened once, and closed only when the process ends',
    () => {
      const folder = temporaryFolder();
      const file = join(folder, 'queue.db');
      const trace = join(folder, 'trace');
      const options = ['-f', '-y', '-e', 'trace=open,openat,close', '-o', trace];
      const { status } = spawnSync('strace', [
        ...options,
        ...fixtureCommand('sqlite-exit', [file, 'busy']),
      ]);
      expect(status).toBe(0);
      const text = readFileSync(trace, 'utf8');
      for (const name of [file, `${file}-wal`, `${file}-shm`]) {
        const calls = callsOf(text, name);
        expect({ name, opened: calls.filter((call) => call.startsWith('open')).length }).toEqual({
          name,
          opened: 1,
        });
        expect(calls.slice(0, 1)).toEqual(['openat']);
        expect(calls.slice(1)).toEqual(
          calls
            .slice(1)
            .filter((call) => call === 'close')
            .slice(0, 1),
        );
      }
    },
    60_000,
  );
});
