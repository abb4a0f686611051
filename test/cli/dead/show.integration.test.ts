import { describe, expect, test } from 'vitest';
import { deadIds, deadLetterSpecs, NOON_MS, queueFileWith } from '../../helpers/queues.ts';
import { message } from '../../helpers/sender.ts';
import { outcome, runCommand } from '../../helpers/terminal.ts';

const linesOf = (id: string, messageId: string): string =>
  [
    `id           ${id}`,
    'died         2026-11-20T12:00:00.000Z',
    'application  shop-1',
    'reason       attempts-exhausted',
    'last result  404',
    'sends        6',
    `message      ${messageId}`,
    'accepted     2026-11-20T11:59:00.000Z',
    'format       2',
    '',
  ].join('\n');

const show = (file: string, ...words: string[]) =>
  runCommand(['dead', 'show', ...words, '--sqlite', file]);

describe('dead show', () => {
  test('shows the facts of each without payload, apart by an empty line', async () => {
    const file = await queueFileWith(deadLetterSpecs(2, { text: 'hunter2' }));
    const [one = '', two = ''] = await deadIds(file);
    expect(await show(file, one, two)).toEqual(
      outcome(0, `${linesOf(one, 'm-0')}\n${linesOf(two, 'm-1')}`),
    );
  });

  test('shows the payload with --payload, and escapes control characters', async () => {
    const text = 'a "quoted"\nline \u009b2J\u202e';
    const file = await queueFileWith(deadLetterSpecs(1, { text }));
    const [id = ''] = await deadIds(file);
    const lines = linesOf(id, 'm-0');
    const { stdout } = await show(file, id, '--payload');
    expect(stdout.startsWith(lines)).toBe(true);
    expect(JSON.parse(stdout.slice(lines.length))).toEqual(message('m-0', 'shop-1', text));
    expect(stdout).not.toMatch(/[\u009b\u202e]/);
  });

  test('prints one line of JSON each with --json, without payloads by default', async () => {
    const file = await queueFileWith(deadLetterSpecs(2));
    const [one = '', two = ''] = await deadIds(file);
    const words = [two, one, '--json'];
    const [first = '', second = '', ...rest] = (await show(file, ...words)).stdout.split('\n');
    expect(rest).toEqual(['']);
    expect(JSON.parse(first)).toEqual({
      id: one,
      applicationId: 'shop-1',
      message_id: 'm-0',
      format: 2,
      reason: 'attempts-exhausted',
      status: 404,
      sends: 6,
      acceptedAt: NOON_MS - 60_000,
      diedAt: NOON_MS,
    });
    expect(JSON.parse(second)).toMatchObject({ id: two, message_id: 'm-1' });
    const { stdout } = await show(file, ...words, '--payload');
    expect(JSON.parse(stdout.split('\n')[1] ?? '')).toMatchObject({ content: message('m-1') });
  });

  test('names each unknown id once, and exits with 1', async () => {
    const file = await queueFileWith(deadLetterSpecs(1));
    const [id = ''] = await deadIds(file);
    expect(await show(file, '7', id, '7', 'x\u001b')).toEqual(
      outcome(
        1,
        linesOf(id, 'm-0'),
        'There is no dead letter 7.\nThere is no dead letter x\\u001b.\n',
      ),
    );
  });
});
