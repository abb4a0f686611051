import { describe, expect, it } from 'vitest';
import { exactDuration } from '../../../src/cli/schedule-table.ts';
import { explainSchedule } from '../../../src/index.ts';
import { runCommand } from '../../helpers/terminal.ts';

describe('schedule', () => {
  it('shows the default of sendWebhook as a table', async () => {
    expect(await runCommand(['schedule', '--of', 'sendWebhook'])).toEqual({
      exitCode: 0,
      stdout: [
        'attempt    wait  earliest   latest',
        '      1     0 s       0 s      0 s',
        '      2  500 ms    500 ms   625 ms',
        '      3     2 s     2.5 s  3.125 s',
        '      4     5 s     7.5 s  9.375 s',
        '',
        'total: 4 attempts, the last after 7.5 s to 9.375 s; no horizon; given up, since the schedule has no more delays',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  it('shows that of a durable queue unless told otherwise, and which attempts chance decides', async () => {
    const { stdout } = await runCommand(['schedule']);
    const lines = stdout.split('\n');
    expect(lines[1]).toBe('      1     0 s               0 s                  0 s');
    expect(lines[14]).toBe(
      '     14    12 h  63 h 42 min 35 s                 72 h  not with every jitter',
    );
    expect(lines[16]).toBe(
      'total: 14 attempts, the last after 63 h 42 min 35 s to 72 h; horizon 72 h; given up, since the next attempt would be after the horizon',
    );
  });

  it.each([
    [[], {}],
    [['--of', 'memory'], { of: 'memory' }],
    [['--delays', '1s, 250ms,2m'], { schedule: { delaysMs: [1000, 250, 120_000] } }],
    [['--delays='], { schedule: { delaysMs: [] } }],
    [
      ['--delays=10s', '--repeat-last', '--horizon', '1h', '--max-wait', '30s'],
      {
        schedule: { delaysMs: [10_000], repeatLast: true, horizonMs: 3_600_000, maxWaitMs: 30_000 },
      },
    ],
  ] as const)('%j gives what explainSchedule gives', async (words, what) => {
    const { exitCode, stdout } = await runCommand(['schedule', '--json', ...words]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(explainSchedule(what));
  });

  it.each([
    [
      ['--delays=0'],
      'total: 2 attempts, at once; horizon 72 h; given up, since the schedule has no more delays',
    ],
    [
      ['--delays='],
      'total: 1 attempt, at once; horizon 72 h; given up, since the schedule has no more delays',
    ],
    [
      ['--delays=1s,1h', '--max-wait=10m'],
      'total: 2 attempts, the last after 1 s to 1.25 s; horizon 72 h; given up, since the next wait would be longer than any may be',
    ],
    [
      ['--delays=1s', '--repeat-last'],
      'total: 1000 attempts, the last after 16 min 39 s to 20 min 48.75 s; horizon 72 h; there are more, which are not listed',
    ],
  ])('%j says how it ends', async (words, end) => {
    const { stdout } = await runCommand(['schedule', ...words]);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(end);
  });

  it.each([
    [['--of', 'postgres'], '--of must be one of durable, memory, sendWebhook'],
    [['--delays', '5'], '--delays must be a time with its unit'],
    [['--delays', '1s,,2s'], '--delays must be a time with its unit'],
    [['--max-wait', '30d'], 'expected schedule.maxWaitMs to be an integer from 0 to 2147483647'],
    [['--of=sendWebhook', '--repeat-last'], 'schedule.repeatLast needs schedule.horizonMs'],
  ])('%j is a wrong use', async (words, message) => {
    const { exitCode, stdout, stderr } = await runCommand(['schedule', ...words]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});

it.each([
  [0, '0 s'],
  [1, '1 ms'],
  [999, '999 ms'],
  [1000, '1 s'],
  [6250, '6.25 s'],
  [59_999, '59.999 s'],
  [60_000, '1 min'],
  [155_000, '2 min 35 s'],
  [3_600_000, '1 h'],
  [3_600_500, '1 h 0.5 s'],
  [259_200_000, '72 h'],
])('%d ms are %s', (ms, text) => {
  expect(exactDuration(ms)).toBe(text);
});
