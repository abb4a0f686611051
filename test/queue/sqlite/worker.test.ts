/** The worker's code in this thread: what it does when SQLite, the disk or another process gets in the way. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { QueueStats } from '../../../src/queue/queue.ts';
import { peerPath } from '../../../src/queue/sqlite/file-worker.ts';
import type { HandleSettings, PostedCall, WorkerPost } from '../../../src/queue/sqlite/protocol.ts';
import { Database, Gate, Stopped } from '../../../src/queue/sqlite/worker/database.ts';
import { DiskSpace, Reserve } from '../../../src/queue/sqlite/worker/disk-space.ts';
import { Rejection } from '../../../src/queue/sqlite/worker/failure.ts';
import { QueueFile } from '../../../src/queue/sqlite/worker/queue-file.ts';
import { loadSqlite } from '../../../src/queue/sqlite/worker/sqlite-library.ts';
import { Store } from '../../../src/queue/sqlite/worker/store.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { INITIAL, retry } from '../conformance/trial.ts';
import { withDatabase } from './raw-database.ts';
import { sqliteError } from './sqlite-error.ts';

afterEach(() => void vi.restoreAllMocks());

const SETTINGS: HandleSettings = {
  sync: false,
  initialState: { ...INITIAL, maxMessages: 1e5, maxBytes: 1e9 },
  maxPendingBytes: 1e9,
  maxPendingMessages: 1e6,
  maxDeadBytes: 1e9,
};

const newGate = () => new SharedArrayBuffer(8);

interface FileUnderTest {
  readonly path: string;
  readonly file: QueueFile;
  readonly reports: WorkerPost['damage'][number][];
  /** Runs the calls until all are answered; the value or the failure of each. */
  readonly run: (...calls: (readonly [string, ...unknown[]])[]) => unknown[];
}

function openFile(path = join(temporaryFolder(), 'queue.db'), gate = newGate()): FileUnderTest {
  const reports: WorkerPost['damage'][number][] = [];
  const file = new QueueFile({ file: path, peerPath: peerPath(), gate, inode: undefined });
  onTestFinished(() => file.close());
  const run: FileUnderTest['run'] = (...calls) => {
    const bytes = Buffer.from('{}');
    let waiting = calls.map(([operation, ...args], id) => {
      const call: PostedCall = { id, operation, nowMs: null, settings: SETTINGS, args, bytesAt: 0 };
      return { call, bytes };
    });
    const values: unknown[] = [];
    while (waiting.length > 0) {
      const { answers, damage } = file.run(waiting);
      reports.push(...damage);
      waiting = waiting.slice(answers.length);
      for (const { value, failure } of answers) values.push(failure ?? value);
    }
    return values;
  };
  return { path, file, reports, run };
}

const enqueue = (messageId: string) => {
  const slots = { format: 2, length: 2, dateAt: 0, countAt: 1 };
  return ['enqueue', [{ applicationId: 'one', messageId, ...slots, sizeBytes: 2 }], 0] as const;
};
const enqueued = (sequence: number) => ({ sequences: [sequence], closed: [] });
const pendingIn = ({ run }: FileUnderTest): unknown =>
  run(['countPending', [{ from: 1, to: 99 }]])[0];

describe('a call that fails', () => {
  test('fails alone: the other calls of its transaction run once', () => {
    const subject = openFile();
    const values = subject.run(enqueue('a'), ['countPending', null], enqueue('b'), enqueue('c'));
    expect(values).toEqual([
      enqueued(1),
      expect.objectContaining({ code: 'ERR_QUEUE_FAILED' }),
      enqueued(2),
      enqueued(3),
    ]);
    expect(pendingIn(subject)).toBe(3);
  });

  test('leaves no trace in memory', () => {
    const subject = openFile();
    subject.run(enqueue('a'));
    const update = vi.spyOn(Database.prototype, 'update').mockImplementationOnce(() => {
      throw sqliteError(1);
    });
    expect(subject.run(enqueue('b'))).toMatchObject([{ detail: 'SQLite reported an error' }]);
    update.mockRestore();
    expect(subject.run(enqueue('c'))).toEqual([enqueued(2)]);
    expect(pendingIn(subject)).toBe(2);
  });
});

describe('an error after the commit', () => {
  test('does not run the calls again, and opens the file again', () => {
    const subject = openFile();
    subject.run(enqueue('a'));
    const failing = vi.spyOn(DiskSpace.prototype, 'committed').mockImplementationOnce(() => {
      throw sqliteError(10);
    });
    expect(subject.run(enqueue('b'), enqueue('c'))).toEqual([enqueued(2), enqueued(3)]);
    failing.mockRestore();
    expect(pendingIn(subject)).toBe(3);
  });
});

describe('a file that was not opened', () => {
  test('is opened by the next call, with the sequence that was noted', () => {
    const subject = openFile();
    subject.run(enqueue('a'));
    subject.file.close();
    const reserve = new Reserve(subject.path);
    reserve.note(50);
    reserve.close();
    vi.spyOn(Store.prototype, 'transaction').mockImplementationOnce(() => {
      throw new Rejection('ERR_QUEUE_FAILED', 'another process holds the file');
    });
    expect(subject.run(enqueue('b'))).toMatchObject([{ detail: 'another process holds the file' }]);
    expect(subject.run(enqueue('c'))).toEqual([enqueued(51)]);
    const rolledBack = { kind: 'rolled-back', applications: [], missingSequences: 49 };
    expect(subject.reports).toEqual([rolledBack]);
  });
});

describe('a full disk', () => {
  test('refuses enqueues and imports, and frees the reserve for other calls', () => {
    const subject = openFile();
    subject.run(enqueue('a'));
    const reserve = `${subject.path}-reserve`;
    expect(statSync(reserve).size).toBeGreaterThan(1e6);
    vi.spyOn(DiskSpace.prototype, 'canGrow').mockReturnValue(false);
    const growing = [enqueue('b'), ['importItems', []]] as const;
    for (const call of growing)
      expect(subject.run(call)).toMatchObject([{ detail: 'the disk is full' }]);
    const begin = vi.spyOn(Database.prototype, 'transaction').mockImplementationOnce(() => {
      throw sqliteError(13);
    });
    expect(subject.run(['deadLetterOlderThan', 0, 0])).toEqual([[]]);
    expect(begin).toHaveBeenCalledTimes(2);
    expect(statSync(reserve).size).toBeLessThan(100);
    begin.mockImplementation(() => {
      throw sqliteError(13);
    });
    const [failure] = subject.run(['deadLetterOlderThan', 0, 0]);
    expect(failure).toMatchObject({ detail: 'the disk is full' });
  });
});

describe('the gate', () => {
  test('lets no call into SQLite once the process ends', () => {
    const gate = newGate();
    const subject = openFile(undefined, gate);
    subject.run(enqueue('a'));
    new Int32Array(gate)[1] = 1;
    expect(() => subject.run(enqueue('b'))).toThrow(Stopped);
    expect(() => subject.file.tidy()).toThrow(Stopped);
    expect(() => subject.file.close()).toThrow(Stopped);
  });
});

describe('a file that another connection holds', () => {
  test('fails an attempt after its time, and only then', () => {
    const { path, run } = openFile();
    run(enqueue('a'));
    const { DatabaseSync } = loadSqlite(peerPath());
    const other = new DatabaseSync(path, {});
    other.exec('begin immediate');
    const database = new Database(new DatabaseSync(path, { timeout: 0 }), new Gate(newGate()));
    expect(() => database.retryWhileBusy(() => database.run('begin immediate'), 5)).toThrow(
      'another process has held the file for 0.005 s',
    );
    other.close();
    expect(database.retryWhileBusy(() => database.number('select 7'), 5)).toBe(7);
    database.close();
  });
});

const exported = ({ run }: FileUnderTest) =>
  run(['exportItems', 'message', 0], ['exportItems', 'dead_letter', 0]);

describe('an export', () => {
  test('sets damaged messages and dead letters aside', () => {
    const subject = openFile();
    // One page of each, and more messages.
    const calls = Array.from({ length: 202 }, (_, index) => enqueue(`m${index + 1}`));
    subject.run(...calls, ['deadLetterOlderThan', -1, 100]);
    withDatabase(subject.path, (connection) => {
      connection.exec(`update message set body = x'00' where sequence < 202;
        update dead_letter set body = x'00'`);
    });
    expect(exported(subject)).toMatchObject([[{ id: 202, message_id: 'm202', body: 'e30=' }], []]);
    const [{ pending, dead, discarded }] = subject.run(['stats']) as [QueueStats];
    expect([pending, dead, discarded]).toEqual([1, 0, { damaged: 201 }]);
  });

  test('sets a message aside whose application is gone', () => {
    const subject = openFile();
    subject.run(enqueue('a'));
    withDatabase(subject.path, (connection) => connection.exec('delete from application'));
    expect(exported(subject)).toEqual([[], []]);
    expect(pendingIn(subject)).toBe(0);
  });

  test('without items imports nothing', () => {
    const { run } = openFile();
    expect(run(['importItems', []])).toEqual([0]);
  });
});

describe('a message that another process made due', () => {
  test('is noticed by the next poll when a poll fails', () => {
    const one = openFile();
    const second = openFile(one.path);
    one.run(enqueue('a'));
    one.file.isDueByOthers();
    second.run(enqueue('b'));
    const number = vi.spyOn(Database.prototype, 'number');
    number.mockImplementation(function (this: Database, sql: string) {
      if (sql.includes('due_changes')) throw sqliteError(5);
      return Number(Object.values(this.get(sql) ?? {})[0]);
    });
    expect(() => one.file.isDueByOthers()).toThrow('a message of SQLite');
    number.mockRestore();
    expect(one.file.isDueByOthers()).toBe(true);
  });

  test('is noticed once', () => {
    const [one, other] = [openFile(), openFile()];
    expect(one.file.isDueByOthers()).toBe(false);
    const second = openFile(one.path);
    one.run(enqueue('a'));
    one.file.isDueByOthers();
    second.run(enqueue('b'));
    expect([one.file.isDueByOthers(), one.file.isDueByOthers()]).toEqual([true, false]);
    expect(pendingIn(one)).toBe(2);
    expect(existsSync(other.path)).toBe(false);
  });
});

/** Time that 20 delayed enqueues for the application take, in milliseconds. */
function delayedEnqueuesMs({ run }: FileUnderTest, applicationId: string): number {
  const [operation, [entry]] = enqueue('late');
  const call = [operation, [{ ...entry, applicationId }], 10] as const;
  const startedMs = performance.now();
  for (let count = 0; count < 20; count += 1) run(call);
  return performance.now() - startedMs;
}

describe('the end of a delay', () => {
  test('visits no messages that wait for another attempt', () => {
    const subject = openFile();
    const [operation, [entry]] = enqueue('a');
    const entries = (applicationId: string, count: number) =>
      Array.from({ length: count }, () => ({ ...entry, length: 0, applicationId }));
    const request = { ofHealth: ['healthy'], maxMessages: 1e6, maxBytes: 1e9, leaseMs: 1000 };
    // Both are full: a delay ends with the enqueue.
    for (const [name, count] of [
      ['few', 1],
      ['many', 20_000],
    ] as const) {
      subject.run([operation, entries(name, count), 0]);
      const [claim] = subject.run(['claim', request]) as [{ id: string; messages: [] }];
      expect(claim.messages).toHaveLength(count);
      const update = { ...SETTINGS.initialState, maxMessages: 1, pauseMs: 0 };
      const results = claim.messages.map(() => retry(1e7));
      subject.run(['settle', claim.id, { results, count: results.length, update }]);
    }
    const ratios = Array.from(
      { length: 5 },
      () => delayedEnqueuesMs(subject, 'many') / delayedEnqueuesMs(subject, 'few'),
    );
    expect(Math.min(...ratios)).toBeLessThan(3);
  });
});
