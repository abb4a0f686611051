/** Rows that are garbled or gone: each costs what it held, and no more. */
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { describe, expect, test } from 'vitest';
import type { StoredClaim } from '../../../src/queue/level/change.ts';
import {
  applicationKey,
  applicationOf,
  deadKey,
  freshRange,
  metaKey,
} from '../../../src/queue/level/keys.ts';
import { unsealed } from '../../../src/queue/level/seal.ts';
import type { QueueDamage } from '../../../src/queue/level.ts';
import { claimOf, isQuiet, judge, LAST, useDamagedFolder, WHOLE } from './damaged-folder.ts';
import { createLevelQueue, DEAD, entryOf, ROW } from './old-trial.ts';

const { folder, accepted } = useDamagedFolder();
const isQuietNow = (dead: number) => isQuiet(folder, accepted, dead);

const BUFFERS = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;

type Pick = (key: Buffer) => boolean;

const table =
  (letters: string): Pick =>
  (key) =>
    letters.includes(key.toString('latin1', 0, 1));

/** Nothing is left of what was there before. */
async function garble(pick: Pick, { value = 'garbage', within = folder } = {}): Promise<number> {
  const { level, keys } = await removed(pick, within);
  await level.compactRange(Buffer.from('A'), Buffer.from('z'));
  for (const key of keys) await level.put(key, Buffer.from(value));
  await level.close();
  return keys.length;
}

async function remove(pick: Pick): Promise<void> {
  const { level } = await removed(pick, folder);
  await level.close();
}

async function removed(pick: Pick, within: string) {
  const level = new ClassicLevel<Buffer, Buffer>(within, BUFFERS);
  const keys = (await level.keys().all()).filter(pick);
  for (const key of keys) await level.del(key);
  return { level, keys };
}

describe('a row that is not what was written', () => {
  test.each([
    ['b', 'message'],
    ['f', 'message'],
    ['g', 'wait'],
    ['h', 'wait'],
    ['c', 'claim'],
    ['x', 'dead-letter'],
    ['y', 'dead-letter'],
    ['a', 'application'],
    ['M', 'queue'],
  ] as const)('of table %s is told as a %s, and costs no more', async (letter, kind) => {
    const count = await garble(table(letter));
    expect(count).toBeGreaterThan(0);
    const { given, dead, told, stats, wrong } = await judge(folder, accepted, async (queue) => {
      // These two are only read for this.
      await queue.expire(0, 1);
      await queue.deadLetters({ limit: 1, applicationId: 'one' });
    });
    expect(wrong).toEqual([]);
    const unreadable: Record<string, number> = {};
    for (const one of told) {
      for (const [name, found] of Object.entries(one.unreadable)) {
        unreadable[name] = (unreadable[name] ?? 0) + found;
      }
    }
    // What was claimed waits again when the folder is opened, and has a new row for its age.
    const rewritten = letter === 'h' ? 11 : 0;
    expect(unreadable).toEqual({ [kind]: count - rewritten });
    const lost = told.reduce((sum, one) => sum + one.lost, 0);
    // Of what says only how and for whom a message waits, nothing is needed for it to be delivered.
    const isContent = 'bfx'.includes(letter);
    expect(lost > 0).toBe(isContent);
    expect(given.length + dead.length).toBe(WHOLE.given + WHOLE.dead - lost);
    expect(stats.discarded).toEqual(lost === 0 ? {} : { lost });
    await isQuietNow(dead.length);
  });

  test.each(['', 'x', '0000000000000000'])('is found where it is %j', async (value) => {
    await garble((key) => key.equals(deadKey(1)), { value });
    const { told, wrong } = await judge(folder, accepted);
    expect(wrong).toEqual([]);
    expect(told.map(({ unreadable, lost }) => [unreadable, lost])).toEqual([
      [{ 'dead-letter': 1 }, 1],
    ]);
  });

  test('was sent once more than is known where its wait is lost', async () => {
    const within = join(folder, 'inner');
    const queue = createLevelQueue({ folder: within });
    await queue.open(ROW);
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    const verdict = { kind: 'again', afterMs: 0, progress: null } as const;
    await queue.settle(await claimOf(queue), [verdict], LAST);
    await queue.close();
    await garble(table('g'), { within });
    const next = createLevelQueue({ folder: within });
    await next.open(ROW);
    let calls = 0;
    next.onDue(() => {
      calls += 1;
    });
    await expect(claimOf(next)).rejects.toThrow('nothing was claimed');
    // Who waits is told to ask again, since nothing else would.
    expect(calls).toBeGreaterThan(0);
    const { messages } = await claimOf(next);
    expect(messages.map(({ stored, sends }) => [stored.messageId, sends])).toEqual([['a', 1]]);
    await next.close();
  });

  test('of the queue does not make it forget which numbers it gave', async () => {
    await garble((key) => key.equals(metaKey()));
    const queue = createLevelQueue({ folder });
    await queue.open(ROW);
    const before = (await queue.deadLetters({ limit: 1000 })).items.map(({ id }) => id);
    await queue.enqueue([entryOf('a new one', { messageId: 'new' })]);
    for (;;) {
      const claim = await claimOf(queue);
      await queue.settle(
        claim,
        claim.messages.map(() => DEAD),
        LAST,
      );
      if (claim.applicationId === 'a new one') break;
    }
    const after = (await queue.deadLetters({ limit: 1000 })).items.map(({ id }) => id);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(new Set(after).size).toBe(after.length);
    expect(after.length).toBeGreaterThan(before.length);
    await queue.close();
  });

  test('of an application takes its counts along, and nothing of the others', async () => {
    await garble((key) => key.equals(applicationKey(1)));
    const { stats, told, wrong } = await judge(folder, accepted);
    expect(wrong).toEqual([]);
    expect(told).toMatchObject([{ lost: 0, reappeared: 0, unreadable: { application: 1 } }]);
    expect(stats.applications.get('two')).toMatchObject({ accepted: 80 });
    expect(stats.applications.get('one')?.accepted).toBeLessThan(80);
  });
});

describe('a row that is gone', () => {
  test.each(['b', 'f', 'g', 'gh', 'fbgh'])(
    'from %s is missed by counting, and does not wait for ever',
    async (tables) => {
      await remove(table(tables));
      const { wrong, told, stats } = await judge(folder, accepted);
      expect([wrong, stats.pending]).toEqual([[], 0]);
      const lost = told.reduce((sum, one) => sum + one.lost, 0);
      expect(stats.discarded).toEqual(lost === 0 ? {} : { lost });
      expect(told[0]?.signs).toEqual(['counts']);
      await isQuietNow(stats.dead);
    },
  );

  test('is missed where it was claimed by a process that is no more', async () => {
    const level = new ClassicLevel<Buffer, Buffer>(folder, BUFFERS);
    let lost = 0;
    for (const [key, row] of await level.iterator().all()) {
      if (!table('c')(key)) continue;
      const { from, to } = JSON.parse(String(unsealed(key, row))) as StoredClaim;
      const claimed = await level
        .keys({ ...freshRange(applicationOf(key), from, to), limit: 1 })
        .all();
      for (const one of claimed) await level.del(one);
      lost += claimed.length;
    }
    expect(lost).toBeGreaterThan(0);
    await level.close();
    const { told, stats, wrong } = await judge(folder, accepted);
    expect(wrong).toEqual([]);
    expect(told).toMatchObject([{ signs: ['counts'], lost }]);
    expect(stats).toMatchObject({ discarded: { lost }, dead: WHOLE.dead });
    await isQuietNow(stats.dead);
  });

  test('is missed where its application is closed, too', async () => {
    await remove(table('f'));
    const told: QueueDamage[] = [];
    const queue = createLevelQueue({ folder, onDamage: (one) => told.push(one) });
    await queue.open(ROW);
    for (const id of ['one', 'two', 'three', 'four']) {
      while ((await queue.closeApplication(id, 1000)).length > 0);
    }
    expect(await queue.stats()).toMatchObject({ pending: 0, accepted: 320 });
    expect(told.map(({ signs }) => signs)).toEqual([['counts']]);
    await queue.close();
  });
});

test('dead letters that are gone without a trace are missed when all are listed', async () => {
  let left = 3;
  await remove((key) => table('x')(key) && left-- > 0);
  const { told, dead, stats, wrong } = await judge(folder, accepted);
  expect(wrong).toEqual([]);
  expect(told).toMatchObject([{ signs: ['counts'], lost: 3 }]);
  expect([dead.length, stats.dead, stats.discarded]).toEqual([
    WHOLE.dead - 3,
    WHOLE.dead - 3,
    { lost: 3 },
  ]);
  await isQuietNow(stats.dead);
});
