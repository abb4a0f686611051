import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { logFixtureCommand, startChild, waitForExit } from '../helpers/child-programs.ts';
import { parseLines } from '../helpers/log-records.ts';
import { type OnFinished, temporaryFolder } from '../helpers/temporary-files.ts';

const WRITTEN = ['one', 'two', 'three'];

/** The table in docs/log-writer.md; `buffered` holds with `sync: false`. */
const ENDINGS = [
  { ending: 'natural end', code: 0, signal: null, buffered: 3 },
  { ending: 'process.exit', code: 0, signal: null, buffered: 0 },
  { ending: 'uncaught throw', code: 1, signal: null, buffered: 0 },
  { ending: 'SIGTERM', code: null, signal: 'SIGTERM', buffered: 0 },
  { ending: 'SIGKILL', code: null, signal: 'SIGKILL', buffered: 0 },
] as const;

async function keptAfter(mode: 'sync' | 'buffered', ending: string, onFinished: OnFinished) {
  const path = join(temporaryFolder(onFinished), 'events.log');
  const command = logFixtureCommand('exit', [path, mode, ending]);
  const { code, signal } = await waitForExit(startChild(command, undefined, onFinished));
  const names = parseLines(readFileSync(path, 'utf8')).map(
    (line) => (line['context'] as { service: { name: string } }).service.name,
  );
  return { code, signal, names };
}

test.concurrent.for(ENDINGS)(
  'a synchronous file keeps 3 records of 3 after $ending',
  async ({ ending, code, signal }, { onTestFinished }) => {
    const end = await keptAfter('sync', ending, onTestFinished);
    expect(end).toEqual({ code, signal, names: WRITTEN });
  },
);

test.concurrent.for(ENDINGS)(
  'with sync: false a file keeps at least $buffered of 3 after $ending: whole lines, from the first',
  async ({ ending, code, signal, buffered }, { onTestFinished }) => {
    const end = await keptAfter('buffered', ending, onTestFinished);
    expect(end).toEqual({ code, signal, names: WRITTEN.slice(0, end.names.length) });
    expect(end.names.length).toBeGreaterThanOrEqual(buffered);
  },
);

test('the guide prints this table', () => {
  const guide = readFileSync(new URL('../../docs/log-writer.md', import.meta.url), 'utf8');
  for (const { ending, buffered } of ENDINGS) {
    const promised = buffered === WRITTEN.length ? 'everything' : 'all but pending lines';
    expect(guide).toMatch(new RegExp(`^\\|.*${ending}.*\\| everything \\| ${promised} \\|$`, 'm'));
  }
});
