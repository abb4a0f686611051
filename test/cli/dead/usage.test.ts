import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toldQueueError } from '../../../src/cli/dead/queue-of-letters.ts';
import { SecurityEventError } from '../../../src/index.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { runCommand } from '../../helpers/terminal.ts';

const QUEUE_HINT =
  'Give --sqlite FILE, or --postgres with the connection in DATABASE_URL or PGHOST and so on.';
const SELECTION_HINT =
  'Give ids, --application, --reason or --since; or --all for all dead letters.';

describe('the dead letters of which queue, and which of them', () => {
  test.each<[string, readonly string[], string]>([
    ['no queue', ['list'], `no queue is named\n${QUEUE_HINT}`],
    [
      'two queues',
      ['list', '--sqlite', 'x', '--postgres'],
      `expected --sqlite or --postgres, and not both\n${QUEUE_HINT}`,
    ],
    [
      'a file and a database of a file',
      ['list', '--sqlite', 'x', '--postgres-file', 'y'],
      `expected --sqlite or --postgres, and not both\n${QUEUE_HINT}`,
    ],
    [
      'two connections',
      ['list', '--postgres-env', 'X', '--postgres-file', 'y'],
      'expected one of --postgres-env and --postgres-file',
    ],
    [
      'a variable that is not set',
      ['list', '--postgres-env', 'NONE'],
      'the environment variable NONE is not set or empty',
    ],
    [
      'an unknown reason',
      ['list', '--sqlite', 'x', '--reason', 'late'],
      '--reason must be one of attempts-exhausted, horizon-passed, too-large, destination-closed',
    ],
    [
      'a time without its zone',
      ['list', '--sqlite', 'x', '--since', '2026-11-20T12:00:00'],
      '--since must be a day or a time with its zone, such as 2026-11-22 or 2026-11-22T08:00:00Z',
    ],
    [
      'a day that is none',
      ['list', '--sqlite', 'x', '--since', '2026-13-20'],
      '--since must be a day or a time with its zone, such as 2026-11-22 or 2026-11-22T08:00:00Z',
    ],
    [
      'a day that its month does not have',
      ['list', '--sqlite', 'x', '--since', '2026-02-30T08:00:00Z'],
      '--since must be a day or a time with its zone, such as 2026-11-22 or 2026-11-22T08:00:00Z',
    ],
    [
      'a time without a unit',
      ['list', '--sqlite', 'x', '--since', '12'],
      '--since must be a time with its unit, such as 250ms, 2s, 5m, 12h or 3d',
    ],
    [
      'a limit of nothing',
      ['list', '--sqlite', 'x', '--limit', '0'],
      '--limit must be a whole number from 1 to 9007199254740991',
    ],
    ['no id', ['show', '--sqlite', 'x'], 'ID is missing: of a dead letter'],
    ['nothing selected', ['replay', '--sqlite', 'x'], `nothing is selected\n${SELECTION_HINT}`],
    [
      'nothing selected to go',
      ['purge', '--sqlite', 'x'],
      `nothing is selected\n${SELECTION_HINT}`,
    ],
    [
      'a number alone',
      ['purge', '--sqlite', 'x', '--limit', '5'],
      `nothing is selected\n${SELECTION_HINT}`,
    ],
    [
      'all and some',
      ['purge', '--sqlite', 'x', '--all', '--application', 'shop-1'],
      `expected --all or a selection, and not both\n${SELECTION_HINT}`,
    ],
    [
      'all and an id',
      ['replay', '1', '--sqlite', 'x', '--all'],
      `expected --all or a selection, and not both\n${SELECTION_HINT}`,
    ],
    [
      'ids and a number',
      ['replay', '1', '--sqlite', 'x', '--limit', '5'],
      'expected ids or --limit, and not both',
    ],
  ])('%s is a wrong use', async (_what, words, message) => {
    expect(await runCommand(['dead', ...words])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `security-events: ${message}\n`,
    });
  });

  test.each([
    ['show', 'postgres://u:hunter2@db/x', '--postgres'],
    ['replay', '--postgres', 'POSTGRESQL://u:hunter2@db/x'],
    ['purge', '--postgres', 'socket:/hunter2'],
    ['show', '17', '--sqlite', 'postgres://u:hunter2@db/x'],
    ['show', '17', '--postgres-env', 'postgres://u:hunter2@db/x'],
    ['show', '17', '--postgres-file', 'postgres://u:hunter2@db/x'],
    ['list', '--postgres=postgres://u:hunter2@db/x'],
    ['list', '--postgres', 'postgres://u:hunter2@db/x'],
  ])('a connection string may not be an argument, and is not repeated: %s', async (...words) => {
    const { exitCode, stdout, stderr } = await runCommand(['dead', ...words]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).not.toContain('hunter2');
    const tells = stderr.includes('set DATABASE_URL, or use --postgres-env NAME');
    // Of words that it takes none of, nothing more is known.
    expect(tells).toBe(words[0] !== 'list');
  });
});

describe('a database that is not there', () => {
  const REFUSED = 'postgresql://somebody:hunter2@127.0.0.1:1/hunter2';

  test.each(['the usual variable', 'another variable', 'a file'])(
    'by %s is an outage that tells no connection string',
    async (by) => {
      const file = join(temporaryFolder(), 'connection');
      writeFileSync(file, `${REFUSED}\n`);
      const [words, environment] = {
        'the usual variable': [['--postgres'], { DATABASE_URL: REFUSED }],
        'another variable': [['--postgres-env', 'DB'], { DB: REFUSED, DATABASE_URL: 'nonsense' }],
        'a file': [['--postgres-file', file], { DATABASE_URL: 'nonsense' }],
      }[by] as [string[], Record<string, string>];
      const run = await runCommand(['dead', 'list', ...words], { environment });
      expect({ ...run, stderr: run.stderr.split('. ')[0] }).toEqual({
        exitCode: 3,
        stdout: '',
        stderr:
          'security-events: The queue could not do what was asked of it: no connection (ECONNREFUSED)',
      });
      expect(run.stderr).not.toContain('hunter2');
    },
  );

  test('by a text that is no connection string is a wrong use that does not repeat it', async () => {
    const environment = { DATABASE_URL: 'postgresql://somebody:hunter2@db:99999999/x' };
    const { exitCode, stderr } = await runCommand(['dead', 'list', '--postgres'], { environment });
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain('hunter2');
  });

  test('by an empty file is a wrong use', async () => {
    const file = join(temporaryFolder(), 'connection');
    writeFileSync(file, '\n');
    expect(await runCommand(['dead', 'list', '--postgres-file', file])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `security-events: ${file} is empty: it should hold a connection string\n`,
    });
  });
});

test('a package that is not installed is told with the command that installs it', () => {
  const detail = '@photostructure/sqlite (`npm install @photostructure/sqlite@1`)';
  expect(toldQueueError(new SecurityEventError('ERR_PEER_MISSING', { detail }))).toMatchObject({
    exitCode: 3,
    message: 'an optional package is not installed',
    hint: 'Run `npm install @photostructure/sqlite@1` where security-event-delivery is installed.',
  });
});

test('an error of another kind stays as it is', () => {
  for (const error of [new Error('x'), new SecurityEventError('ERR_QUEUE_FAILED')]) {
    expect(toldQueueError(error)).toBe(error);
  }
});

test.each(['abc', '0', '65536', '-1', '5432 '])('PGPORT=%s is no port', async (PGPORT) => {
  const told = await runCommand(['dead', 'list', '--postgres'], { environment: { PGPORT } });
  expect(told).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'security-events: the environment variable PGPORT is no port: expected 1 to 65535\n',
  });
});
