/** Damaged rows, clocks that jump and handles that close early stop neither the queue nor others. */
import { statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { createSqliteQueue, type SqliteQueueOptions } from '../../../src/queue/sqlite.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import {
  claimFrom,
  DEAD,
  DELIVERED,
  entryOf,
  failedWith,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  manyOf,
  REQUEST,
  settleAll,
} from '../conformance/trial.ts';
import { newFile, openQueue } from './open-queue.ts';
import { withDatabase } from './raw-database.ts';

const HOUR_MS = 3_600_000;

async function openedOn(options: Partial<SqliteQueueOptions> = {}, clock = createFakeClock()) {
  const { file = newFile() } = options;
  return { queue: await openQueue({ ...options, file }, clock), clock, file };
}

const change = (file: string, sql: string): void =>
  withDatabase(file, (connection) => connection.exec(sql));

async function claimedIds(queue: MessageQueue): Promise<readonly string[]> {
  const claim = await queue.claim(REQUEST);
  return isClaim(claim) ? idsOf(claim) : [];
}

describe('a queue whose claim is damaged', () => {
  test('delivers other messages, and counts the send of the claim', async () => {
    const { queue, clock, file } = await openedOn();
    await queue.enqueue([entryOf('one', { messageId: 'a' }), entryOf('two', { messageId: 'b' })]);
    const claim = await claimFrom(queue);
    change(file, "update claim set sequences = '[1,'");
    const settling = queue.settle(claim, [DELIVERED], LAST);
    await expect(settling).rejects.toThrow('the claim is damaged');
    expect(await claimedIds(queue)).toEqual(['b']);
    await clock.advance(REQUEST.leaseMs);
    expect((await claimFrom(queue)).messages.map(({ retryCount }) => retryCount)).toEqual([1]);
  });

  test('is not claimed twice, and its lease ends if its end is missing', async () => {
    const { queue, clock, file } = await openedOn();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await queue.claim(REQUEST);
    change(file, 'update application set ready_at = 0');
    expect(await claimedIds(queue)).toEqual([]);
    await queue.close();
    change(file, 'update application set claim = 7, lease_end = null, ready_at = null');
    const again = await openedOn({ file }, clock);
    expect(await claimedIds(again.queue)).toEqual(['a']);
  });
});

describe('a row with an integer that is no safe number', () => {
  test('is set aside when it is due first', async () => {
    const { queue, file } = await openedOn();
    await queue.enqueue([entryOf('one', { messageId: 'a' }), entryOf('two', { messageId: 'b' })]);
    change(file, 'update message set due = -9223372036854775807 where sequence = 1');
    expect(await claimedIds(queue)).toEqual(['b']);
    expect(await queue.stats()).toMatchObject({ pending: 1, discarded: { damaged: 1 } });
  });

  test('is set aside when the file is opened, if it would never be due', async () => {
    const { queue, file, clock } = await openedOn();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await queue.close();
    change(file, 'update message set due = 9223372036854775807');
    const again = await openedOn({ file }, clock);
    expect(await again.queue.stats()).toMatchObject({ pending: 0, discarded: { damaged: 1 } });
  });
});

describe('damaged texts', () => {
  test('of an application id do not stop other applications', async () => {
    const { queue, file, clock } = await openedOn();
    await queue.enqueue([entryOf('one'), entryOf('two', { messageId: 'b' })]);
    await queue.close();
    change(file, String.raw`update application set id = 'one\x' where id = 'one'`);
    const again = await openedOn({ file }, clock);
    expect([await claimedIds(again.queue), await claimedIds(again.queue)]).toContainEqual(['b']);
    expect((await again.queue.stats()).applications.has(String.raw`one\x`)).toBe(true);
  });

  test('of a circuit breaker are read as null', async () => {
    const { queue, file } = await openedOn();
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    change(file, "update application set circuit_breaker = '{x'");
    expect(await queue.claim(REQUEST)).toMatchObject({ state: { circuitBreaker: null } });
  });

  test('of a dead letter count it as damaged when it is listed', async () => {
    const { queue, file } = await openedOn();
    const ids = ['a', 'b', 'c'];
    await queue.enqueue(ids.map((messageId) => entryOf('one', { messageId })));
    await settleAll(queue, await claimFrom(queue), { result: DEAD });
    change(file, "update dead_letter set body = x'00' where message_id = 'a'");
    change(file, "update dead_letter set last_attempt = '{x' where message_id = 'b'");
    const page = await queue.listDeadLetters({ limit: 2 });
    expect(page.items).toMatchObject([{ stored: { messageId: 'b' }, lastAttempt: null }]);
    expect(page.next).toBe(page.items[0]?.id);
    expect(await queue.stats()).toMatchObject({ accepted: 3, dead: 2, discarded: { damaged: 1 } });
  });

  test('of messages that are too old set them aside', async () => {
    const { queue, clock, file } = await openedOn();
    await queue.enqueue(['a', 'b'].map((messageId) => entryOf('one', { messageId })));
    change(file, "update message set body = x'00' where message_id = 'a'");
    await clock.advance(HOUR_MS);
    const expired = await queue.deadLetterOlderThan(1000, 10);
    expect(expired.map(({ messageId }) => messageId)).toEqual(['b']);
    expect(await queue.stats()).toMatchObject({ pending: 0, dead: 1, discarded: { damaged: 1 } });
  });
});

describe('a clock that is set back', () => {
  test('delays nothing', async () => {
    let nowMs = 10 * HOUR_MS;
    const { queue } = await openedOn({}, { ...createFakeClock(), now: () => nowMs });
    await queue.enqueue([entryOf('one'), entryOf('one', { messageId: 'late' })]);
    await settleAll(queue, await claimFrom(queue, { ...REQUEST, maxMessages: 1 }));
    nowMs -= 5 * HOUR_MS;
    await queue.enqueue([entryOf('one', { messageId: 'later' })]);
    expect(await claimedIds(queue)).toEqual(['late', 'later']);
    nowMs += REQUEST.leaseMs;
    await settleAll(queue, await claimFrom(queue), { result: DEAD });
    // Dead letters have the machine's time.
    const { items } = await queue.listDeadLetters({ limit: 1 });
    expect(items).toMatchObject([{ acceptedAt: nowMs - REQUEST.leaseMs, diedAt: nowMs }]);
  });
});

describe('an argument that cannot be posted', () => {
  test('rejects its call, and no other of the same tick', async () => {
    const { queue } = await openedOn();
    const id = Symbol('id') as unknown as string;
    const before = queue.enqueue([entryOf('one')]);
    const failing = queue.applicationState(id);
    const after = queue.enqueue([entryOf('one', { messageId: 'b' })]);
    await expect(failing).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    expect([(await before).sequences, (await after).sequences]).toEqual([[1], [2]]);
    expect(await claimedIds(queue)).toContain('b');
  });
});

test('an initial state that cannot be posted rejects open, which then succeeds with another', async () => {
  const queue = createSqliteQueue({ file: newFile() });
  const circuitBreaker = Symbol('breaker') as unknown as string;
  const opening = queue.open({ ...INITIAL, circuitBreaker });
  await expect(opening).rejects.toEqual(failedWith('cannot be posted'));
  expect(await queue.open(INITIAL)).toMatchObject({ pendingMessages: 0 });
  await queue.close();
});

describe('a handle that is closed while it opens', () => {
  test('leaves no worker behind', async () => {
    const queue = createSqliteQueue({ file: newFile() });
    const opening = queue.open(INITIAL);
    await queue.close();
    await opening;
    const key = Symbol.for('security-event-delivery.sqlite-files');
    const { files } = Reflect.get(globalThis, key) as { files: ReadonlyMap<string, unknown> };
    expect(files.size).toBe(0);
  });
});

describe('the file of a process that ended while it created it', () => {
  test('gets mode 0600', async () => {
    const file = newFile();
    writeFileSync(file, '', { mode: 0o644 });
    await openedOn({ file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

async function die(queue: MessageQueue, count: number): Promise<void> {
  await queue.enqueue(manyOf('one', count));
  const claim = await claimFrom(queue, { ...REQUEST, maxMessages: count });
  await settleAll(queue, claim, { result: DEAD, maxMessages: 10_000 });
}

describe('dead letters that are too many after a change of the options', () => {
  test('are discarded a part at a time', async () => {
    const file = newFile();
    const first = await openedOn({ file, sync: false });
    await die(first.queue, 1);
    for (let round = 0; round < 6; round += 1) await die(first.queue, 1000);
    await first.queue.close();
    const { queue } = await openedOn({ file, sync: false, maxDeadBytes: 0 }, first.clock);
    await die(queue, 1);
    expect(await queue.stats()).toMatchObject({ dead: 1002, discarded: { evicted: 5000 } });
    await die(queue, 1);
    expect(await queue.stats()).toMatchObject({ dead: 0 });
  });
});
