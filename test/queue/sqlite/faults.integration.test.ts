/** What goes wrong around a file: other programs, other versions, full disks, a worker that crashes. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, type TestContext, test, vi } from 'vitest';
import { createSqliteQueue, type SqliteQueueDamage } from '../../../src/queue/sqlite.ts';
import { fixtureCommand, isInstalled, runFixture } from '../../helpers/child-programs.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import {
  claimFrom,
  entryOf,
  failedWith,
  INITIAL,
  idsOf,
  manyOf,
  REQUEST,
} from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';
import { integrityOf, withDatabase } from './raw-database.ts';

/** Mounts a disk of 44 MiB, or skips the test with a message. */
function mountDisk(folder: string, context: TestContext): void {
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=44m', 'tmpfs', folder]);
  if (mount.status !== 0) {
    console.warn(`SKIPPED: ${context.task.name}, since this process may not mount a disk`);
    context.skip();
  }
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
}

const run = (sql: string) => (file: string) => withDatabase(file, (other) => other.exec(sql));

describe('a file that is not a queue', () => {
  test.each<[string, (file: string) => void]>([
    ['text', (file) => writeFileSync(file, 'a text of some length, and no database'.repeat(9))],
    ['a database of another program', run('create table t (a); insert into t values (1)')],
    ['one with a write-ahead log', run('pragma journal_mode = wal; create table t (a)')],
    ['an empty one with the id of another program', run('pragma application_id = 7')],
  ])('is refused untouched when it is %s', async (_, make) => {
    const file = newFile();
    make(file);
    const before = readFileSync(file);
    const opening = createSqliteQueue({ file }).open(INITIAL);
    await expect(opening).rejects.toMatchObject({ code: 'ERR_QUEUE_FOREIGN' });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('is refused when a newer version of the package made it', async () => {
    const file = newFile();
    await (await openQueue({ file })).close();
    withDatabase(file, (other) => other.exec('pragma user_version = 99'));
    const opening = createSqliteQueue({ file }).open(INITIAL);
    await expect(opening).rejects.toThrow('a newer version of this package');
  });
});

describe('a file that cannot be used', () => {
  test('is refused when its folder cannot be made', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    const opening = createSqliteQueue({ file: join(folder, 'file', 'queue.db') }).open(INITIAL);
    await expect(opening).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
  });

  // `mkdirSync` with `recursive` never returns there, so the test would hang.
  test.runIf(process.platform === 'linux')(
    'is refused where the system makes no folders',
    async () => {
      const opening = createSqliteQueue({ file: '/proc/none/deep/queue.db' }).open(INITIAL);
      await expect(opening).rejects.toMatchObject({
        code: 'ERR_QUEUE_FAILED',
        cause: expect.objectContaining({ code: 'ENOENT' }),
      });
    },
  );

  test('is refused when it is read-only', async (context) => {
    const folder = temporaryFolder();
    const file = join(folder, 'queue.db');
    // Root may write to any file, but not to a disk that is read-only.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) mountDisk(folder, context);
    await (await openQueue({ file })).close();
    if (isRoot) execFileSync('mount', ['-o', 'remount,ro', folder]);
    else chmodSync(file, 0o400);
    const opening = createSqliteQueue({ file }).open(INITIAL);
    await expect(opening).rejects.toThrow('read-only');
  });

  test.each<[string, (file: string) => unknown]>([
    ['folder', mkdirSync],
    ['pipe', (file) => execFileSync('mkfifo', ['-m', '666', file])],
  ])('is refused, and left as it is, when it is a %s', async (_, make) => {
    const file = newFile();
    make(file);
    const { mode } = statSync(file);
    const opening = createSqliteQueue({ file }).open(INITIAL);
    await expect(opening).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION', path: ['file'] });
    expect(statSync(file).mode).toBe(mode);
  });
});

const REMOVED = failedWith('the file was removed or replaced while in use');

describe('a file that is removed while in use', () => {
  test('takes no messages until it is put back, and gives those that it has', async () => {
    const file = newFile();
    const queue = await openQueue({ file });
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    const add = () => queue.enqueue([entryOf('one', { messageId: 'b' })]);
    renameSync(file, `${file}.moved`);
    await expect(add()).rejects.toEqual(REMOVED);
    writeFileSync(file, '');
    await expect(add()).rejects.toEqual(REMOVED);
    expect(idsOf(await claimFrom(queue))).toEqual(['a']);
    renameSync(`${file}.moved`, file);
    await add();
    expect((await queue.stats()).pending).toBe(2);
  });
});

/** Ends the worker during a call, which must fail. */
async function crashWorkerDuring(call: () => Promise<unknown>): Promise<void> {
  const { Worker: Class } = await import('node:worker_threads');
  const workers: Worker[] = [];
  const post = vi.spyOn(Class.prototype, 'postMessage').mockImplementation(function (this: Worker) {
    workers.push(this);
  });
  const lost = call();
  await vi.waitUntil(() => workers.length > 0);
  post.mockRestore();
  await workers[0]?.terminate();
  await expect(lost).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
}

describe('a worker that crashes', () => {
  test('fails the calls under way, and the next call opens the file again', async () => {
    const queue = await openQueue({ file: newFile() });
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await crashWorkerDuring(() => queue.enqueue([entryOf('one', { messageId: 'b' })]));
    expect(idsOf(await claimFrom(queue))).toEqual(['a']);
  });

  test('makes no new file if the file was removed before, until it is put back', async () => {
    const file = newFile();
    const queue = await openQueue({ file });
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    const names = ['', '-wal', '-shm', '-reserve'];
    for (const name of names) renameSync(file + name, `${file}.moved${name}`);
    await crashWorkerDuring(() => queue.stats());
    for (let count = 0; count < 2; count += 1) await expect(queue.stats()).rejects.toEqual(REMOVED);
    for (const name of names) renameSync(`${file}.moved${name}`, file + name);
    expect(idsOf(await claimFrom(queue))).toEqual(['a']);
  });
});

describe('a damaged file', () => {
  test('reports a write-ahead log that was removed after a crash', async () => {
    const file = newFile();
    const ended = await runFixture('sqlite-exit', [file, 'kill']);
    expect(ended.stdout.split('\n')).toHaveLength(6);
    rmSync(`${file}-wal`);
    const reports: SqliteQueueDamage[] = [];
    const queue = await openQueue({ file, onDamage: (report) => reports.push(report) });
    expect(reports).toEqual([{ file, kind: 'rolled-back', applications: [], missingSequences: 5 }]);
    expect((await queue.enqueue([entryOf('one')])).sequences).toEqual([6]);
  });

  test('says what to do when SQLite cannot read it', async () => {
    const file = newFile();
    const queue = await openQueue({ file });
    await queue.enqueue(manyOf('one', 2000));
    await queue.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 4096);
    writeFileSync(file, bytes);
    const broken = createSqliteQueue({ file });
    const use = async (): Promise<unknown> => {
      await broken.open(INITIAL);
      return await broken.claim(REQUEST);
    };
    await expect(use()).rejects.toThrow(`sqlite3 ${file} .recover`);
    await broken.close().catch(() => {});
  });
});

interface Filled {
  readonly first: { readonly accepted: number; readonly failure: string };
  readonly delivered: number;
  readonly second: { readonly accepted: number; readonly failure: string };
  readonly pending: number;
}

const GOES_ON = {
  hasAccepted: [true, true],
  failure: expect.stringContaining('the disk is full'),
  isAllDelivered: true,
  isAllPending: true,
  integrity: 'ok',
};

function judge(text: string, file: string): object {
  const { first, delivered, second, pending } = JSON.parse(text) as Filled;
  return {
    hasAccepted: [first.accepted > 100, second.accepted > 100],
    failure: first.failure,
    isAllDelivered: delivered === first.accepted,
    isAllPending: pending === second.accepted,
    integrity: integrityOf(file),
  };
}

describe('a full disk', () => {
  test.runIf(isInstalled('prlimit'))(
    'lets messages be delivered, and takes more afterwards',
    () => {
      const file = newFile();
      const command = fixtureCommand('sqlite-full', [file]);
      const text = execFileSync('prlimit', [`--fsize=${20 * 2 ** 20}`, ...command]).toString();
      expect(judge(text, file)).toEqual(GOES_ON);
    },
  );

  test('of its own lets messages be delivered, too', (context) => {
    const folder = temporaryFolder();
    mountDisk(folder, context);
    const file = join(folder, 'queue.db');
    const [node = '', ...args] = fixtureCommand('sqlite-full', [file]);
    expect(judge(execFileSync(node, args).toString(), file)).toEqual(GOES_ON);
  });
});
