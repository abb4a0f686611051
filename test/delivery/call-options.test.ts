import { describe, expect, test } from 'vitest';
import type { WebhookSender } from '../../src/index.ts';
import { openReceiver, openSender, rejection, SECRET, senderTo } from '../helpers/sender.ts';

type Call = 'flush' | 'close' | 'deadLetters' | 'replay' | 'purge';

const call = (sender: WebhookSender, name: Call, options: unknown): Promise<unknown> =>
  sender[name](options as never);

const REFUSED: readonly (readonly [Call, unknown, readonly string[]])[] = [
  ['flush', null, []],
  ['flush', { signal: 5 }, ['signal']],
  ['flush', { deadlineMs: -1 }, ['deadlineMs']],
  ['close', { deadlineMs: null }, ['deadlineMs']],
  ['deadLetters', { limit: null }, ['limit']],
  ['replay', 'shop-1', []],
  ['replay', { ids: ['1', 2] }, ['ids']],
  ['purge', null, []],
  ['replay', { applicationId: undefined }, ['applicationId']],
  ['purge', { applicationId: null }, ['applicationId']],
  ['purge', { ids: undefined }, ['ids']],
  ['purge', { id: ['1'] }, ['id']],
];

describe('the application id of a call', () => {
  test.each(['sendTest', 'reopen'] as const)('%s refuses all but strings', async (name) => {
    const receiver = await openReceiver();
    const sender = senderTo(receiver);
    for (const id of [undefined, null, 5, ['shop-1'], {}]) {
      expect(await rejection(sender[name](id as never))).toMatchObject({
        code: 'ERR_INVALID_OPTION',
        path: ['applicationId'],
        message: expect.stringContaining('expected applicationId to be a string'),
      });
    }
    expect(receiver.requests).toEqual([]);
  });

  test('reopen takes the empty id of messages without an application', async () => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    expect(await rejection(sender.reopen(''))).toBeUndefined();
  });
});

describe('the options of a call', () => {
  test.each(REFUSED)('%s refuses %j by a rejection', async (name, options, path) => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    const error = await rejection(call(sender, name, options));
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', path });
  });

  test.each<[Call, object]>([
    ['flush', { signal: undefined }],
    ['deadLetters', { applicationId: undefined }],
    ['close', { deadlineMs: undefined }],
    ['replay', {}],
    ['purge', {}],
  ])('%s takes an object without anything in it, or %j', async (name, options) => {
    const sender = openSender({ url: 'https://receiver.example', secret: SECRET });
    expect(await rejection(call(sender, name, {}))).toBeUndefined();
    expect(await rejection(call(sender, name, options))).toBeUndefined();
  });
});
