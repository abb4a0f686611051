/** From a message that a service could not deliver to the receiver that gets it once. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createWebhookSender } from '../../../src/index.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { GENEROUS_TIMEOUT, ids, messages, openReceiver, SECRET } from '../../helpers/sender.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { runCommand } from '../../helpers/terminal.ts';

test('replays what a service could not deliver, and it is delivered once', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  const dead = (...words: string[]) => runCommand(['dead', ...words, '--sqlite', file]);
  let isFixed = false;
  const receiver = await openReceiver({ script: () => ({ status: isFixed ? 200 : 404 }) });
  const service = () =>
    createWebhookSender({
      url: receiver.url,
      secret: SECRET,
      network: 'allow-private',
      queue: createSqliteQueue({ file, sync: false }),
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
  while (receiver.acceptedCounts().size < 3) {
    await receiver.waitForRequests(receiver.requests.length + 1, GENEROUS_TIMEOUT);
  }
  await after.close();
  expect(await dead('replay', '--all')).toMatchObject({ stdout: '0 dead letters replayed\n' });
  expect(Object.fromEntries(receiver.acceptedCounts())).toEqual({ 'm-0': 1, 'm-1': 1, 'm-2': 1 });
  const later = receiver.requests.slice(1);
  expect(later.flatMap(({ retryCounts }) => retryCounts)).toEqual([1, 1, 1]);
  expect((await dead('list')).stderr).toBe('0 dead letters\n');
});
