import { describe, expect, test } from 'vitest';
import { runCommand } from '../../helpers/terminal.ts';

const QUEUE_HINT =
  'Use --sqlite FILE, or --postgres with the connection in DATABASE_URL or PGHOST and so on.';
const SELECTION_HINT =
  'Give ids, --application, --reason or --since; or --all for all dead letters.';

describe('the dead letters of which queue, and which of them', () => {
  test.each<[string, readonly string[], string]>([
    ['no queue', ['list'], `no queue given\n${QUEUE_HINT}`],
    [
      'two queues',
      ['list', '--sqlite', 'x', '--postgres'],
      `give --sqlite or --postgres, not both\n${QUEUE_HINT}`,
    ],
    [
      'an unknown reason',
      ['list', '--sqlite', 'x', '--reason', 'late'],
      '--reason must be one of: attempts-exhausted, horizon-passed, too-large, destination-closed',
    ],
    [
      'a time without a unit',
      ['list', '--sqlite', 'x', '--since', '12'],
      '--since needs a duration with a unit, such as 250ms, 2s, 5m, 12h or 3d',
    ],
    [
      'a limit of nothing',
      ['list', '--sqlite', 'x', '--limit', '0'],
      '--limit must be a whole number from 1 to 1000000000',
    ],
    ['no id', ['show', '--sqlite', 'x'], 'ID is missing'],
    ['nothing selected', ['replay', '--sqlite', 'x'], `nothing selected\n${SELECTION_HINT}`],
    ['nothing selected to go', ['purge', '--sqlite', 'x'], `nothing selected\n${SELECTION_HINT}`],
    [
      'a number alone',
      ['purge', '--sqlite', 'x', '--limit', '5'],
      `nothing selected\n${SELECTION_HINT}`,
    ],
    [
      'all and some',
      ['purge', '--sqlite', 'x', '--all', '--application', 'shop-1'],
      `give --all or a selection, not both\n${SELECTION_HINT}`,
    ],
    [
      'all and an id',
      ['replay', '1', '--sqlite', 'x', '--all'],
      `give --all or a selection, not both\n${SELECTION_HINT}`,
    ],
    [
      'ids and a number',
      ['replay', '1', '--sqlite', 'x', '--limit', '5'],
      'give ids or --limit, not both',
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
    ['list', '--postgres=postgres://u:hunter2@db/x'],
    ['list', '--postgres', 'postgres://u:hunter2@db/x'],
  ])('a connection string may not be an argument, and is not repeated: %s', async (...words) => {
    const { exitCode, stdout, stderr } = await runCommand(['dead', ...words]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).not.toContain('hunter2');
    const tells = stderr.includes('Set DATABASE_URL and use --postgres.');
    // Of words that it takes none of, nothing more is known.
    expect(tells).toBe(words[0] !== 'list');
  });
});

describe('a database that is not there', () => {
  const REFUSED = 'postgresql://somebody:hunter2@127.0.0.1:1/hunter2';

  test('is an outage that tells no connection string', async () => {
    const environment = { DATABASE_URL: REFUSED };
    const run = await runCommand(['dead', 'list', '--postgres'], { environment });
    expect({ ...run, stderr: run.stderr.split('. ')[0] }).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: 'security-events: The queue failed: no connection (ECONNREFUSED)',
    });
    expect(run.stderr).not.toContain('hunter2');
  });

  test('by a text that is no connection string is a wrong use that does not repeat it', async () => {
    const environment = { DATABASE_URL: 'postgresql://somebody:hunter2@db:99999999/x' };
    const { exitCode, stderr } = await runCommand(['dead', 'list', '--postgres'], { environment });
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain('hunter2');
  });
});

test.each(['abc', '0', '65536', '-1', '5432 '])('PGPORT=%s is no port', async (PGPORT) => {
  const told = await runCommand(['dead', 'list', '--postgres'], { environment: { PGPORT } });
  expect(told).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      'security-events: the environment variable PGPORT must be a whole number from 1 to 65535\n',
  });
});
