import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { type Death, deadIds, deaths, fileWith, fill, NOON_MS } from '../../helpers/queues.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { fakeTerminal, runCommand } from '../../helpers/terminal.ts';

const HOUR_MS = 3_600_000;

const FIVE: readonly Death[] = [
  { messageId: 'a', text: 'hunter2' },
  { messageId: 'b', applicationId: 'blog-1', reason: 'horizon-passed', end: null, sends: 0 },
  { messageId: 'c', reason: 'too-large', end: { status: 413 }, diedAt: NOON_MS + HOUR_MS },
  {
    messageId: 'd',
    reason: 'horizon-passed',
    end: { failure: 'connection-refused' },
    sends: 12,
    diedAt: NOON_MS + 2 * HOUR_MS,
  },
  {
    messageId: 'e',
    applicationId: 'blog-1',
    reason: 'destination-closed',
    end: { status: 410 },
    diedAt: NOON_MS + 3 * HOUR_MS,
  },
];

const clock = createFakeClock(NOON_MS + 4 * HOUR_MS);

interface Listed {
  readonly message_id: string;
}

async function listed(file: string, ...words: string[]): Promise<string[]> {
  const command = ['dead', 'list', '--sqlite', file, '--json', ...words];
  const { exitCode, stdout } = await runCommand(command, { clock });
  expect(exitCode).toBe(0);
  const lines = stdout.split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as Listed).message_id);
}

describe('dead list', () => {
  let folder = '';
  let file = '';
  let ids: readonly string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dead-list-'));
    file = join(folder, 'queue.db');
    await fill(file, FIVE);
    ids = await deadIds(file);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('shows a table, the oldest first, and no payload', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['dead', 'list', '--sqlite', file]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '5 dead letters\n' });
    expect(stdout).toBe(
      [
        'ID  DIED                      APPLICATION  REASON              LAST RESULT         SENDS  MESSAGE',
        `${ids[0]}  2026-11-20T12:00:00.000Z  shop-1       attempts-exhausted  404                 6      a`,
        `${ids[1]}  2026-11-20T12:00:00.000Z  blog-1       horizon-passed      -                   0      b`,
        `${ids[2]}  2026-11-20T13:00:00.000Z  shop-1       too-large           413                 6      c`,
        `${ids[3]}  2026-11-20T14:00:00.000Z  shop-1       horizon-passed      connection-refused  12     d`,
        `${ids[4]}  2026-11-20T15:00:00.000Z  blog-1       destination-closed  410                 6      e`,
        '',
      ].join('\n'),
    );
  });

  test('gives programs a line each, as deadLetters() of a sender does', async () => {
    const words = ['dead', 'list', '--sqlite', file, '--json', '--limit', '2'];
    const { stdout } = await runCommand(words);
    const facts = { format: 2, acceptedAt: NOON_MS - 60_000, diedAt: NOON_MS };
    expect(
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      {
        ...facts,
        id: ids[0],
        applicationId: 'shop-1',
        message_id: 'a',
        reason: 'attempts-exhausted',
        status: 404,
        sends: 6,
      },
      {
        ...facts,
        id: ids[1],
        applicationId: 'blog-1',
        message_id: 'b',
        reason: 'horizon-passed',
        sends: 0,
      },
    ]);
    expect(stdout).not.toContain('hunter2');
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ['an application', ['--application', 'blog-1'], ['b', 'e']],
    ['an unknown application', ['--application', 'none'], []],
    ['a reason', ['--reason', 'horizon-passed'], ['b', 'd']],
    ['a time ago', ['--since', '150m'], ['d', 'e']],
    ['exactly a time ago', ['--since', '2h'], ['d', 'e']],
    ['a number', ['--limit', '2'], ['a', 'b']],
    ['as many as there are', ['--limit', '5'], ['a', 'b', 'c', 'd', 'e']],
    [
      'all of these',
      ['--application', 'blog-1', '--since', '1d', '--reason', 'horizon-passed', '--limit', '1'],
      ['b'],
    ],
  ])('can be of %s', async (_what, words, expected) => {
    expect(await listed(file, ...words)).toEqual(expected);
  });

  test('counts to the limit what the filters mean, over pages', async () => {
    const many = deaths(450).map((death, index): Death => {
      return index % 3 === 0 ? { ...death, reason: 'too-large' } : death;
    });
    const other = await fileWith(many);
    const large = many
      .filter(({ reason }) => reason === 'too-large')
      .map(({ messageId }) => messageId);
    expect(await listed(other, '--reason', 'too-large')).toEqual(large);
    expect(await listed(other, '--reason', 'too-large', '--limit', '149')).toEqual(
      large.slice(0, 149),
    );
    expect(await listed(other)).toHaveLength(450);
  });

  test('tells of none with exit code 0', async () => {
    const other = await fileWith([]);
    expect(await runCommand(['dead', 'list', '--sqlite', other])).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: '0 dead letters\n',
    });
  });

  test('cannot be made to move the cursor by what others sent', async () => {
    const hostile = '\u001b[2J\u202e\u{E0041}';
    const other = await fileWith([{ messageId: hostile, applicationId: hostile }]);
    for (const words of [[], ['--json']]) {
      const { stdout } = await runCommand(['dead', 'list', '--sqlite', other, ...words]);
      for (const moving of ['\u001b', '\u202e']) expect(stdout).not.toContain(moving);
      expect(stdout).toContain('\\u001b[2J\\u202e');
    }
    expect(await listed(other)).toEqual([hostile]);
  });

  test('does not let one long id push all others out of sight', async () => {
    const other = await fileWith([
      { messageId: 'a', applicationId: 'x'.repeat(100) },
      { messageId: 'b' },
    ]);
    const { stdout } = await runCommand(['dead', 'list', '--sqlite', other]);
    const [, id] = await deadIds(other);
    expect(stdout.split('\n')[2]).toBe(
      `${id}  2026-11-20T12:00:00.000Z  ${'shop-1'.padEnd(40)}  attempts-exhausted  404          6      b`,
    );
  });
});

describe('a long list', () => {
  const count = quickOrNightly(1000, 100_000);

  test('is written page by page, and ends quietly where nobody reads any more', async () => {
    const file = await fileWith(deaths(count));
    const sizes: number[] = [];
    const words = ['dead', 'list', '--sqlite', file, '--json'];
    const { exitCode, stderr } = await runCommand(words, {
      onOutput: (text) => void sizes.push(text.split('\n').length - 1),
    });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: `${count.toLocaleString('en')} dead letters\n`,
    });
    expect(sizes).toEqual(Array(count / 200).fill(200));

    let writes = 0;
    const terminal = fakeTerminal({
      onOutput: () => {
        writes += 1;
        terminal.closeOutput();
      },
    });
    expect(await runCommandLine(words, terminal)).toBe(0);
    expect([writes, terminal.stderr()]).toEqual([1, '']);
    // The file can be used again.
    expect((await runCommand([...words, '--limit', '1'])).exitCode).toBe(0);
  }, 120_000);
});

describe('dead list of a path without a queue', () => {
  test('is an outage when nothing is there, and makes nothing', async () => {
    const file = join(temporaryFolder(), 'none', 'queue.db');
    expect(await runCommand(['dead', 'list', '--sqlite', file])).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: `security-events: ${file}: no such file or directory\n`,
    });
    expect(existsSync(dirname(file))).toBe(false);
  });

  test.each(['an empty file', 'a folder'])('is an outage when it is %s', async (what) => {
    const folder = temporaryFolder();
    const path = join(folder, 'other');
    if (what === 'a folder') mkdirSync(path, { mode: 0o755 });
    else writeFileSync(path, '', { mode: 0o644 });
    const before = [statSync(path).mode, readdirSync(folder)];
    expect(await runCommand(['dead', 'list', '--sqlite', path])).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: `security-events: ${path} contains no queue\n`,
    });
    expect([statSync(path).mode, readdirSync(folder)]).toEqual(before);
  });

  test('refuses the file of another program, and leaves it as it was', async () => {
    const file = join(temporaryFolder(), 'notes.txt');
    writeFileSync(file, 'mine');
    const { exitCode, stdout, stderr } = await runCommand(['dead', 'list', '--sqlite', file]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('The queue file belongs to another program');
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});

test('dead list tells on standard error that the file was damaged', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  await runFixture('sqlite-end', [file, 'kill']);
  rmSync(`${file}-wal`);
  expect(await runCommand(['dead', 'list', '--sqlite', file])).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'The file is damaged: 5 messages are missing.\n0 dead letters\n',
  });
});
