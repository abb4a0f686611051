/** Orders of calls, and calls that cannot be carried out, that chance seldom finds. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LevelQueue } from '../../../src/queue/level/level-queue.ts';
import type { Claim, MessageQueue, Verdict } from '../../../src/queue/level/old-contract.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts';
import { createLevelQueue, DEAD, DELIVERED, entryOf, idsOf, isClaim, ROW } from './old-trial.ts';

const nothing = (): void => {};

let folder = '';
let clock: FakeClock = createFakeClock();
/** What is done before a batch is written. */
let before: () => Promise<void> = async () => {};
let beforeReading: () => Promise<void> = async () => {};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'level-interleaving-'));
  clock = createFakeClock();
  before = async () => {};
  beforeReading = async () => {};
});
afterEach(() => rmSync(folder, { recursive: true }));

class Watched extends ClassicLevel<Buffer, Buffer> {
  constructor(...args: ConstructorParameters<typeof ClassicLevel<Buffer, Buffer>>) {
    super(...args);
    const write = this.batch.bind(this) as (...all: unknown[]) => Promise<void>;
    const batch = async (...all: unknown[]): Promise<void> => {
      await before();
      await write(...all);
    };
    const read = this.getMany.bind(this) as (...all: unknown[]) => Promise<unknown>;
    const getMany = async (...all: unknown[]): Promise<unknown> => {
      await beforeReading();
      return await read(...all);
    };
    // Of a large write it is the package's own.
    const batchOf = (...all: unknown[]) => (all.length === 0 ? write() : batch(...all));
    Object.assign(this, { batch: batchOf, getMany });
  }
}

const loadWatched = () => Promise.resolve({ ClassicLevel: Watched });

async function watched(bounds: { maxPendingBytes?: number; maxDeadBytes?: number } = {}) {
  const { maxPendingBytes = 1e6, maxDeadBytes = 1e6 } = bounds;
  const options = { folder, sync: false, maxPendingBytes, maxPendingMessages: 100, maxDeadBytes };
  const queue = new LevelQueue(options, clock, { load: loadWatched, onWrite: nothing });
  await queue.open(ROW);
  return queue;
}

const REQUEST = {
  tiers: ['healthy', 'failing'],
  maxMessages: 100,
  maxBytes: 1e6,
  leaseMs: 1000,
} as const;

async function claimed(queue: MessageQueue): Promise<Claim> {
  const claim = await queue.claim(REQUEST);
  if (!isClaim(claim)) throw new Error(`nothing was claimed: ${JSON.stringify(claim)}`);
  return claim;
}

const LAST = { ...ROW, waitMs: 0 };
const again = (afterMs: number): Verdict => ({ kind: 'again', afterMs, progress: null });

/** Holds up whoever calls `pass`, until it is opened; `reached` resolves with the first one there. */
function gate() {
  let open: () => void = nothing;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let arrive: () => void = nothing;
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const pass = (): Promise<void> => {
    arrive();
    return opened;
  };
  return { pass, reached, open };
}

/** Time for what is under way to go on. Nothing that is expected depends on how far it comes. */
const turns = () => new Promise<void>((resolve) => void setTimeout(resolve, 20));

describe('a queue in a folder', () => {
  test('gives what another queue brought while a claim was read that left something for later', async () => {
    const queue = await watched();
    await queue.enqueue(['now', 'later'].map((messageId) => entryOf('one', { messageId })));
    const first = await claimed(queue);
    await queue.settle(first, [again(1), again(100)], LAST);
    await clock.advance(2);
    const { pass, reached, open } = gate();
    beforeReading = pass;
    const claiming = claimed(queue);
    await reached;
    beforeReading = async () => {};
    const past = { sends: 0, ageMs: 500, dueInMs: 50, progress: null };
    await queue.enqueue([{ ...entryOf('one', { messageId: 'brought' }), past }]);
    open();
    await queue.settle(await claiming, [DELIVERED], LAST);
    expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 50 });
    await clock.advance(50);
    expect(idsOf(await claimed(queue))).toEqual(['brought']);
    await queue.close();
  });

  test('looks at what has become due since a claim began, and does not look for ever', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one')]);
    await queue.settle(await claimed(queue), [again(0)], { ...LAST, tier: 'failing' });
    await claimed(queue);
    const { pass, reached, open } = gate();
    before = pass;
    const closing = queue.closeApplication('three', 1);
    await reached;
    before = async () => {};
    await clock.advance(1000);
    // It waits for the lease to end, which is written together with what becomes due meanwhile.
    const claiming = queue.claim({ ...REQUEST, tiers: ['healthy'] });
    await turns();
    await clock.advance(5);
    const entering = queue.enqueue([entryOf('two', { messageId: 'b' })]);
    await turns();
    open();
    await Promise.all([closing, entering]);
    // Whether b was written together with the end of the lease, or after it, nobody can say.
    const found = await claiming;
    const given = 'messages' in found ? found : await claimed(queue);
    expect(idsOf(given)).toEqual(['b']);
    await queue.close();
  });

  test('adds up while a settling is being written', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one'), entryOf('one'), entryOf('one')]);
    const claim = await claimed(queue);
    const { pass, reached, open } = gate();
    before = pass;
    const settling = queue.settle(claim, [DELIVERED, DEAD, again(5)], LAST);
    await reached;
    const stats = await queue.stats();
    expect(stats).toMatchObject({ accepted: 3, delivered: 1, pending: 1, dead: 1 });
    open();
    await settling;
    expect(await queue.stats()).toMatchObject({ accepted: 3, delivered: 1, pending: 1, dead: 1 });
    await queue.close();
  });

  test('has the room again of what could not be stored', async () => {
    const queue = await watched({ maxPendingBytes: 2 ** 33 });
    const failed = { code: 'ERR_QUEUE_FAILED', cause: { code: 'ERR_OUT_OF_RANGE' } };
    const large = entryOf('one', { sizeBytes: 2 ** 32 });
    await expect(queue.enqueue([large, large])).rejects.toMatchObject(failed);
    const past = { sends: -1, ageMs: 0, dueInMs: 0, progress: null };
    const wrong = queue.enqueue([entryOf('one'), { ...entryOf('one'), past }]);
    await expect(wrong).rejects.toMatchObject(failed);
    expect(await queue.stats()).toMatchObject({ accepted: 0, pending: 0, pendingBytes: 0 });
    await queue.close();
  });

  test('lets a claim be settled again whose verdicts could not be stored', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one'), entryOf('one')]);
    const claim = await claimed(queue);
    const circular: unknown[] = [];
    circular.push(circular);
    const odd = { ...again(0), progress: circular } as Verdict;
    const failing = queue.settle(claim, [DELIVERED, odd], LAST);
    await expect(failing).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    expect(await queue.stats()).toMatchObject({ delivered: 0, pending: 2, pendingBytes: 200 });
    expect(await queue.settle(claim, [DELIVERED, DELIVERED], LAST)).toBe('settled');
    expect(await queue.stats()).toMatchObject({ delivered: 2, pending: 0, pendingBytes: 0 });
    await queue.close();
  });

  test('leaves its folder to another where it is closed while it is being opened', async () => {
    const queue = createLevelQueue({ folder });
    const opening = queue.open(ROW);
    await queue.close();
    await opening.catch(() => {});
    const next = createLevelQueue({ folder });
    await next.open(ROW);
    expect(await next.stats()).toMatchObject({ accepted: 0 });
    await next.close();
  });

  test('counts no sending for a claim that was out when it was closed after a failed write', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await claimed(queue);
    before = () => Promise.reject(new Error('EIO'));
    await queue.enqueue([entryOf('one')]).catch(() => {});
    before = async () => {};
    expect(await queue.close()).toEqual({ returned: [], left: 1 });
    const next = await watched();
    expect((await claimed(next)).messages.map(({ sends }) => sends)).toEqual([0]);
    await next.close();
  });

  test('leaves its folder to another where its last write fails', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await claimed(queue);
    before = () => Promise.reject(new Error('EIO'));
    await expect(queue.close()).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    before = async () => {};
    const next = await watched();
    expect(await next.stats()).toMatchObject({ pending: 1 });
    await next.close();
  });

  test('has settled what was settled, also where the oldest letters could not be evicted', async () => {
    const queue = await watched({ maxDeadBytes: 0 });
    await queue.enqueue([entryOf('one')]);
    const claim = await claimed(queue);
    let writes = 0;
    before = () => {
      writes += 1;
      return writes === 2 ? Promise.reject(new Error('EIO')) : Promise.resolve();
    };
    expect(await queue.settle(claim, [DEAD], LAST)).toBe('settled');
    expect(await queue.stats()).toMatchObject({ dead: 1 });
    await queue.enqueue([entryOf('one')]);
    expect(await queue.stats()).toMatchObject({ dead: 0, discarded: { evicted: 1 } });
    await queue.close();
  });

  test('makes dead letters of what a replay under way brings back while its application is closed', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await queue.settle(await claimed(queue), [DEAD], LAST);
    const { pass, reached, open } = gate();
    before = pass;
    const replaying = queue.replay({});
    await reached;
    const closing = queue.closeApplication('one', 10);
    await turns();
    open();
    expect(await replaying).toBe(1);
    expect((await closing).map(({ messageId }) => messageId)).toEqual(['a']);
    await queue.close();
  });

  test('stores thousands of messages in one write, and takes them out again', async () => {
    const queue = createLevelQueue({ folder, sync: false });
    await queue.open(ROW);
    const entries = Array.from({ length: 3000 }, () => entryOf('one'));
    await queue.enqueue(entries);
    const claim = await queue.claim({ ...REQUEST, maxMessages: 3000 });
    expect(isClaim(claim) && idsOf(claim)).toEqual(
      entries.slice(0, ROW.maxMessages).map(({ stored }) => stored.messageId),
    );
    expect(await queue.closeApplication('one', 3000)).toHaveLength(3000 - ROW.maxMessages);
    await queue.close();
    const next = createLevelQueue({ folder, sync: false });
    await next.open(ROW);
    expect(await next.stats()).toMatchObject({ accepted: 3000, pending: 1000, dead: 2000 });
    await next.close();
  });

  test('keeps half of a character and NUL in names, and its letters can be purged', async () => {
    const queue = await watched();
    const odd = entryOf('\ud83d\0 and more', { messageId: '\udc00' });
    await queue.enqueue([odd]);
    const claim = await claimed(queue);
    expect(claim.messages[0]).toMatchObject({ stored: odd.stored, origin: odd.origin });
    await queue.settle(claim, [DEAD], LAST);
    const { items } = await queue.deadLetters({ limit: 10 });
    expect(items).toMatchObject([{ applicationId: odd.applicationId, stored: odd.stored }]);
    expect(await queue.purge({ applicationId: odd.applicationId })).toBe(1);
    await queue.close();
  });

  test.each(['-5', '1.5', '1e300', '281474976710657', 'NaN', 'x', ''])(
    'knows no dead letter %j',
    async (id) => {
      const queue = await watched();
      await queue.enqueue([entryOf('one')]);
      await queue.settle(await claimed(queue), [DEAD], LAST);
      expect(await queue.purge({ ids: [id] })).toBe(0);
      expect((await queue.deadLetters({ limit: 10, after: id })).items).toHaveLength(1);
      await queue.close();
    },
  );

  test('takes any limit of a verdict', async () => {
    const queue = await watched();
    await queue.enqueue([entryOf('one')]);
    const large = { ...again(0), maxMessages: Number.MAX_SAFE_INTEGER } as Verdict;
    expect(await queue.settle(await claimed(queue), [large], LAST)).toBe('settled');
    expect((await claimed(queue)).messages).toHaveLength(1);
    await queue.close();
  });
});
