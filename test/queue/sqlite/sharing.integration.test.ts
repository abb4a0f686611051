/** One file, however it is named and by however many queues, copies of the package and processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { describe, expect, test, vi } from 'vitest';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { fixtureCommand } from '../../helpers/child-programs.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { claimFrom, entryOf, INITIAL, settleAll } from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';

interface Registry {
  readonly files: ReadonlyMap<string, unknown>;
}

/** The entry of each file that this process has open. */
function openFiles(): ReadonlyMap<string, unknown> {
  const key = Symbol.for('security-event-delivery.sqlite-files');
  return (globalThis as unknown as Record<symbol, Registry>)[key]?.files ?? new Map();
}

describe('the files of a queue', () => {
  test('have mode 0600, and a created folder 0700', async () => {
    const folder = join(temporaryFolder(), 'a', 'b');
    const file = join(folder, 'queue.db');
    const queue = await openQueue({ file });
    await queue.enqueue([entryOf('one')]);
    const modes = ['', '-wal', '-shm', '-reserve'].map(
      (name) => statSync(file + name).mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('do not change the mode of an existing folder', async () => {
    const folder = join(temporaryFolder(), 'open');
    mkdirSync(folder, { mode: 0o755 });
    await openQueue({ file: join(folder, 'queue.db') });
    expect(statSync(folder).mode & 0o777).toBe(0o755);
  });

  test('are refused when the database has a second name', async () => {
    const file = newFile();
    await (await openQueue({ file })).close();
    linkSync(file, `${file}-link`);
    const refused = createSqliteQueue({ file: `${file}-link` }).open(INITIAL);
    await expect(refused).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
  });
});

describe('queues of one process', () => {
  test.each<[string, (folder: string) => string]>([
    ['a folder and back', (folder) => `${folder}/x/../queue.db`],
    ['a relative path', (folder) => relative(process.cwd(), join(folder, 'queue.db'))],
    [
      'a linked folder',
      (folder) => {
        symlinkSync(folder, `${folder}-link`);
        return `${folder}-link/queue.db`;
      },
    ],
    [
      'a linked file',
      (folder) => {
        symlinkSync(join(folder, 'queue.db'), join(folder, 'other.db'));
        return join(folder, 'other.db');
      },
    ],
  ])('share one worker when one spells the path with %s', async (_, spell) => {
    const folder = join(temporaryFolder(), 'real');
    mkdirSync(folder);
    const [one, other] = [
      await openQueue({ file: join(folder, 'queue.db') }),
      await openQueue({ file: spell(folder) }),
    ];
    expect(openFiles().size).toBe(1);
    await one.enqueue([entryOf('one')]);
    expect(await settleAll(one, await claimFrom(other))).toBe('settled');
    await one.close();
    expect(await other.stats()).toMatchObject({ accepted: 1, delivered: 1 });
    await other.close();
    expect(openFiles().size).toBe(0);
  });

  test('share one worker when they come from two copies of the package', async () => {
    const file = newFile();
    const one = await openQueue({ file });
    vi.resetModules();
    const copy = await import('../../../src/queue/sqlite.ts');
    expect(copy.createSqliteQueue).not.toBe(createSqliteQueue);
    const other = await openQueue({ file }, undefined, copy.createSqliteQueue);
    expect(openFiles().size).toBe(1);
    await one.enqueue([entryOf('one')]);
    await one.close();
    expect(await other.stats()).toMatchObject({ pending: 1 });
  });

  test('can open a file again while the last one closes it', async () => {
    const file = newFile();
    const one = await openQueue({ file });
    await one.enqueue([entryOf('one')]);
    const closing = one.close();
    const other = await openQueue({ file });
    await closing;
    expect(await other.stats()).toMatchObject({ pending: 1 });
  });
});

describe('queues of two processes', () => {
  test('share a file, and one notices within 50 ms what the other enqueues', async () => {
    const file = newFile();
    const queue = await openQueue({ file });
    let heard = 0;
    queue.onDue(() => {
      heard = performance.now();
    });
    const [node = '', ...args] = fixtureCommand('sqlite-neighbour', [file, 'enqueue-each']);
    const child = spawn(node, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    const delayMs = async (): Promise<number> => {
      heard = 0;
      child.stdin.write('go');
      await once(child.stdout, 'data');
      const accepted = performance.now();
      await vi.waitUntil(() => heard > 0, { interval: 1, timeout: 20_000 });
      return heard - accepted;
    };
    const delays: number[] = [];
    while (delays.length < 5) delays.push(await delayMs());
    // It is 20 ms at most, also beside eight busy programs. The median, since the machine may stop.
    const [, , median] = delays.toSorted((one, two) => one - two);
    expect(median).toBeLessThan(quickOrNightly(100, 50));
    expect(await queue.stats()).toMatchObject({ accepted: 5, pending: 5 });
    child.stdin.end();
    await once(child, 'exit');
  });
});
