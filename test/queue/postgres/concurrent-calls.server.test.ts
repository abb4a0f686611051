/** Calls of several processes at the same time, and calls that wait for each other's locks. */
import assert from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import type { Claim, MessageQueue } from '../../../src/queue/queue.ts';
import { postgresPrograms } from '../../helpers/postgres-server.ts';
import {
  claimFrom,
  DEAD,
  DELIVERED,
  deliverAll,
  entryOf,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  manyOf,
  REQUEST,
  settleAll,
} from '../conformance/trial.ts';
import { SCHEMA, useDatabase, WAITING } from './use-database.ts';

const CLOSED = { ...LAST, health: 'closed' } as const;
const HOLD = `begin; select from ${SCHEMA}.application for no key update`;

/** Ten calls of five messages each. */
const fill = (queue: MessageQueue) =>
  Array.from({ length: 10 }, () => queue.enqueue(manyOf('one', 5)));

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  const { database, open } = useDatabase({});

  /** Lets no process add counter deltas during `work`. */
  const withoutFlush = async (work: () => Promise<unknown>): Promise<void> => {
    await database.control.query(
      `begin; lock table ${SCHEMA}.flush_lock in share update exclusive mode`,
    );
    try {
      await work();
    } finally {
      await database.control.query('rollback');
    }
  };

  describe('its bounds', () => {
    test('are exact for one process with many concurrent calls', async () => {
      const queue = await open({ maxPendingMessages: 100 });
      const calls = Array.from({ length: 50 }, () => queue.enqueue(manyOf('one', 3)));
      const answers = await Promise.allSettled(calls);
      const stored = answers.filter(({ status }) => status === 'fulfilled');
      expect(stored).toHaveLength(33);
      expect(await queue.stats()).toMatchObject({ accepted: 99, pending: 99 });
    });

    test('are exceeded at most by what other processes enqueue at the same moment', async () => {
      const bounds = { maxPendingMessages: 50 };
      const queues = [await open(bounds), await open(bounds), await open(bounds)] as const;
      const [queue] = queues;
      await Promise.allSettled(queues.flatMap(fill));
      const { pending } = await queue.stats();
      expect(pending).toBeGreaterThanOrEqual(50);
      // One transaction of each process, with at most all of its calls.
      expect(pending).toBeLessThan(50 + 2 * 50);
      await expect(queue.enqueue([entryOf('one')])).rejects.toMatchObject({
        code: 'ERR_QUEUE_FULL',
      });
      expect(await deliverAll(queue)).toHaveLength(pending);
      await queue.enqueue(manyOf('one', 50));
    });
  });

  describe('calls at the same time', () => {
    const NAMES = Array.from({ length: 12 }, (_, index) => `shop-${index}`);

    const claimAll = async (queue: MessageQueue): Promise<Claim[]> => {
      await queue.enqueue(NAMES.flatMap((name) => manyOf(name, 2)));
      return await Promise.all(NAMES.map(() => claimFrom(queue)));
    };

    test('each have their own result', async () => {
      const queue = await open();
      const [first, second, third, fourth, ...others] = await claimAll(queue);
      assert(first && second && third && fourth);
      const retry = { kind: 'retry', afterMs: 1e6, retryState: { failures: 1 } } as const;
      const answers = await Promise.allSettled([
        ...others.map((one) => settleAll(queue, one)),
        queue.settle(first, [DELIVERED], LAST),
        queue.settle(first, [retry, DEAD], LAST),
        queue.settle(first, [DELIVERED, DELIVERED], LAST),
        queue.settle({ ...second, id: `${second.id}0` }, [DEAD, DEAD], LAST),
        queue.release(third),
        queue.release({ ...fourth, id: 'forged' }),
        queue.settle(fourth, [DELIVERED, retry], { ...LAST, health: 'failing' }),
      ]);
      const results = answers.map((one) => (one.status === 'fulfilled' ? one.value : 'rejected'));
      expect(results.slice(0, others.length)).toEqual(others.map(() => 'settled'));
      const ofOthers = 'rejected settled lost lost released lost settled';
      expect(results.slice(others.length)).toEqual(ofOthers.split(' '));
      const { applications, ...total } = await queue.stats();
      // Of the first and the fourth a message waits, of the second and the third both.
      expect(total).toMatchObject({ delivered: 17, dead: 1, pending: 6 });
      expect(applications.get(fourth.applicationId)).toMatchObject({
        health: 'failing',
        pending: 1,
      });
      expect((await claimFrom(queue)).messages.map(({ retryCount }) => retryCount)).toEqual([0, 0]);
    });

    test('do not wait for an application that is locked', async () => {
      const queue = await open();
      const [first, ...others] = await claimAll(queue);
      assert(first);
      await database.control.query(`begin; select from ${SCHEMA}.application
        where number = ${first.id.split('-')[0]} for no key update`);
      const settle = (one: Claim) => settleAll(queue, one);
      // The second is under way when the others are grouped.
      const settled = [...others.slice(0, 1), first, ...others.slice(1)].map(settle);
      let isFirstSettled = false;
      void settled[1]?.then(() => {
        isFirstSettled = true;
      });
      const free = settled.filter((_, index) => index !== 1);
      expect(await Promise.all(free)).toEqual(free.map(() => 'settled'));
      await queue.enqueue(manyOf('later', 2));
      expect(await settle(await claimFrom(queue))).toBe('settled');
      expect(isFirstSettled).toBe(false);
      await database.control.query('commit');
      expect(await settled[1]).toBe('settled');
      expect(await queue.stats()).toMatchObject({ delivered: 26, pending: 0 });
    });
  });

  test.each([
    ['closed', (other: MessageQueue, claim: Claim) => other.settle(claim, [DELIVERED], CLOSED)],
    ['reopened', (other: MessageQueue) => other.reopenApplication('one')],
  ] as const)(
    'stores what it reports as stored when an application is %s meanwhile',
    async (how, change) => {
      const queue = await open();
      const other = await open();
      await queue.enqueue([entryOf('one')]);
      const claim = await claimFrom(queue);
      if (how === 'reopened') await queue.settle(claim, [DELIVERED], CLOSED);
      // A new application makes the call wait after it has looked which of its applications are closed.
      await database.control.query(`begin; insert into ${SCHEMA}.application
      (id, health, max_messages, max_bytes, circuit_breaker) values ('new', 'healthy', 1, 1, 'null')`);
      const entries = [entryOf('one', { messageId: 'a' }), entryOf('new', { messageId: 'b' })];
      const enqueuing = queue.enqueue(entries);
      await expect.poll(() => database.server.query(WAITING)).toHaveLength(1);
      await change(other, claim);
      await database.control.query('rollback');
      const { sequences, closed } = await enqueuing;
      expect(closed).toEqual(how === 'closed' ? [] : ['one']);
      expect(sequences).toHaveLength(2 - closed.length);
      await other.reopenApplication('one');
      expect((await deliverAll(queue)).toSorted()).toEqual(how === 'closed' ? ['a', 'b'] : ['b']);
    },
  );

  describe('a row that another process has locked', () => {
    test('is waited for, rather than reported as missing', async () => {
      const queue = await open();
      await queue.enqueue([entryOf('one', { messageId: 'a' })]);
      expect(await queue.claim({ ...REQUEST, ofHealth: [] })).toEqual({});
      await database.control.query(HOLD);
      const claiming = queue.claim(REQUEST);
      await expect.poll(() => database.server.query(WAITING)).toHaveLength(1);
      await database.control.query('commit');
      const claimed = await claiming;
      expect(isClaim(claimed) && idsOf(claimed)).toEqual(['a']);
    });

    test('holds up its counter deltas, and claims are tried again soon', async () => {
      const queue = await open();
      await queue.enqueue([entryOf('one', { messageId: 'a' })]);
      await deliverAll(queue);
      await database.control.query(HOLD);
      await queue.enqueue([entryOf('one', { messageId: 'b' })]);
      expect(await queue.stats()).toMatchObject({ accepted: 2, pending: 1, delivered: 1 });
      expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 5 });
      await database.control.query('commit');
      expect(await deliverAll(queue)).toEqual(['b']);
    });
  });

  test('replays each dead letter once, though it dies again before the replay ends', async () => {
    const queue = await open();
    await queue.enqueue(manyOf('one', 1500));
    await queue.deadLetterOlderThan(-1000, 1500);
    // The second page waits for its last row.
    await database.control.query(
      `begin; select from ${SCHEMA}.dead_letter order by id desc limit 1 for update`,
    );
    const replaying = queue.replayDeadLetters({});
    await expect.poll(async () => (await queue.stats()).pending).toBe(1000);
    const claim = await claimFrom(queue);
    expect(await settleAll(queue, claim, { result: DEAD })).toBe('settled');
    await database.control.query('commit');
    expect(claim.messages).toHaveLength(1000);
    expect(await replaying).toBe(1500);
    expect(await queue.stats()).toMatchObject({ pending: 500, dead: 1000 });
  });

  describe('before counter deltas are added', () => {
    test('expired messages are forgotten, with the times when they were due', async () => {
      const queue = await open();
      await queue.enqueue([entryOf('one')]);
      await queue.release(await claimFrom(queue));
      await withoutFlush(async () => {
        await queue.enqueue([entryOf('two'), entryOf('three')]);
        await queue.enqueue([entryOf('four')], 60_000);
        expect(await queue.deadLetterOlderThan(-1000, 10)).toHaveLength(4);
        await database.control.query('select pg_sleep(0.02)');
      });
      expect(await queue.stats()).toMatchObject({ pending: 0, oldestDueMs: 0 });
      expect(await queue.claim(REQUEST)).toEqual({});
    });

    test('stats wait for the early end of delays', async () => {
      const queue = await open();
      await queue.open({ ...INITIAL, maxMessages: 2 });
      const reading = { stats: queue.stats() };
      await withoutFlush(async () => {
        await queue.enqueue([entryOf('one')], 60_000);
        await queue.enqueue([entryOf('one')], 60_000);
        reading.stats = queue.stats();
        await database.control.query('select pg_sleep(0.05)');
      });
      const { pending, oldestDueMs } = await reading.stats;
      expect(pending).toBe(2);
      expect(oldestDueMs).toBeGreaterThan(40);
    });
  });
});
