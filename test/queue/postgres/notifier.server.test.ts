/** Processes are notified of what others do. The poll interval is longer than these tests. */
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { readQueueOptions } from '../../../src/queue/postgres/options.ts';
import { PostgresQueue } from '../../../src/queue/postgres/postgres-queue.ts';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { runFixture } from '../../helpers/child-programs.ts';
import { postgresPrograms } from '../../helpers/postgres-server.ts';
import {
  claimFrom,
  DEAD,
  entryOf,
  INITIAL,
  idsOf,
  REQUEST,
  retry,
  settleAll,
} from '../conformance/trial.ts';
import { nextDue, SCHEMA, useDatabase } from './use-database.ts';

const NEVER_MS = 1_000_000;

describe.runIf(postgresPrograms !== undefined)('an idle queue in PostgreSQL', () => {
  const { database, open, listeners } = useDatabase();
  const openIdle = (): Promise<MessageQueue> => open({ pollMs: NEVER_MS });

  /** Opens a queue that listens: `notified` resolves at its next notification. */
  const idle = async () => {
    const queue = await openIdle();
    const notified = nextDue(queue);
    await notified();
    return { queue, notified };
  };

  test('claims what another process accepts, and does not keep that process alive', async () => {
    const { queue, notified } = await idle();
    const notification = notified();
    const args = [JSON.stringify(database.server.connection), SCHEMA];
    const { lingeredMs, ...run } = await runFixture('idle-postgres-queue', args);
    expect(run).toEqual({ exitCode: 0, stdout: 'accepted\n', stderr: '' });
    expect(lingeredMs).toBeLessThan(10_000);
    await notification;
    expect(idsOf(await claimFrom(queue))).toEqual(['m']);
  });

  test('notifies once it listens again, for messages that came while its connection was cut', async () => {
    const { queue, notified } = await idle();
    const [pid] = await listeners();
    const listensAgain = notified();
    await database.server.query('select pg_terminate_backend($1)', [pid]);
    await listensAgain;
    const notification = notified();
    await (await openIdle()).enqueue([entryOf('one', { messageId: 'm' })]);
    await notification;
    const claim = await claimFrom(queue);
    expect(idsOf(claim)).toEqual(['m']);
    await settleAll(queue, claim);
  });

  test.each<[string, (other: MessageQueue) => Promise<unknown>]>([
    ['releases a claim', async (other) => await other.release(await claimFrom(other))],
    [
      'closes its queue with a claim',
      async (other) => {
        await claimFrom(other);
        await other.close();
      },
    ],
    [
      'settles a claim with another health',
      async (other) => {
        await settleAll(other, await claimFrom(other), { result: retry(0), health: 'failing' });
      },
    ],
    [
      'replays dead letters',
      async (other) => {
        await settleAll(other, await claimFrom(other), { result: DEAD });
        await other.replayDeadLetters({});
      },
    ],
    ['reopens an application', (other) => other.reopenApplication('one')],
  ])('is notified when another process %s', async (_, work) => {
    const other = await openIdle();
    await other.enqueue([entryOf('one', { messageId: 'a' })]);
    // Waits until its notifications are sent.
    expect(await other.claim({ ...REQUEST, ofHealth: [] })).toEqual({});
    const { queue, notified } = await idle();
    const notification = notified();
    await work(other);
    await notification;
    const request = { ...REQUEST, ofHealth: ['healthy', 'failing'] } as const;
    expect(idsOf(await claimFrom(queue, request))).toEqual(['a']);
  });

  test('does not listen when a pool does not show its server', async () => {
    const clients: unknown[] = [];
    const pg = await import('pg');
    class Client extends pg.default.Client {
      constructor(config?: pg.ClientConfig) {
        super(config);
        clients.push(config);
      }
    }
    const inner = new pg.default.Pool(database.server.connection);
    const pool = { connect: () => inner.connect() };
    const load = () => Promise.resolve({ ...pg.default, Client });
    const parts = { clock: systemClock, newId: () => 'id', load };
    for (const given of [pool, { ...pool, options: inner.options }]) {
      expect(clients).toEqual([]);
      const queue = new PostgresQueue(readQueueOptions({ pool: given, schema: SCHEMA }), parts);
      await queue.open(INITIAL);
      queue.onDue(() => {});
      await queue.close();
    }
    expect(clients).toEqual([inner.options]);
    await inner.end();
  });
});
