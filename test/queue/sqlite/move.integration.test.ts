/** Moves of queues in SQLite files: from memory, and with kill -9 in the middle. */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMemoryQueue } from '../../../src/queue/memory.ts';
import { exportQueue, importQueue } from '../../../src/queue/move.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { createSeededRandom } from '../../../src/testing/index.ts';
import { fixtureCommand, startChild } from '../../helpers/child-programs.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { contentOf } from '../conformance/moving.ts';
import { entryOf, INITIAL } from '../conformance/trial.ts';
import { withDatabase } from './raw-database.ts';

const MESSAGES = 4000;

/** A queue with waiting messages and dead letters. */
async function filled(file: string) {
  const queue = createSqliteQueue({ file, sync: false });
  await queue.open(INITIAL);
  await queue.enqueue(Array.from({ length: MESSAGES }, (_, n) => entryOf(`shop-${n % 7}`)));
  await queue.closeApplication('shop-3', 500);
  return queue;
}

test('a queue in memory moves to a file', async () => {
  const source = createMemoryQueue();
  await source.open(INITIAL);
  await source.enqueue([entryOf('one'), entryOf('two')]);
  const queue = createSqliteQueue({ file: join(temporaryFolder(), 'queue.db') });
  expect(await importQueue(queue, exportQueue(source))).toBe(4);
  expect(await contentOf(queue)).toMatchObject([{}, {}, { kind: 'message' }, { kind: 'message' }]);
  await queue.close();
});

test('an export leaves out a damaged message, and reports it', async () => {
  const file = join(temporaryFolder(), 'queue.db');
  const source = createSqliteQueue({ file });
  await source.open(INITIAL);
  await source.enqueue(Array.from({ length: 102 }, () => entryOf('one')));
  await source.close();
  // All of the first page, and one more.
  withDatabase(file, (connection) => {
    connection.exec(`update message set body = x'00' where sequence <= 101`);
  });
  const damages: unknown[] = [];
  const queue = createSqliteQueue({ file, onDamage: (damage) => damages.push(damage) });
  const items = await contentOf(queue);
  expect(items).toMatchObject([{ kind: 'application' }, { kind: 'message' }]);
  expect(damages.length).toBeGreaterThan(0);
  const { pending, discarded } = await queue.stats();
  expect({ pending, discarded }).toEqual({ pending: 1, discarded: { lost: 101 } });
  await queue.close();
});

test('an import that is killed again and again loses and doubles nothing', async () => {
  const folder = temporaryFolder();
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')];
  const source = await filled(from);
  const content = await contentOf(source);
  await source.close();
  const random = createSeededRandom(1);
  const kills = quickOrNightly(4, 40);
  for (let run = 0; run < kills; run += 1) {
    const child = startChild(fixtureCommand('sqlite-move', [from, to]));
    const exited = once(child, 'exit');
    let read = 0;
    const killAt = Math.floor(((run + 1) * MESSAGES) / (kills + 1) / 500) * 500;
    child.stdout?.on('data', (text: Buffer) => {
      read = Number(text.toString().trim().split('\n').at(-1));
      // Somewhere in the commit that follows.
      if (read >= killAt) setTimeout(() => child.kill('SIGKILL'), random() * 20);
    });
    const [, signal] = await exited;
    expect([signal, read < content.length]).toEqual(['SIGKILL', true]);
  }
  const [code] = await once(startChild(fixtureCommand('sqlite-move', [from, to])), 'exit');
  expect(code).toBe(0);
  const target = createSqliteQueue({ file: to });
  expect(await contentOf(target)).toEqual(content);
  const { accepted, pending, dead } = await target.stats();
  expect([accepted, pending + dead]).toEqual([MESSAGES, MESSAGES]);
  await target.close();
});
