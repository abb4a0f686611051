import { describe, expect, test } from 'vitest';
import { type DrainReport, drainTo } from '../../src/queue/drain-to.ts';
import { createMemoryQueue, type MemoryQueueOptions } from '../../src/queue/memory.ts';
import type { Claim, MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { DEAD, entryOf, idsOf, ROW } from './conformance/trial.ts';

const REQUEST = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 1000 } as const;
const AGAIN = { kind: 'again', afterMs: 5000, progress: 1, maxMessages: 2 } as const;

const clock = createFakeClock();

async function queueWith(options: MemoryQueueOptions = {}): Promise<MessageQueue> {
  const queue = createMemoryQueue(options, clock);
  await queue.open(ROW);
  return queue;
}

const claimOf = async (queue: MessageQueue): Promise<Claim> => {
  const claimed = await queue.claim(REQUEST);
  if (!('messages' in claimed)) throw new Error('nothing was claimed');
  return claimed;
};

/** Of `one`: a waits, b waits again, c is dead. `two` is closed, and d died of it. */
async function used(): Promise<MessageQueue> {
  const queue = await queueWith();
  await queue.enqueue(['c', 'b'].map((messageId) => entryOf('one', { messageId })));
  await queue.settle(await claimOf(queue), [DEAD, AGAIN], { ...ROW, waitMs: 100 });
  await queue.enqueue([entryOf('one', { messageId: 'a' }), entryOf('two', { messageId: 'd' })]);
  await queue.closeApplication('two', 0);
  return queue;
}

describe('drainTo', () => {
  test('moves all that waits, the dead letters and what is closed', async () => {
    const source = await used();
    const before = (await source.deadLetters({ limit: 10 })).items[0];
    const target = await queueWith();
    const steps: DrainReport[] = [];
    const report = await drainTo(source, target, { onProgress: (moved) => steps.push(moved) });
    expect(report).toEqual({ waiting: 2, deadLetters: 2, closed: [] });
    expect(steps.map(({ waiting, deadLetters }) => [waiting, deadLetters])).toEqual([
      [2, 0],
      [2, 2],
    ]);
    expect(await source.stats()).toMatchObject({
      accepted: 4,
      pending: 0,
      dead: 0,
      pendingBytes: 0,
      discarded: { moved: 4 },
    });
    expect(await target.stats()).toMatchObject({ accepted: 4, pending: 2, dead: 2 });
    expect((await target.application('two'))?.tier).toBe('closed');
    const letters = (await target.deadLetters({ limit: 10 })).items;
    expect(letters.map(({ stored, reason }) => [stored.messageId, reason])).toEqual([
      ['c', 'attempts-exhausted'],
      ['d', 'destination-closed'],
    ]);
    expect(letters[0]).toEqual({ ...before, id: letters[0]?.id });
    expect(idsOf(await claimOf(target))).toEqual(['a']);
    clock.elapse(5000);
    const again = await claimOf(target);
    expect(idsOf(again)).toEqual(['a', 'b']);
    expect(again.messages[1]).toMatchObject({ sends: 1, progress: 1 });
  });

  test('makes dead letters of what the target is closed for, and tells of whom', async () => {
    const source = await used();
    const target = await queueWith();
    await target.closeApplication('one', 1);
    const report = await drainTo(source, target);
    expect(report).toEqual({ waiting: 2, deadLetters: 2, closed: ['one'] });
    expect(await target.stats()).toMatchObject({ accepted: 4, pending: 0, dead: 4 });
    const { items } = await target.deadLetters({ limit: 10, applicationId: 'one' });
    expect(items.map(({ reason, sends }) => [reason, sends])).toEqual([
      ['destination-closed', 0],
      ['destination-closed', 1],
      ['attempts-exhausted', 1],
    ]);
  });

  test('leaves in the source what the target has no room for, and goes on when called again', async () => {
    const source = await used();
    const target = await queueWith({ maxPendingMessages: 1 });
    await expect(drainTo(source, target)).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    expect(await target.stats()).toMatchObject({ accepted: 0 });
    expect(await source.stats()).toMatchObject({ pending: 2, dead: 2 });
    const roomy = await queueWith();
    expect(await drainTo(source, roomy)).toMatchObject({ waiting: 2, deadLetters: 2 });
    expect(idsOf(await claimOf(roomy))).toEqual(['a']);
  });

  test('ends at its signal between two steps', async () => {
    const source = await used();
    const target = await queueWith();
    const stop = new AbortController();
    const onProgress = (): void => stop.abort();
    const report = await drainTo(source, target, { signal: stop.signal, onProgress });
    expect(report).toMatchObject({ waiting: 2, deadLetters: 0 });
    expect(await source.stats()).toMatchObject({ dead: 2 });
    expect(await drainTo(source, target, { signal: stop.signal })).toMatchObject({ waiting: 0 });
  });

  test('refuses a queue that knows nothing of moving, and loses nothing', async () => {
    const source = await used();
    const claim = source.claim.bind(source);
    source.claim = () => claim(REQUEST);
    clock.elapse(200);
    const target = await queueWith();
    await expect(drainTo(source, target)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('early claims') as string,
    });
    expect(await source.stats()).toMatchObject({ pending: 2, dead: 2 });
  });

  test.each([
    [{ signal: 1 }, ['signal']],
    [{ onProgress: 1 }, ['onProgress']],
    [{ onprogress: () => {} }, ['onprogress']],
  ])('refuses %j', async (options, path) => {
    const queue = await queueWith();
    await expect(drainTo(queue, queue, options as object)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path,
    });
  });
});
