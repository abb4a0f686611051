/** What neither the conformance suite nor concurrent calls test, on a server that flushes its commits. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { schemaFile } from '../../../src/queue/postgres/schema.ts';
import { createPostgresSchema } from '../../../src/queue/postgres.ts';
import type { Claim } from '../../../src/queue/queue.ts';
import { root } from '../../helpers/package-files.ts';
import { postgresPrograms } from '../../helpers/postgres-server.ts';
import {
  claimFrom,
  DEAD,
  DELIVERED,
  deliverAll,
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
import { nextDue, SCHEMA, useDatabase } from './use-database.ts';

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  const { database, connect, create, createSchema, open, listeners } = useDatabase({});

  describe('its schema', () => {
    test('is required by open, which succeeds once it is there', async () => {
      const queue = create({ schema: 'missing' });
      const error: unknown = await queue.open(INITIAL).catch((thrown: unknown) => thrown);
      expect(error).toEqual(failedWith('createPostgresSchema'));
      expect(error).toMatchObject({ cause: { code: '42P01' } });
      await createSchema('missing');
      await queue.open(INITIAL);
      expect((await queue.enqueue([entryOf('one')])).sequences).toHaveLength(1);
    });

    test('is refused if it has another version', async () => {
      await createSchema('later');
      await database.control.query('update later.schema_version set version = 99');
      const refused = failedWith('the schema later is of version 99, not 1');
      await expect(create({ schema: 'later' }).open(INITIAL)).rejects.toEqual(refused);
      await expect(createSchema('later')).rejects.toEqual(refused);
    });

    test('can be made with the SQL file of the package, which is the same', async () => {
      const file = readFileSync(join(root, 'sql/postgres-queue.sql'), 'utf8');
      expect(file).toBe(schemaFile('security_events'));
      await database.control.query(file);
      const pool = new pg.Pool(database.server.connection);
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
      await database.control.query('create schema half; create table half.message (a integer)');
      await expect(createSchema('half')).rejects.toMatchObject({ cause: { code: '42P07' } });
      const made = `select to_regclass('half.application') as found`;
      expect(await database.server.query(made)).toEqual([{ found: null }]);
    });
  });

  test('has the durability of the server settings', async () => {
    expect((await open()).durability).toBe('server');
    await database.control.query('alter role postgres set synchronous_commit = off');
    expect((await open()).durability).toBe('process-crash');
    await database.control.query(`alter role postgres reset synchronous_commit;
      alter role postgres set default_transaction_isolation = 'serializable'`);
    await expect(create().open(INITIAL)).rejects.toThrow(
      'default_transaction_isolation is serializable',
    );
    await database.control.query('alter role postgres reset default_transaction_isolation');
  });

  test('polls for messages of other processes, and does not listen, with transactionPooling', async () => {
    const queue = await open({ pollMs: 50, transactionPooling: true });
    const due = nextDue(queue);
    await due();
    const notified = due();
    await (await open()).enqueue([entryOf('one', { messageId: 'a' })]);
    await notified;
    expect(await deliverAll(queue)).toEqual(['a']);
    expect(await listeners()).toEqual([]);
  });

  test('listens on a connection of its own beside a pool of the caller, and ends it', async () => {
    const pool = new pg.Pool({ ...database.server.connection, max: 1 });
    const queue = await open({ pool, pollMs: 100_000 });
    const due = nextDue(queue);
    await due();
    expect(await listeners()).toHaveLength(1);
    const notified = due();
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
    await database.control.query(`update ${SCHEMA}.dead_letter
      set died_at = died_at - message_id::bigint * 86400000`);
    expect(sql).toContain('security_events.');
    await database.control.query(sql.replaceAll('security_events.', `${SCHEMA}.`));
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
    for (const sql of blocks)
      await database.control.query(sql.replaceAll('security_events', SCHEMA));
    const rights = `select has_table_privilege('${SCHEMA}_user', '${SCHEMA}.message', 'insert') as has`;
    expect((await database.control.query(rights)).rows).toEqual([{ has: true }]);
  });

  test('needs rights on the contents of the schema only', async () => {
    await database.control.query(`create role agent login;
      grant usage on schema ${SCHEMA} to agent;
      grant all on all tables in schema ${SCHEMA} to agent;
      grant all on all sequences in schema ${SCHEMA} to agent`);
    const queue = await open({ connection: { ...database.server.connection, user: 'agent' } });
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
    await createSchema(schema);
    const now = Date.now();
    await database.control.query(`create table ${schema}.test (ms double precision);
      insert into ${schema}.test values (${now});
      create or replace function ${schema}.clock_ms() returns double precision
      language sql volatile as 'select ms from ${schema}.test'`);
    const queue = await open({ schema });
    await queue.enqueue([entryOf('served')]);
    await settleAll(queue, await claimFrom(queue));
    await queue.enqueue(manyOf('one', 2));
    // After a flush, which notes the time.
    await queue.stats();
    await database.control.query(`update ${schema}.test set ms = ms - ${back}`);
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
    await database.control.query(`select ${SCHEMA}.flush_counters('{}')`);
    // Like a standby that was promoted without the last transactions.
    const [before] = await database.server.query(
      `select last_value as last, first_due from ${SCHEMA}.turn_number, ${SCHEMA}.application`,
    );
    const lost = await claimFrom(queue);
    await database.control.query(`update ${SCHEMA}.application set claim = null, lease_end = null,
      claim_dues = null, claim_sequences = null, first_due = ${String(before?.['first_due'])};
      select setval('${SCHEMA}.turn_number', ${String(before?.['last'])})`);
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
    await expect(longer).rejects.toEqual(failedWith('2691 bytes', 'ERR_MESSAGE_TOO_LARGE'));
    await expect(longer).rejects.toMatchObject({ path: [1] });
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

  test('shows no password and no payload in errors', async () => {
    const password = 'a-password-of-ours';
    const connections = [
      `postgres://queue:${password}@127.0.0.1:1/events`,
      `postgres://queue:${password}@[not an address/events`,
      { ...database.server.connection, user: 'nobody', password },
    ];
    for (const connection of connections) {
      const queue = create({ connection, callTimeoutMs: 2000 });
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
    await database.control.end();
    await database.server.kill('SIGQUIT');
    const failed = failedWith('');
    await expect(queue.enqueue([entryOf('one')])).rejects.toEqual(failed);
    await expect(queue.claim(REQUEST)).rejects.toEqual(failed);
    const pool = new pg.Pool(database.server.connection);
    await expect(open({ pool })).rejects.toEqual(failed);
    await database.server.start();
    await connect();
    await expect.poll(() => deliverAll(queue).catch(() => [])).toEqual(['a']);
    await expect.poll(listeners).toHaveLength(1);
    expect(await queue.close()).toEqual({ returned: [], remaining: 0 });
  });
});
