import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createWebhookSender } from '../../../src/index.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { runProgram } from '../../helpers/child-programs.ts';
import { root } from '../../helpers/package-files.ts';
import { bury, deaths } from '../../helpers/queues.ts';
import { openReceiver, PATIENCE, SECRET } from '../../helpers/sender.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';

const main = join(root, 'dist/cli/main.js');

test('the dead commands work while a service uses the file, and it delivers what is replayed', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  const queue = createSqliteQueue({ file, sync: false });
  await bury(queue, deaths(3));
  const receiver = await openReceiver();
  const { url } = receiver;
  const service = createWebhookSender({ url, secret: SECRET, network: 'allow-private', queue });
  expect(await service.stats()).toMatchObject({ dead: 3 });
  const [first = '', , third = ''] = (await service.deadLetters()).items.map(({ id }) => id);
  const dead = (...words: string[]) =>
    runProgram([main, 'dead', ...words, '--sqlite', file], { cwd: root });
  expect(await dead('show', first)).toMatchObject({ exitCode: 0 });
  expect(await dead('purge', third)).toMatchObject({ stdout: '1 dead letter deleted\n' });
  expect(await dead('replay', '--all')).toMatchObject({ stdout: '2 dead letters replayed\n' });
  while (receiver.messageIds().size < 2) {
    await receiver.waitForRequests(receiver.requests.length + 1, PATIENCE);
  }
  await service.close();
  expect(Object.fromEntries(receiver.messageIds())).toEqual({ 'm-0': 1, 'm-1': 1 });
  expect(await dead('list')).toMatchObject({ stderr: '0 dead letters\n' });
});
