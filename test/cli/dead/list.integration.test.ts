import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import {
  type DeadLetterSpec,
  deadIds,
  deadLetterSpecs,
  fillQueueFile,
  NOON_MS,
  queueFileWith,
} from '../../helpers/queues.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { fakeTerminal, outcome, runCommand } from '../../helpers/terminal.ts';

const HOUR_MS = 3_600_000;

const BLOG = { applicationId: 'blog-1' } as const;
const LATE = { reason: 'horizon-passed' } as const;
const after = (hours: number) => ({ diedAt: NOON_MS + hours * HOUR_MS });
const FIVE: readonly DeadLetterSpec[] = [
  { messageId: 'a', text: 'hunter2' },
  { messageId: 'b', ...BLOG, ...LATE, lastAttempt: null, sends: 0 },
  { messageId: 'c', reason: 'too-large', lastAttempt: { status: 413 }, ...after(1) },
  {
    messageId: 'd',
    ...LATE,
    lastAttempt: { failure: 'connection-refused' },
    sends: 12,
    ...after(2),
  },
  {
    messageId: 'e',
    ...BLOG,
    reason: 'destination-closed',
    lastAttempt: { status: 410 },
    ...after(3),
  },
];

const clock = createFakeClock(NOON_MS + 4 * HOUR_MS);

const list = (file: string, ...words: string[]) =>
  runCommand(['dead', 'list', '--sqlite', file, ...words], { clock });

async function jsonOf(file: string, ...words: string[]): Promise<Record<string, unknown>[]> {
  const { exitCode, stdout } = await list(file, '--json', ...words);
  expect(exitCode).toBe(0);
  const lines = stdout.split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const listed = async (file: string, ...words: string[]): Promise<unknown[]> =>
  (await jsonOf(file, ...words)).map(({ message_id }) => message_id);

describe('dead list', () => {
  const file = join(temporaryFolder(afterAll), 'queue.db');
  let ids: readonly string[] = [];

  beforeAll(async () => {
    await fillQueueFile(file, FIVE);
    ids = await deadIds(file);
  });

  test('prints a table without payloads, oldest first', async () => {
    const lines = [
      'ID  DIED                      APPLICATION  REASON              LAST RESULT         SENDS  MESSAGE',
      `${ids[0]}  2026-11-20T12:00:00.000Z  shop-1       attempts-exhausted  404                 6      a`,
      `${ids[1]}  2026-11-20T12:00:00.000Z  blog-1       horizon-passed      -                   0      b`,
      `${ids[2]}  2026-11-20T13:00:00.000Z  shop-1       too-large           413                 6      c`,
      `${ids[3]}  2026-11-20T14:00:00.000Z  shop-1       horizon-passed      connection-refused  12     d`,
      `${ids[4]}  2026-11-20T15:00:00.000Z  blog-1       destination-closed  410                 6      e`,
      '',
    ];
    expect(await list(file)).toEqual(outcome(0, lines.join('\n'), '5 dead letters\n'));
  });

  test('prints one line of JSON each with --json, equal to what deadLetters() returns', async () => {
    const facts = { format: 2, acceptedAt: NOON_MS - 60_000, diedAt: NOON_MS };
    const shop = { applicationId: 'shop-1', reason: 'attempts-exhausted', status: 404, sends: 6 };
    expect(await jsonOf(file, '--limit', '2')).toEqual([
      { ...facts, ...shop, id: ids[0], message_id: 'a' },
      { ...facts, ...BLOG, ...LATE, id: ids[1], message_id: 'b', sends: 0 },
    ]);
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ['an application', ['--application', 'blog-1'], ['b', 'e']],
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

  test('applies --limit to the filtered dead letters of all pages', async () => {
    const many = deadLetterSpecs(450).map((death, index): DeadLetterSpec => {
      return index % 3 === 0 ? { ...death, reason: 'too-large' } : death;
    });
    const other = await queueFileWith(many);
    const large = many
      .filter(({ reason }) => reason === 'too-large')
      .map(({ messageId }) => messageId);
    expect(await listed(other, '--reason', 'too-large')).toEqual(large);
    expect(await listed(other, '--reason', 'too-large', '--limit', '149')).toEqual(
      large.slice(0, 149),
    );
    expect(await listed(other)).toHaveLength(450);
  });

  test('escapes control characters of received values', async () => {
    const hostile = '\u001b[2J\u202e\u{E0041}';
    const other = await queueFileWith([{ messageId: hostile, applicationId: hostile }]);
    for (const words of [[], ['--json']]) {
      const { stdout } = await list(other, ...words);
      for (const moving of ['\u001b', '\u202e']) expect(stdout).not.toContain(moving);
      expect(stdout).toContain('\\u001b[2J\\u202e');
    }
    expect(await listed(other)).toEqual([hostile]);
  });

  test('limits the width of a column', async () => {
    const other = await queueFileWith([
      { messageId: 'a', applicationId: 'x'.repeat(100) },
      { messageId: 'b' },
    ]);
    const { stdout } = await list(other);
    const [, id] = await deadIds(other);
    expect(stdout.split('\n')[2]).toBe(
      `${id}  2026-11-20T12:00:00.000Z  ${'shop-1'.padEnd(40)}  attempts-exhausted  404          6      b`,
    );
  });
});

describe('a long list', () => {
  const count = quickOrNightly(1000, 100_000);

  test('is written page by page, and ends with 0 when the reader leaves', async () => {
    const file = await queueFileWith(deadLetterSpecs(count));
    const sizes: number[] = [];
    const words = ['dead', 'list', '--sqlite', file, '--json'];
    const { exitCode, stderr } = await runCommand(words, {
      onOutput: (text) => void sizes.push(text.split('\n').length - 1),
    });
    expect([exitCode, stderr]).toEqual([0, `${count.toLocaleString('en')} dead letters\n`]);
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
    // The queue was closed: the file can be opened again.
    expect((await runCommand([...words, '--limit', '1'])).exitCode).toBe(0);
  }, 120_000);
});

describe('dead list of a path without a queue', () => {
  test('exits with 3 when the file is missing, and creates none', async () => {
    const file = join(temporaryFolder(), 'none', 'queue.db');
    expect(await list(file)).toEqual(
      outcome(3, '', `security-events: ${file}: no such file or directory\n`),
    );
    expect(existsSync(dirname(file))).toBe(false);
  });

  test.each(['an empty file', 'a folder'])('exits with 3 when it is %s', async (what) => {
    const folder = temporaryFolder();
    const path = join(folder, 'other');
    if (what === 'a folder') mkdirSync(path, { mode: 0o755 });
    else writeFileSync(path, '', { mode: 0o644 });
    const before = [statSync(path).mode, readdirSync(folder)];
    expect(await list(path)).toEqual(
      outcome(3, '', `security-events: ${path} contains no queue\n`),
    );
    expect([statSync(path).mode, readdirSync(folder)]).toEqual(before);
  });
});

test('dead list reports a damaged file on standard error', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  await runFixture('sqlite-exit', [file, 'kill']);
  rmSync(`${file}-wal`);
  expect(await list(file)).toEqual(
    outcome(0, '', 'The file is damaged: 5 messages are missing.\n0 dead letters\n'),
  );
});

test('dead list exits with 3 for an unreachable database, and does not print its address', async () => {
  const environment = { DATABASE_URL: 'postgresql://somebody:hunter2@127.0.0.1:1/hunter2' };
  const { exitCode, stderr } = await runCommand(['dead', 'list', '--postgres'], { environment });
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/^security-events: The queue failed: no connection \(ECONNREFUSED\)\n/);
  expect(stderr).not.toContain('hunter2');
});
