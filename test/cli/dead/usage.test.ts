import { describe, expect, test } from 'vitest';
import { outcome, runCommand } from '../../helpers/terminal.ts';

const QUEUE_HINT =
  'Use --sqlite FILE, or --postgres with the connection in DATABASE_URL or PGHOST and so on.';
const SELECTION_HINT =
  'Give ids, --application, --reason or --since; or --all for all dead letters.';

describe('the options of dead commands', () => {
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
      'ids and a number',
      ['replay', '1', '--sqlite', 'x', '--limit', '5'],
      'give ids or --limit, not both',
    ],
  ])('%s exits with 2', async (_what, words, message) => {
    expect(await runCommand(['dead', ...words])).toEqual(
      outcome(2, '', `security-events: ${message}\n`),
    );
  });

  test.each([
    ['show', 'postgres://u:hunter2@db/x', '--postgres'],
    ['replay', '--postgres', 'POSTGRESQL://u:hunter2@db/x'],
    ['show', '17', '--sqlite', 'postgres://u:hunter2@db/x'],
    ['list', '--postgres=postgres://u:hunter2@db/x'],
  ])('a connection string may not be an argument, and is not repeated: %s', async (...words) => {
    const { exitCode, stdout, stderr } = await runCommand(['dead', ...words]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).not.toContain('hunter2');
    const hasHint = stderr.includes('Set DATABASE_URL and use --postgres.');
    // `list` takes no words, so it has no hint about them.
    expect(hasHint).toBe(words[0] !== 'list');
  });
});

describe('an unreachable database', () => {
  const REFUSED = 'postgresql://somebody:hunter2@127.0.0.1:1/hunter2';

  test('exits with 3 and does not print the connection string', async () => {
    const environment = { DATABASE_URL: REFUSED };
    const run = await runCommand(['dead', 'list', '--postgres'], { environment });
    expect({ ...run, stderr: run.stderr.split('. ')[0] }).toEqual(
      outcome(3, '', 'security-events: The queue failed: no connection (ECONNREFUSED)'),
    );
    expect(run.stderr).not.toContain('hunter2');
  });

  test('an invalid connection string exits with 2 and is not repeated', async () => {
    const environment = { DATABASE_URL: 'postgresql://somebody:hunter2@db:99999999/x' };
    const { exitCode, stderr } = await runCommand(['dead', 'list', '--postgres'], { environment });
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain('hunter2');
  });
});

test.each(['abc', '0', '65536'])('refuses PGPORT=%s', async (PGPORT) => {
  const result = await runCommand(['dead', 'list', '--postgres'], { environment: { PGPORT } });
  expect(result).toEqual(
    outcome(
      2,
      '',
      'security-events: the environment variable PGPORT must be a whole number from 1 to 65535\n',
    ),
  );
});
