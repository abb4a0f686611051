import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import {
  contentOf,
  type DeadLetterSpec,
  deadIds,
  deadLetterSpecs,
  NOON_MS,
  queueFileWith,
} from '../../helpers/queues.ts';
import { fakeTerminal, outcome, runCommand } from '../../helpers/terminal.ts';

const SIX: readonly DeadLetterSpec[] = [
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
    ['the oldest of a shop', ['--application', 'shop-1', '--limit', '2'], ['b', 'd', 'e', 'f']],
  ])('queues the dead letters of %s again, and leaves the others', async (_what, words, left) => {
    const file = await queueFileWith(SIX, ['gone-1']);
    const count = 6 - left.length;
    expect(await dead(file, 'replay', ...words)).toEqual(
      outcome(0, `${count} dead letter${count === 1 ? '' : 's'} replayed\n`),
    );
    expect(await contentOf(file)).toEqual({ dead: left, pending: count });
  });

  test('leaves those of closed destinations, says how many and what to do, and exits with 1', async () => {
    const file = await queueFileWith(SIX, ['gone-1']);
    expect(await dead(file, 'replay', '--all')).toEqual(
      outcome(1, '4 dead letters replayed\n', STAYS),
    );
    expect(await contentOf(file)).toEqual({ dead: ['d', 'f'], pending: 4 });
    // A second time nothing is left to replay.
    expect(await dead(file, 'replay', '--all')).toEqual(
      outcome(1, '0 dead letters replayed\n', STAYS),
    );
    expect(await dead(file, 'replay', '--all', '--reopen')).toEqual(
      outcome(0, '2 dead letters replayed\n'),
    );
    expect(await contentOf(file)).toEqual({ dead: [], pending: 6 });
    expect(await dead(file, 'replay', '--all')).toEqual(outcome(0, '0 dead letters replayed\n'));
  });

  test('leaves those of a closed destination with any id', async () => {
    const letter = { messageId: 'a', applicationId: '__proto__' };
    const file = await queueFileWith([letter], ['__proto__']);
    expect(await dead(file, 'replay', '--all')).toEqual(
      outcome(1, '0 dead letters replayed\n', STAYS.replace('2 of gone-1', '1 of __proto__')),
    );
  });

  test('reopens only the closed destinations of the selection', async () => {
    const file = await queueFileWith(
      [...SIX, { messageId: 'g', applicationId: 'gone-2' }],
      ['gone-1', 'gone-2'],
    );
    expect(await dead(file, 'replay', '--application', 'gone-1', '--reopen')).toMatchObject({
      exitCode: 0,
    });
    expect(await dead(file, 'replay', '--application', 'gone-2')).toMatchObject({ exitCode: 1 });
    expect((await contentOf(file)).dead).toEqual(['a', 'b', 'c', 'e', 'g']);
  });

  test('only counts what it would replay with --dry-run', async () => {
    const file = await queueFileWith(SIX, ['gone-1']);
    const words = ['replay', '--all', '--dry-run'];
    expect(await dead(file, ...words)).toEqual(
      outcome(1, '4 dead letters would be replayed\n', STAYS.replace('not', 'would not be')),
    );
    expect(await dead(file, ...words, '--reopen')).toEqual(
      outcome(0, '6 dead letters would be replayed\n'),
    );
    const json = await dead(file, ...words, '--json');
    const facts = { isDryRun: true, closed: { 'gone-1': 2 }, isFull: false };
    expect(JSON.parse(json.stdout)).toEqual({ ...facts, wouldBeReplayed: 4, unknown: [] });
    expect(await contentOf(file)).toMatchObject({ pending: 0 });
    const [, , , fourth = ''] = await deadIds(file);
    expect((await dead(file, 'replay', fourth)).exitCode).toBe(1);
  });

  test('names unknown ids, replays the others, and exits with 1', async () => {
    const file = await queueFileWith(deadLetterSpecs(3));
    const [first = '', second = ''] = await deadIds(file);
    const unknown = 'There is no dead letter 9.\nThere is no dead letter none.\n';
    expect(await dead(file, 'replay', '9', second, 'none')).toEqual(
      outcome(1, '1 dead letter replayed\n', unknown),
    );
    expect(await dead(file, 'replay', first, '--application', 'other')).toMatchObject({
      exitCode: 1,
      stderr: `There is no dead letter ${first}.\n`,
    });
    expect(await contentOf(file)).toEqual({ dead: ['m-0', 'm-2'], pending: 1 });
    expect(await dead(file, 'replay', first)).toEqual(outcome(0, '1 dead letter replayed\n'));
    expect(await contentOf(file)).toEqual({ dead: ['m-2'], pending: 2 });
  });

  test('prints the result as JSON with --json', async () => {
    const file = await queueFileWith(SIX, ['gone-1']);
    const [first = '', , , fourth = ''] = await deadIds(file);
    const { exitCode, stdout } = await dead(file, 'replay', first, fourth, '9', '--json');
    expect(exitCode).toBe(1);
    const facts = { isDryRun: false, closed: { 'gone-1': 1 }, isFull: false };
    expect(JSON.parse(stdout)).toEqual({ ...facts, replayed: 1, unknown: ['9'] });
  });

  test('stops between two pages when it is interrupted, and continues when it is repeated', async () => {
    const file = await queueFileWith(deadLetterSpecs(450));
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
    expect(await runCommand(words)).toEqual(outcome(0, '250 dead letters replayed\n'));
    expect(await contentOf(file)).toEqual({ dead: [], pending: 450 });
  });
});

describe('dead purge', () => {
  test('deletes the selected dead letters permanently', async () => {
    const file = await queueFileWith(SIX);
    expect(await dead(file, 'purge', '--application', 'gone-1', '--dry-run')).toEqual(
      outcome(0, '2 dead letters would be deleted\n'),
    );
    expect((await contentOf(file)).dead).toHaveLength(6);
    expect(await dead(file, 'purge', '--application', 'gone-1')).toEqual(
      outcome(0, '2 dead letters deleted\n'),
    );
    expect(await contentOf(file)).toEqual({ dead: ['a', 'b', 'c', 'e'], pending: 0 });
  });
});
