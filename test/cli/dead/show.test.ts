import { describe, expect, test } from 'vitest';
import { deaths, folderWith, NOON_MS } from '../../helpers/dead-letters.ts';
import { runCommand } from '../../helpers/fake-terminal.ts';
import { message } from '../../helpers/sender.ts';

const LINES = [
  'id           1',
  'application  shop-1',
  'message      m-0',
  'format       2',
  'reason       attempts-exhausted',
  'last end     404',
  'sends        6',
  'accepted     2026-11-20T11:59:00.000Z',
  'died         2026-11-20T12:00:00.000Z',
  '',
].join('\n');

describe('dead show', () => {
  test('shows what is known of a dead letter, but its payload', async () => {
    const folder = await folderWith(deaths(1, { text: 'hunter2' }));
    expect(await runCommand(['dead', 'show', '1', '--level', folder])).toEqual({
      exitCode: 0,
      stdout: LINES,
      stderr: '',
    });
  });

  test('shows the payload where that is asked for, and nothing in it moves the cursor', async () => {
    const text = 'a "quoted"\nline \u009b2J\u202e';
    const folder = await folderWith(deaths(1, { text }));
    const { stdout } = await runCommand(['dead', 'show', '1', '--level', folder, '--payload']);
    expect(stdout.startsWith(LINES)).toBe(true);
    expect(JSON.parse(stdout.slice(LINES.length))).toEqual(message('m-0', 'shop-1', text));
    expect(stdout).not.toMatch(/[\u009b\u202e]/);
  });

  test('gives programs a line each, with the payload only where that is asked for', async () => {
    const folder = await folderWith(deaths(2));
    const words = ['dead', 'show', '2', '1', '--level', folder, '--json'];
    const [first = '', second = '', ...rest] = (await runCommand(words)).stdout.split('\n');
    expect(rest).toEqual(['']);
    expect(JSON.parse(first)).toEqual({
      id: '1',
      applicationId: 'shop-1',
      message_id: 'm-0',
      format: 2,
      reason: 'attempts-exhausted',
      status: 404,
      sends: 6,
      acceptedAt: NOON_MS - 60_000,
      diedAt: NOON_MS,
    });
    expect(JSON.parse(second)).toMatchObject({ id: '2', message_id: 'm-1' });
    const { stdout } = await runCommand([...words, '--payload']);
    expect(JSON.parse(stdout.split('\n')[1] ?? '')).toMatchObject({ content: message('m-1') });
  });

  test('shows several with an empty line between', async () => {
    const folder = await folderWith(deaths(2));
    const { stdout } = await runCommand(['dead', 'show', '1', '2', '--level', folder]);
    expect(stdout).toBe(`${LINES}\n${LINES.replace(/1$/m, '2').replace('m-0', 'm-1')}`);
  });

  test('names each id that no dead letter has, once, with exit code 1', async () => {
    const folder = await folderWith(deaths(1));
    const words = ['dead', 'show', '7', '1', '7', 'x\u001b', '--level', folder];
    const { exitCode, stdout, stderr } = await runCommand(words);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: LINES,
      stderr: 'There is no dead letter 7.\nThere is no dead letter x\\u001b.\n',
    });
  });
});
