/** From a message that a service could not deliver to the receiver that gets it once. */
import { expect } from 'vitest';
import { createWebhookSender, type MessageQueue } from '../../../src/index.ts';
import { GENEROUS_TIMEOUT, ids, messages, openReceiver, SECRET } from '../../helpers/sender.ts';
import { runCommand } from '../../helpers/terminal.ts';

export interface Place {
  readonly open: () => MessageQueue;
  /** Options of the command. */
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface End {
  readonly times: Readonly<Record<string, number>>;
  readonly retryCounts: readonly number[];
  readonly stillDead: string;
}

export const DELIVERED_ONCE: End = {
  times: { 'm-0': 1, 'm-1': 1, 'm-2': 1 },
  retryCounts: [1, 1, 1],
  stillDead: '0 dead letters\n',
};

/** Lets a service fail, replays its dead letters from the command line, and lets it deliver. */
export async function wholeFlow({ open, words, environment }: Place): Promise<End> {
  const dead = (...more: string[]) => runCommand(['dead', ...more, ...words], { environment });
  let isFixed = false;
  const receiver = await openReceiver({
    script: () => ({ status: isFixed ? 200 : 404 }),
  });
  const service = () =>
    createWebhookSender({
      url: receiver.url,
      secret: SECRET,
      network: 'allow-private',
      queue: open(),
      refusedMaxAttempts: 1,
    });
  const before = service();
  await before.send(messages(3));
  expect(await before.flush()).toMatchObject({ dead: 3 });
  await before.close();

  const list = await dead('list', '--json', '--application', 'shop-1');
  const lines = list.stdout.split('\n').slice(0, -1);
  const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(found).toMatchObject(
    ids(3).map((id) => ({ message_id: id, reason: 'attempts-exhausted', status: 404, sends: 1 })),
  );
  const second = String(found[1]?.['id']);
  expect(await dead('show', second, '--json', '--payload')).toMatchObject({ exitCode: 0 });
  expect(receiver.requests.map(({ messageIds }) => messageIds)).toEqual([ids(3)]);

  isFixed = true;
  expect(await dead('replay', second)).toMatchObject({
    exitCode: 0,
    stdout: '1 dead letter replayed\n',
  });
  // The command itself sends nothing.
  expect(receiver.requests).toHaveLength(1);

  const after = service();
  await receiver.waitForRequests(2, GENEROUS_TIMEOUT);
  // Again, while a service uses the queue.
  expect(await dead('replay', '--all')).toMatchObject({ stdout: '2 dead letters replayed\n' });
  while (receiver.messageIds().size < 3) {
    await receiver.waitForRequests(receiver.requests.length + 1, GENEROUS_TIMEOUT);
  }
  await after.close();
  expect(await dead('replay', '--all')).toMatchObject({ stdout: '0 dead letters replayed\n' });
  return {
    times: Object.fromEntries(receiver.messageIds()),
    retryCounts: receiver.requests.slice(1).flatMap(({ retryCounts }) => retryCounts),
    stillDead: (await dead('list')).stderr,
  };
}
