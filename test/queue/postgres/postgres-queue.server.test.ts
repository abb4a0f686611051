/** What the conformance suite does not cover, on a server that flushes its commits. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { schemaFile } from '../../../src/queue/postgres/schema.ts';
import {
  createPostgresQueue,
  createPostgresSchema,
  type PostgresQueueOptions,
} from '../../../src/queue/postgres.ts';
import type { Claim, DurableQueue, MessageQueue, QueueEntry } from '../../../src/queue/queue.ts';
import { root } from '../../helpers/package-files.ts';
import { PostgresServer, postgresPrograms } from '../../helpers/postgres-server.ts';
import {
  claimFrom,
  DEAD,
  DELIVERED,
  entryOf,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  REQUEST,
} from '../conformance/trial.ts';

const CLOSED = { ...LAST, health: 'closed' } as const;
const SCHEMA = 'own';
const HOLD = `begin; select from ${SCHEMA}.application for no key update`;
const manyOf = (name: string, count: number): QueueEntry[] =>
  Array.from({ length: count }, () => entryOf(name));

const deliverAll = async (queue: MessageQueue): Promise<string[]> => {
  const names: string[] = [];
  for (;;) {
    const claimed = await queue.claim(REQUEST);
    if (!isClaim(claimed)) return names;
    names.push(...idsOf(claimed));
    await queue.settle(claimed, Array(claimed.messages.length).fill(DELIVERED), LAST);
  }
};

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  let server: PostgresServer;
  let control: pg.Client;
  const opened: MessageQueue[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start({});
    control = new pg.Client(server.connection);
    control.on('error', () => {});
    await control.connect();
    await createPostgresSchema({ connection: server.connection, schema: SCHEMA });
  });

  afterEach(async () => {
    for (const queue of opened.splice(0)) await queue.close();
    const tables = ['application', 'message', 'dead_letter', 'counter_delta'];
    const text = tables.map((table) => `delete from ${SCHEMA}.${table};`).join('');
    await control.query(`${text} update ${SCHEMA}.pending_total set messages = 0, bytes = 0`);
  });

  afterAll(async () => {
    await control.end();
    await server.stop();
  });

  const made = (options: Partial<PostgresQueueOptions> = {}): MessageQueue => {
    const given = options.pool === undefined ? { connection: server.connection } : {};
    const queue = createPostgresQueue({ ...given, schema: SCHEMA, ...options });
    opened.push(queue);
    return queue;
  };

  const open = async (options: Partial<PostgresQueueOptions> = {}): Promise<MessageQueue> => {
    const queue = made(options);
    await queue.open(INITIAL);
    return queue;
  };

  const listeners = async (): Promise<number[]> => {
    const text = `select pid from pg_stat_activity where query ilike 'listen%' and state = 'idle'`;
    return (await control.query<{ pid: number }>(text)).rows.map(({ pid }) => pid);
  };

  /** Lets no process add counter deltas during `work`. */
  const withoutFlush = async (work: () => Promise<unknown>): Promise<void> => {
    await control.query(`begin; lock table ${SCHEMA}.flush_lock in share update exclusive mode`);
    try {
      await work();
    } finally {
      await control.query('rollback');
    }
  };

  describe('its schema', () => {
    test('is required by open, which succeeds once it is there', async () => {
      const queue = made({ schema: 'missing' });
      await expect(queue.open(INITIAL)).rejects.toMatchObject({
        code: 'ERR_QUEUE_FAILED',
        message: expect.stringContaining('createPostgresSchema') as string,
        cause: { code: '42P01' },
      });
      await createPostgresSchema({ connection: server.connection, schema: 'missing' });
      await queue.open(INITIAL);
      expect((await queue.enqueue([entryOf('one')])).sequences).toHaveLength(1);
    });

    test('is refused if it has another version', async () => {
      await createPostgresSchema({ connection: server.connection, schema: 'later' });
      await control.query('update later.schema_version set version = 99');
      const refused = {
        code: 'ERR_QUEUE_FAILED',
        message: expect.stringContaining('the schema later is of version 99, not 1') as string,
      };
      await expect(made({ schema: 'later' }).open(INITIAL)).rejects.toMatchObject(refused);
      const connection = server.connection;
      await expect(createPostgresSchema({ connection, schema: 'later' })).rejects.toMatchObject(
        refused,
      );
    });

    test('can be made with the SQL file of the package, which is the same', async () => {
      const file = readFileSync(join(root, 'sql/postgres-queue.sql'), 'utf8');
      expect(file).toBe(schemaFile('security_events'));
      await control.query(file);
      const pool = new pg.Pool(server.connection);
      expect(await createPostgresSchema({ pool })).toBe('present');
      const queue = await open({ pool, schema: 'security_events' });
      await queue.enqueue([entryOf('one', { messageId: 'a' })]);
      expect(await deliverAll(queue)).toEqual(['a']);
      await queue.close();
      // The caller ends it.
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
      await pool.end();
    });

    test('leaves nothing behind when it cannot be made', async () => {
      await control.query('create schema half; create table half.message (a integer)');
      const making = createPostgresSchema({ connection: server.connection, schema: 'half' });
      await expect(making).rejects.toMatchObject({ cause: { code: '42P07' } });
      const { rows } = await control.query(`select to_regclass('half.application') as found`);
      expect(rows).toEqual([{ found: null }]);
    });
  });

  test('has the durability of the server settings', async () => {
    expect((await open()).durability).toBe('server');
    await control.query('alter role postgres set synchronous_commit = off');
    expect((await open()).durability).toBe('process-crash');
    await control.query(`alter role postgres reset synchronous_commit;
      alter role postgres set default_transaction_isolation = 'serializable'`);
    await expect(made().open(INITIAL)).rejects.toThrow(
      'default_transaction_isolation is serializable',
    );
    await control.query('alter role postgres reset default_transaction_isolation');
  });

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
      const queues = await Promise.all(
        Array.from({ length: 4 }, () => open({ maxPendingMessages: 50 })),
      );
      await Promise.allSettled(
        queues.flatMap((queue) =>
          Array.from({ length: 10 }, () => queue.enqueue(manyOf('one', 5))),
        ),
      );
      const [queue] = queues as [MessageQueue];
      const { pending } = await queue.stats();
      expect(pending).toBeGreaterThanOrEqual(50);
      // One transaction of each process, with at most all of its calls.
      expect(pending).toBeLessThan(50 + 3 * 50);
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

    test('share transactions', async () => {
      const pool = new pg.Pool(server.connection);
      // Each query of the queue is a transaction of its own.
      const calls: string[] = [];
      pool.on('connect', (client) => {
        const query: (...args: unknown[]) => unknown = client.query.bind(client);
        const counted = (...args: [{ readonly text?: string }, ...unknown[]]): unknown => {
          calls.push(/claimed_messages|claim|settle/.exec(args[0].text ?? '')?.[0] ?? 'other');
          return query(...args);
        };
        Object.assign(client, { query: counted });
      });
      const queue = await open({ pool, listen: false });
      await claimAll(queue).then((all) => Promise.all(all.map((one) => queue.release(one))));
      calls.length = 0;
      const claims = await Promise.all(NAMES.map(() => claimFrom(queue)));
      await Promise.all(claims.map((one) => queue.settle(one, [DELIVERED, DELIVERED], LAST)));
      // Settling begins with the first; the others wait for it and share the next transaction.
      const ofQueue = calls.filter((name) => name !== 'other');
      expect(ofQueue).toEqual(['claim', 'claimed_messages', 'settle', 'settle']);
      expect(new Set(claims.map(({ applicationId }) => applicationId))).toEqual(new Set(NAMES));
      expect(await queue.stats()).toMatchObject({ delivered: 24, pending: 0 });
      await queue.close();
      await pool.end();
    });

    test('each have their own result', async () => {
      const queue = await open();
      const [first, second, third, fourth, ...others] = await claimAll(queue);
      assert(first && second && third && fourth);
      const retry = { kind: 'retry', afterMs: 1e6, retryState: { failures: 1 } } as const;
      const answers = await Promise.allSettled([
        ...others.map((one) => queue.settle(one, [DELIVERED, DELIVERED], LAST)),
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
      expect(results.slice(others.length)).toEqual([
        'rejected',
        'settled',
        'lost',
        'lost',
        'released',
        'lost',
        'settled',
      ]);
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
      await control.query(`begin; select from ${SCHEMA}.application
        where number = ${first.id.split('-')[0]} for no key update`);
      const settle = (one: Claim) => queue.settle(one, [DELIVERED, DELIVERED], LAST);
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
      await control.query('commit');
      expect(await settled[1]).toBe('settled');
      expect(await queue.stats()).toMatchObject({ delivered: 26, pending: 0 });
    });
  });

  test('polls for messages of other processes, and does not listen, with transactionPooling', async () => {
    const queue = await open({ pollMs: 50, transactionPooling: true });
    const events = new EventEmitter();
    queue.onDue(() => events.emit('due'));
    await once(events, 'due');
    const other = await open();
    const due = once(events, 'due');
    await other.enqueue([entryOf('one', { messageId: 'a' })]);
    await due;
    expect(await deliverAll(queue)).toEqual(['a']);
    expect(await listeners()).toEqual([]);
  });

  test('listens on a connection of its own beside a pool of the caller, and ends it', async () => {
    const pool = new pg.Pool({ ...server.connection, max: 1 });
    const queue = await open({ pool, pollMs: 100_000 });
    const listened = new EventEmitter();
    const isListening = once(listened, 'due');
    queue.onDue(() => listened.emit('due'));
    await isListening;
    expect(await listeners()).toHaveLength(1);
    const notified = once(listened, 'due');
    await (await open()).enqueue([entryOf('one', { messageId: 'a' })]);
    await notified;
    expect(await deliverAll(queue)).toEqual(['a']);
    await queue.close();
    await pool.end();
    await expect.poll(listeners).toEqual([]);
  });

  test('purges dead letters by their age with the SQL of the guide, and counts them', async () => {
    const guide = readFileSync(join(root, 'docs/fleet.md'), 'utf8');
    const [, sql = ''] = /```sql\n(select [^`]*dead_letter[^`]*)```/.exec(guide) ?? [];
    const queue = await open();
    await queue.enqueue([31, 29, 40, 0].map((days) => entryOf('one', { messageId: `${days}` })));
    await queue.deadLetterOlderThan(-1000, 9);
    await control.query(`update ${SCHEMA}.dead_letter
      set died_at = died_at - message_id::bigint * 86400000`);
    expect(sql).toContain('security_events.');
    await control.query(sql.replaceAll('security_events.', `${SCHEMA}.`));
    const { items } = await queue.listDeadLetters({ limit: 9 });
    expect(items.map(({ stored }) => stored.messageId)).toEqual(['29', '0']);
    expect(await queue.stats()).toMatchObject({ accepted: 4, dead: 2, discarded: { purged: 2 } });
  });

  test('answers the queries of the guide for fleets', async () => {
    const guide = readFileSync(join(root, 'docs/fleet.md'), 'utf8');
    const blocks = Array.from(guide.matchAll(/```sql\n([^`]*)```/g), ([, sql = '']) => sql);
    expect(blocks).toHaveLength(5);
    const queue = await open();
    await queue.enqueue([entryOf('one')]);
    await claimFrom(queue);
    for (const sql of blocks) await control.query(sql.replaceAll('security_events', SCHEMA));
    const rights = `select has_table_privilege('${SCHEMA}_user', '${SCHEMA}.message', 'insert') as has`;
    expect((await control.query(rights)).rows).toEqual([{ has: true }]);
  });

  test('needs rights on the contents of the schema only', async () => {
    await control.query(`create role agent login;
      grant usage on schema ${SCHEMA} to agent;
      grant all on all tables in schema ${SCHEMA} to agent;
      grant all on all sequences in schema ${SCHEMA} to agent`);
    const queue = await open({ connection: { ...server.connection, user: 'agent' } });
    await queue.enqueue(manyOf('one', 2));
    const { messages, ...claim } = await claimFrom(queue);
    const dead = { kind: 'dead', reason: 'too-large', lastAttempt: null } as const;
    await queue.settle({ ...claim, messages }, [DELIVERED, dead], LAST);
    expect(await queue.replayDeadLetters({})).toBe(1);
    expect(await queue.deadLetterOlderThan(-1000, 9)).toHaveLength(1);
    expect(await queue.deadLetterClosed('one', 9)).toEqual([]);
    await queue.reopenApplication('one');
    expect(await queue.purgeDeadLetters({})).toBe(1);
  });

  test("goes on when the server's clock is set back, and shows its times", async () => {
    const back = 3_600_000;
    const schema = 'clock';
    await createPostgresSchema({ connection: server.connection, schema });
    const now = Date.now();
    await control.query(`create table ${schema}.test (ms double precision);
      insert into ${schema}.test values (${now});
      create or replace function ${schema}.clock_ms() returns double precision
      language sql volatile as 'select ms from ${schema}.test'`);
    const queue = (await open({ schema })) as DurableQueue;
    await queue.enqueue([entryOf('served')]);
    await queue.settle(await claimFrom(queue), [DELIVERED], LAST);
    await queue.enqueue([entryOf('one'), entryOf('one')]);
    // After a flush, which notes the time.
    await queue.stats();
    await control.query(`update ${schema}.test set ms = ms - ${back}`);
    await queue.enqueue([entryOf('served')]);
    const claims: Claim[] = [];
    await vi.waitFor(async () => void claims.push(await claimFrom(queue)));
    await vi.waitFor(async () => void claims.push(await claimFrom(queue)));
    const [claim, served] = claims.toSorted((one) => (one.applicationId === 'one' ? -1 : 1));
    assert(claim && served);
    await queue.settle(served, [DELIVERED], LAST);
    const dead = { kind: 'dead', reason: 'too-large', lastAttempt: null } as const;
    const retry = { kind: 'retry', afterMs: 5000, retryState: null } as const;
    await queue.settle(claim, [dead, retry], LAST);
    const times = { acceptedAt: now - back, diedAt: now - back };
    expect((await queue.listDeadLetters({ limit: 1 })).items).toMatchObject([times]);
    const items = await Promise.all(
      (['message', 'dead_letter'] as const).map((kind) => queue.exportItems(kind, 0)),
    );
    expect(items.flat()).toMatchObject([
      { accepted: now - back, due: now - back + 5000 },
      { accepted: now - back, died: now - back },
    ]);
    // Into the same queue, with another source.
    for (const some of items)
      await queue.importItems(some.map((item) => ({ ...item, source: 'x' })));
    expect(await queue.deadLetterOlderThan(0, 9)).toEqual([]);
    expect((await queue.listDeadLetters({ limit: 9 })).items).toMatchObject([times, times]);
    await expect.poll(() => queue.claim(REQUEST)).toEqual({ dueInMs: 5000 });
  });

  test('replays letters that fit, behind one that is larger than the room that is left', async () => {
    const queue = await open({ maxPendingBytes: 50 });
    const large = await open();
    await large.enqueue([entryOf('one', { sizeBytes: 60 }), entryOf('one', { sizeBytes: 10 })]);
    await large.settle(await claimFrom(large), [DEAD, DEAD], LAST);
    expect(await queue.replayDeadLetters({})).toBe(1);
    expect(await queue.stats()).toMatchObject({ pending: 1, dead: 1, pendingBytes: 10 });
  });

  test('refuses the results of a claim that a new primary does not know', async () => {
    const queue = await open();
    await queue.enqueue([entryOf('one')]);
    await control.query(`select ${SCHEMA}.flush_counters('{}')`);
    // Like a standby that was promoted without the last transactions.
    const [before] = (
      await control.query<{ last: string; first_due: string }>(
        `select last_value as last, first_due from ${SCHEMA}.turn_number, ${SCHEMA}.application`,
      )
    ).rows;
    const lost = await claimFrom(queue);
    await control.query(`update ${SCHEMA}.application set claim = null, lease_end = null,
      claim_dues = null, claim_sequences = null, first_due = ${before?.first_due};
      select setval('${SCHEMA}.turn_number', ${before?.last})`);
    const live = await claimFrom(queue);
    expect(idsOf(live)).toEqual(idsOf(lost));
    expect(await queue.settle(lost, [DELIVERED], LAST)).toBe('lost');
    expect(await queue.settle(live, [DELIVERED], LAST)).toBe('settled');
  });

  test('takes an id as long as the index allows, and names the index of an entry with a longer one', async () => {
    const queue = await open();
    // PostgreSQL compresses first, so the id must not be compressible.
    const longest = randomBytes(2690).toString('base64').slice(0, 2690);
    await queue.enqueue([entryOf(longest)]);
    const longer = queue.enqueue([entryOf('one'), entryOf(`${longest}x`), entryOf('one')]);
    const beside = queue.enqueue([entryOf('two')]);
    await expect(longer).rejects.toMatchObject({
      code: 'ERR_MESSAGE_TOO_LARGE',
      path: [1],
      message: expect.stringContaining('2691 bytes') as string,
    });
    expect((await beside).sequences).toHaveLength(1);
    // Escaped: a character that PostgreSQL cannot store takes six bytes.
    const escaped = queue.enqueue([entryOf('\u0000'.repeat(449))]);
    await expect(escaped).rejects.toMatchObject({ code: 'ERR_MESSAGE_TOO_LARGE', path: [0] });
    expect([...(await queue.stats()).applications.keys()].toSorted()).toEqual(
      [longest, 'two'].toSorted(),
    );
  });

  test('uses the time of the server, not of the process', async () => {
    const queue = await open();
    await queue.enqueue([entryOf('one')]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    try {
      const early = await queue.claim({ ...REQUEST, leaseMs: 2000 });
      vi.setSystemTime(Date.now() - 7_200_000);
      expect(isClaim(early) && early.messages[0]?.ageMs).toBeLessThan(60_000);
      const { dueInMs = 0 } = (await queue.claim(REQUEST)) as { dueInMs?: number };
      expect(dueInMs).toBeGreaterThan(0);
      expect(dueInMs).toBeLessThanOrEqual(2000);
      await expect.poll(async () => isClaim(await queue.claim(REQUEST))).toBe(true);
    } finally {
      vi.useRealTimers();
    }
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
      await control.query(`begin; insert into ${SCHEMA}.application
      (id, health, max_messages, max_bytes, circuit_breaker) values ('new', 'healthy', 1, 1, 'null')`);
      const entries = [entryOf('one', { messageId: 'a' }), entryOf('new', { messageId: 'b' })];
      const enqueuing = queue.enqueue(entries);
      await expect
        .poll(() => server.query(`select from pg_stat_activity where wait_event_type = 'Lock'`))
        .toHaveLength(1);
      await change(other, claim);
      await control.query('rollback');
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
      await control.query(HOLD);
      const claiming = queue.claim(REQUEST);
      await expect
        .poll(async () => {
          const text = `select from pg_stat_activity where wait_event_type = 'Lock'`;
          return (await server.query(text)).length;
        })
        .toBe(1);
      await control.query('commit');
      const claimed = await claiming;
      expect(isClaim(claimed) && idsOf(claimed)).toEqual(['a']);
    });

    test('holds up its counter deltas, and claims are tried again soon', async () => {
      const queue = await open();
      await queue.enqueue([entryOf('one', { messageId: 'a' })]);
      await deliverAll(queue);
      await control.query(HOLD);
      await queue.enqueue([entryOf('one', { messageId: 'b' })]);
      expect(await queue.stats()).toMatchObject({ accepted: 2, pending: 1, delivered: 1 });
      expect(await queue.claim(REQUEST)).toEqual({ dueInMs: 5 });
      await control.query('commit');
      expect(await deliverAll(queue)).toEqual(['b']);
    });
  });

  test('replays each dead letter once, though it dies again before the replay ends', async () => {
    const queue = await open();
    await queue.enqueue(manyOf('one', 1500));
    await queue.deadLetterOlderThan(-1000, 1500);
    // The second page waits for its last row.
    await control.query(
      `begin; select from ${SCHEMA}.dead_letter order by id desc limit 1 for update`,
    );
    const replaying = queue.replayDeadLetters({});
    await expect.poll(async () => (await queue.stats()).pending).toBe(1000);
    const claim = await claimFrom(queue);
    expect(
      await queue.settle(
        claim,
        claim.messages.map(() => DEAD),
        LAST,
      ),
    ).toBe('settled');
    await control.query('commit');
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
        await control.query('select pg_sleep(0.02)');
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
        await control.query('select pg_sleep(0.05)');
      });
      const { pending, oldestDueMs } = await reading.stats;
      expect(pending).toBe(2);
      expect(oldestDueMs).toBeGreaterThan(40);
    });
  });

  test('shows no password and no payload in errors', async () => {
    const password = 'a-password-of-ours';
    const connections = [
      `postgres://queue:${password}@127.0.0.1:1/events`,
      `postgres://queue:${password}@[not an address/events`,
      { ...server.connection, user: 'nobody', password },
    ];
    for (const connection of connections) {
      const queue = made({ connection, callTimeoutMs: 2000 });
      const error: unknown = await queue.open(INITIAL).catch((thrown: unknown) => thrown);
      expect(error).toHaveProperty('code');
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(password);
    }
    const queue = await open();
    // The server quotes the value.
    const enqueuing = queue.enqueue([entryOf('one', { sizeBytes: 'payload' as never })]);
    const error: unknown = await enqueuing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'ERR_QUEUE_FAILED', cause: { code: '22P02' } });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('payload');
  });

  // The last test, since each connection is lost.
  test('rejects while the server is down, and works once it is back', async () => {
    const queue = await open({ pollMs: 50, callTimeoutMs: 5000 });
    queue.onDue(() => {});
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await control.end();
    await server.kill('SIGQUIT');
    await expect(queue.enqueue([entryOf('one')])).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
    });
    await expect(queue.claim(REQUEST)).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    const leaving = await open({ pool: new pg.Pool(server.connection) }).catch(
      (error: unknown) => error,
    );
    expect(leaving).toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    await server.start();
    control = new pg.Client(server.connection);
    await control.connect();
    await expect.poll(() => deliverAll(queue).catch(() => [])).toEqual(['a']);
    await expect.poll(listeners).toHaveLength(1);
    expect(await queue.close()).toEqual({ returned: [], remaining: 0 });
  });
});
