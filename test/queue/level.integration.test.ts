import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AdaptedLevelQueue } from '../../src/queue/level/adapted-level-queue.ts';
import { LevelQueue } from '../../src/queue/level/level-queue.ts';
import { createLevelQueue, type LevelQueueOptions } from '../../src/queue/level.ts';
import type { Claim, MessageQueue } from '../../src/queue/queue.ts';
import { systemClock } from '../../src/system/clock.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { copyAsKilled } from '../helpers/copy-as-killed.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { describeQueueConformance } from './conformance/describe-queue-conformance.ts';
import { DEAD, DELIVERED, entryOf, INITIAL, idsOf } from './conformance/trial.ts';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'level-queue-'));

describeQueueConformance('a queue in a folder', {
  create: (bounds) => {
    const clock = createFakeClock();
    const folders = [newFolder()];
    const queues: MessageQueue[] = [];
    const open = (): MessageQueue => {
      const given = { folder: folders.at(-1) ?? '', sync: quickOrNightly(false, true), ...bounds };
      const queue = createLevelQueue(given, clock);
      queues.push(queue);
      return queue;
    };
    return Promise.resolve({
      queue: open(),
      advance: (ms) => clock.advance(ms),
      reopen: (how) => {
        if (how === 'crashed') {
          // As kill -9 leaves it: what was written, and nothing more.
          const before = folders.at(-1) ?? '';
          folders.push(newFolder());
          copyAsKilled(before, folders.at(-1) ?? '');
        }
        return Promise.resolve(open());
      },
      dispose: async () => {
        for (const queue of queues) await queue.close();
        for (const folder of folders) rmSync(folder, { recursive: true });
      },
    });
  },
  capabilities: { durable: true, distributed: false, missesEndsOfDelays: true },
  unitMs: 1000,
  toleranceMs: 0,
  blackHoleMessages: 2000,
  crowd: 200,
  randomRuns: quickOrNightly(10, 50),
});

const REQUEST = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 60_000 } as const;

let folder = '';

beforeEach(() => {
  folder = newFolder();
});
afterEach(() => {
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

async function claimed(queue: MessageQueue): Promise<Claim> {
  const claim = await queue.claim(REQUEST);
  if (!('messages' in claim)) throw new Error('nothing was claimed');
  return claim;
}

describe('the options of a queue in a folder', () => {
  test.each([
    [undefined, [], 'expected the options to be an object'],
    [{}, ['folder'], 'expected folder to be a path'],
    [{ folder: '' }, ['folder'], 'expected folder to be a path'],
    [{ folder: 'queue', sync: 1 }, ['sync'], 'expected sync to be true or false'],
    [{ folder: 'queue', maxPendingBytes: 0 }, ['maxPendingBytes'], 'an integer from 1'],
    [{ folder: 'queue', maxPendingMessages: 1.5 }, ['maxPendingMessages'], 'an integer from 1'],
    [{ folder: 'queue', maxDeadBytes: -1 }, ['maxDeadBytes'], 'an integer from 0'],
    [{ folder: 'queue', onDamage: true }, ['onDamage'], 'expected onDamage to be a function'],
    [{ folder: 'queue', more: 1 }, ['more'], 'unknown key "more" in the options'],
  ])('refuse %j and say why', (options, path, text) => {
    const create = () => createLevelQueue(options as unknown as LevelQueueOptions);
    expect(create).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }));
    expect(create).toThrow(text);
  });

  test('say what its messages survive', () => {
    expect(createLevelQueue({ folder }).durability).toBe('power-loss');
    expect(createLevelQueue({ folder, sync: false }).durability).toBe('process-crash');
  });

  test('have defaults: a queue is full where 1 GiB waits', async () => {
    const queue = createLevelQueue({ folder });
    await queue.open(INITIAL);
    await queue.enqueue([entryOf('one', { sizeBytes: 2 ** 30 })]);
    const full = { code: 'ERR_QUEUE_FULL', path: ['maxPendingBytes'] };
    await expect(queue.enqueue([entryOf('one', { sizeBytes: 1 })])).rejects.toMatchObject(full);
    await queue.close();
  });
});

describe('the folder of a queue', () => {
  test('is made where it is not there, for its owner only', async () => {
    const inner = join(folder, 'a', 'b');
    const queue = createLevelQueue({ folder: inner });
    await queue.open(INITIAL);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
    await queue.close();
  });

  test("is its owner's also where it was there", async () => {
    mkdirSync(join(folder, 'open'), { mode: 0o755 });
    const queue = createLevelQueue({ folder: join(folder, 'open') });
    await queue.open(INITIAL);
    expect(statSync(join(folder, 'open')).mode & 0o777).toBe(0o700);
    await queue.close();
  });

  test('belongs to one queue: a second one is refused, told the folder, and can have it later', async () => {
    const first = createLevelQueue({ folder });
    await first.open(INITIAL);
    await first.enqueue([entryOf('one', { messageId: 'a' })]);
    const second = createLevelQueue({ folder });
    await expect(second.open(INITIAL)).rejects.toMatchObject({
      code: 'ERR_QUEUE_LOCKED',
      message: expect.stringContaining(folder) as string,
    });
    await expect(second.claim(REQUEST)).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    await first.close();
    await second.open(INITIAL);
    expect(idsOf(await claimed(second))).toEqual(['a']);
    await second.close();
  });

  test('cannot be a file: that is told with its cause', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const queue = createLevelQueue({ folder: file });
    const failure = { code: 'ERR_QUEUE_FAILED', cause: { code: 'EEXIST' } };
    await expect(queue.open(INITIAL)).rejects.toMatchObject(failure);
    await queue.close();
  });

  test('of another version of the package is not touched', async () => {
    const level = new ClassicLevel(folder);
    await level.put('M', '{"form":1}');
    await level.close();
    const queue = createLevelQueue({ folder });
    await expect(queue.open(INITIAL)).rejects.toThrow('was written by another version');
    await level.open();
    expect(await level.keys().all()).toEqual(['M']);
    await level.close();
  });
});

const notInstalled = (): Promise<never> => Promise.reject(new Error('not found'));

test('a queue in a folder tells how to install what it needs', async () => {
  const options = {
    folder,
    sync: true,
    maxPendingBytes: 1,
    maxPendingMessages: 1,
    maxDeadBytes: 1,
  };
  const inner = new LevelQueue(options, systemClock, { load: notInstalled, onWrite: () => {} });
  const queue = new AdaptedLevelQueue(inner);
  await expect(queue.open(INITIAL)).rejects.toMatchObject({
    code: 'ERR_PEER_MISSING',
    message: expect.stringContaining('npm install classic-level') as string,
  });
});

describe('a queue in a folder, after a write has failed,', () => {
  /** Writes fail while it says so. */
  let isFull = false;
  /** How often rows were read one after the other. */
  let readings = 0;

  class Counted extends ClassicLevel<Buffer, Buffer> {
    constructor(...args: ConstructorParameters<typeof ClassicLevel<Buffer, Buffer>>) {
      super(...args);
      const read = this.iterator.bind(this) as (...all: unknown[]) => unknown;
      const iterator = (...all: unknown[]): unknown => {
        readings += 1;
        return read(...all);
      };
      Object.assign(this, { iterator });
    }
  }

  async function failing(): Promise<MessageQueue> {
    isFull = false;
    const options = { folder, sync: false, maxDeadBytes: 1e9 };
    const bounds = { maxPendingBytes: 1e9, maxPendingMessages: 1e6 };
    const inner = new LevelQueue({ ...options, ...bounds }, systemClock, {
      load: () => Promise.resolve({ ClassicLevel: Counted }),
      onWrite: (moment) => {
        if (moment === 'before' && isFull) throw new Error('ENOSPC: no space left on device');
      },
    });
    const queue = new AdaptedLevelQueue(inner);
    await queue.open(INITIAL);
    return queue;
  }

  const FAILED = { code: 'ERR_QUEUE_FAILED', cause: { message: /ENOSPC/ } };

  async function fails(call: () => Promise<unknown>): Promise<void> {
    isFull = true;
    const error: unknown = await call().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: FAILED.code });
    expect(String((error as { cause?: unknown }).cause)).toMatch(FAILED.cause.message);
    isFull = false;
  }

  test('rejects what was not written, and goes on with what was', async () => {
    const queue = await failing();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await fails(() => queue.enqueue([entryOf('one'), entryOf('two')]));
    await queue.enqueue([entryOf('one', { messageId: 'b' })]);
    expect(idsOf(await claimed(queue))).toEqual(['a', 'b']);
    expect(await queue.stats()).toMatchObject({ accepted: 2, pending: 2, pendingBytes: 200 });
    expect(await queue.applicationState('two')).toBeUndefined();
    await queue.close();
  });

  test('lets claims that were out be settled, and a settling be tried again', async () => {
    const queue = await failing();
    await queue.enqueue(['a', 'b'].map((messageId) => entryOf('one', { messageId })));
    const claim = await claimed(queue);
    const last = { ...INITIAL, pauseMs: 0 };
    await fails(() => queue.settle(claim, [DELIVERED, DEAD], last));
    expect(await queue.stats()).toMatchObject({ delivered: 0, pending: 2, dead: 0 });
    expect(await queue.settle(claim, [DELIVERED, DEAD], last)).toBe('settled');
    expect(await queue.settle(claim, [DELIVERED, DEAD], last)).toBe('lost');
    expect(await queue.stats()).toMatchObject({ delivered: 1, pending: 0, dead: 1 });
    await queue.close();
  });

  test('counts no sending for a claim that nobody got', async () => {
    const queue = await failing();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await fails(() => queue.claim(REQUEST));
    const claim = await claimed(queue);
    expect([idsOf(claim), claim.messages[0]?.sends]).toEqual([['a'], 0]);
    await queue.close();
  });

  test('has lost nothing where the disk stays full for long, and a claim is out meanwhile', async () => {
    const queue = await failing();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    const claim = await claimed(queue);
    for (let time = 0; time < 3; time += 1) await fails(() => queue.enqueue([entryOf('one')]));
    await fails(() => queue.stats());
    await queue.release(claim);
    const again = await claimed(queue);
    expect([idsOf(again), again.messages[0]?.sends]).toEqual([['a'], 0]);
    await queue.close();
  });

  test('reads the folder once, however often it is asked while the disk is full', async () => {
    const queue = await failing();
    await queue.enqueue([entryOf('one', { messageId: 'a' }), entryOf('two', { messageId: 'b' })]);
    const claim = await claimed(queue);
    await fails(() => queue.enqueue([entryOf('one')]));
    await fails(() => queue.stats());
    const before = readings;
    for (let call = 0; call < 20; call += 1) await fails(() => queue.enqueue([entryOf('one')]));
    expect(readings).toBe(before);
    // What was read is what is written now: the claim that was out, and what waits.
    expect(await queue.settle(claim, [DELIVERED], { ...INITIAL, pauseMs: 0 })).toBe('settled');
    expect(idsOf(await claimed(queue))).toEqual(['b']);
    expect(await queue.stats()).toMatchObject({ accepted: 2, delivered: 1, pending: 1 });
    await queue.close();
    const next = createLevelQueue({ folder });
    await next.open(INITIAL);
    expect(await next.stats()).toMatchObject({ accepted: 2, delivered: 1, pending: 1 });
    expect(idsOf(await claimed(next))).toEqual(['b']);
    await next.close();
  });

  test('rejects all that waited for the same write', async () => {
    const queue = await failing();
    isFull = true;
    const calls = Array.from({ length: 20 }, () => queue.enqueue([entryOf('one')]));
    const ends = await Promise.allSettled(calls);
    isFull = false;
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(20);
    expect(await queue.stats()).toMatchObject({ accepted: 0, pending: 0 });
    await queue.enqueue([entryOf('one')]);
    expect(await queue.stats()).toMatchObject({ accepted: 1, pending: 1 });
    await queue.close();
  });

  test('can be closed, and opened by another', async () => {
    const queue = await failing();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await fails(() => queue.enqueue([entryOf('one')]));
    await queue.close();
    const next = createLevelQueue({ folder });
    await next.open(INITIAL);
    expect(idsOf(await claimed(next))).toEqual(['a']);
    await next.close();
  });
});
