import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { contentOf, type Death, deadIds, deaths, fileWith, NOON_MS } from '../../helpers/queues.ts';
import { fakeTerminal, runCommand } from '../../helpers/terminal.ts';

const SIX: readonly Death[] = [
  { messageId: 'a' },
  { messageId: 'b', applicationId: 'blog-1' },
  { messageId: 'c', reason: 'too-large' },
  { messageId: 'd', applicationId: 'gone-1', reason: 'destination-closed' },
  { messageId: 'e', diedAt: NOON_MS + 60_000 },
  { messageId: 'f', applicationId: 'gone-1', reason: 'destination-closed' },
];

const STAYS =
  '2 of gone-1 not replayed: the destination answered 410 and is closed. Use --reopen.\n';

const clock = createFakeClock(NOON_MS + 60_000);

const dead = (file: string, ...words: string[]) =>
  runCommand(['dead', ...words, '--sqlite', file], { clock });

describe('dead replay', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['an application', ['--application', 'shop-1'], ['b', 'd', 'f']],
    ['a reason', ['--reason', 'too-large'], ['a', 'b', 'd', 'e', 'f']],
    ['a time', ['--since', '30s'], ['a', 'b', 'c', 'd', 'f']],
    [
      'the oldest of an application',
      ['--application', 'shop-1', '--limit', '2'],
      ['b', 'd', 'e', 'f'],
    ],
  ])('makes those of %s wait again, and leaves the others', async (_what, words, left) => {
    const file = await fileWith(SIX, ['gone-1']);
    const count = 6 - left.length;
    expect(await dead(file, 'replay', ...words)).toEqual({
      exitCode: 0,
      stdout: `${count} dead letter${count === 1 ? '' : 's'} replayed\n`,
      stderr: '',
    });
    expect(await contentOf(file)).toEqual({ dead: left, pending: count });
  });

  test('makes those of ids wait again, and leaves the others', async () => {
    const file = await fileWith(SIX, ['gone-1']);
    const ids = await deadIds(file);
    expect(await dead(file, 'replay', ids[4] ?? '', ids[0] ?? '')).toEqual({
      exitCode: 0,
      stdout: '2 dead letters replayed\n',
      stderr: '',
    });
    expect(await contentOf(file)).toEqual({ dead: ['b', 'c', 'd', 'f'], pending: 2 });
  });

  test('leaves those of closed destinations, says how many and how to go on, and means no', async () => {
    const file = await fileWith(SIX, ['gone-1']);
    expect(await dead(file, 'replay', '--all')).toEqual({
      exitCode: 1,
      stdout: '4 dead letters replayed\n',
      stderr: STAYS,
    });
    expect(await contentOf(file)).toEqual({ dead: ['d', 'f'], pending: 4 });
    // Again: nothing twice.
    expect(await dead(file, 'replay', '--all')).toEqual({
      exitCode: 1,
      stdout: '0 dead letters replayed\n',
      stderr: STAYS,
    });
    expect(await dead(file, 'replay', '--all', '--reopen')).toEqual({
      exitCode: 0,
      stdout: '2 dead letters replayed\n',
      stderr: '',
    });
    expect(await contentOf(file)).toEqual({ dead: [], pending: 6 });
    expect(await dead(file, 'replay', '--all')).toEqual({
      exitCode: 0,
      stdout: '0 dead letters replayed\n',
      stderr: '',
    });
  });

  test('reopens the destinations that are meant, and no others', async () => {
    const file = await fileWith(
      [...SIX, { messageId: 'g', applicationId: 'gone-2' }],
      ['gone-1', 'gone-2'],
    );
    expect(await dead(file, 'replay', '--application', 'gone-1', '--reopen')).toMatchObject({
      exitCode: 0,
    });
    expect(await dead(file, 'replay', '--application', 'gone-2')).toMatchObject({ exitCode: 1 });
    expect((await contentOf(file)).dead).toEqual(['a', 'b', 'c', 'e', 'g']);
  });

  test('with --dry-run counts what is meant, and changes nothing', async () => {
    const file = await fileWith(SIX, ['gone-1']);
    const words = ['replay', '--all', '--reopen', '--dry-run'];
    expect(await dead(file, ...words)).toEqual({
      exitCode: 0,
      stdout: '6 dead letters would be replayed\n',
      stderr: '',
    });
    expect(await contentOf(file)).toMatchObject({
      dead: ['a', 'b', 'c', 'd', 'e', 'f'],
      pending: 0,
    });
    const [, , , fourth = ''] = await deadIds(file);
    expect((await dead(file, 'replay', fourth)).exitCode).toBe(1);
  });

  test('names each id that no dead letter has, replays the others, and means no', async () => {
    const file = await fileWith(deaths(3));
    const [first = '', second = ''] = await deadIds(file);
    expect(await dead(file, 'replay', '9', second, 'none')).toEqual({
      exitCode: 1,
      stdout: '1 dead letter replayed\n',
      stderr: 'There is no dead letter 9.\nThere is no dead letter none.\n',
    });
    expect(await dead(file, 'replay', first, '--application', 'other')).toMatchObject({
      exitCode: 1,
      stderr: `There is no dead letter ${first}.\n`,
    });
    expect(await contentOf(file)).toEqual({ dead: ['m-0', 'm-2'], pending: 1 });
  });

  test('tells programs all of it', async () => {
    const file = await fileWith(SIX, ['gone-1']);
    const [first = '', , , fourth = ''] = await deadIds(file);
    const { exitCode, stdout } = await dead(file, 'replay', first, fourth, '9', '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      replayed: 1,
      isDryRun: false,
      closed: { 'gone-1': 1 },
      isFull: false,
      unknown: ['9'],
    });
  });

  test('says on a terminal how far it is, and takes that away', async () => {
    const file = await fileWith(deaths(450));
    const words = ['dead', 'replay', '--all', '--sqlite', file];
    const { stderr } = await runCommand(words, { isTerminal: true });
    const lines = ['200 of 450 done', '400 of 450 done', '450 of 450 done', ''];
    expect(stderr).toBe(lines.map((line) => `\r\u001b[K${line}`).join(''));
    expect(await contentOf(file)).toEqual({ dead: [], pending: 450 });
  });

  test('that is interrupted ends between two pages, and the same command goes on', async () => {
    const file = await fileWith(deaths(450));
    const words = ['dead', 'replay', '--all', '--sqlite', file];
    const terminal = fakeTerminal({
      isTerminal: true,
      onErrors: (text) => {
        if (text.includes('200 of 450')) terminal.interrupt();
      },
    });
    expect(await runCommandLine(words, terminal)).toBe(130);
    expect(terminal.stderr()).toMatch(/200 done\. Run the same command to continue\.\n$/);
    expect(await contentOf(file)).toMatchObject({ pending: 200 });
    expect(await runCommand(words)).toMatchObject({
      exitCode: 0,
      stdout: '250 dead letters replayed\n',
    });
    expect(await contentOf(file)).toEqual({ dead: [], pending: 450 });
  });
});

describe('dead purge', () => {
  test('discards those that are selected, for good', async () => {
    const file = await fileWith(SIX);
    expect(await dead(file, 'purge', '--application', 'gone-1', '--dry-run')).toEqual({
      exitCode: 0,
      stdout: '2 dead letters would be deleted\n',
      stderr: '',
    });
    expect((await contentOf(file)).dead).toHaveLength(6);
    expect(await dead(file, 'purge', '--application', 'gone-1')).toEqual({
      exitCode: 0,
      stdout: '2 dead letters deleted\n',
      stderr: '',
    });
    expect(await contentOf(file)).toEqual({ dead: ['a', 'b', 'c', 'e'], pending: 0 });
  });

  test('names each id that no dead letter has, and means no', async () => {
    const file = await fileWith(deaths(3));
    const [, second = ''] = await deadIds(file);
    const { exitCode, stdout, stderr } = await dead(file, 'purge', second, '9', '--json');
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'There is no dead letter 9.\n' });
    expect(JSON.parse(stdout)).toEqual({ deleted: 1, isDryRun: false, unknown: ['9'] });
    expect(await dead(file, 'purge', '--all')).toMatchObject({
      exitCode: 0,
      stdout: '2 dead letters deleted\n',
    });
    expect(await contentOf(file)).toEqual({ dead: [], pending: 0 });
  });
});
