/** How much a queue in a folder reads: as much as it needs, whatever was there before. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LevelQueue } from '../../../src/queue/level/level-queue.ts';
import type { Claim, MessageQueue, Verdict } from '../../../src/queue/level/old-contract.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { DEAD, entryOf, isClaim, ROW } from './old-trial.ts';

interface Reading {
  readonly table: string;
  /** The last number of the key where it begins. */
  readonly from: number;
  entries: number;
}

let folder = '';
let clock = createFakeClock();
let readings: Reading[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'level-reads-'));
  clock = createFakeClock();
});
afterEach(() => rmSync(folder, { recursive: true }));

class Watched extends ClassicLevel<Buffer, Buffer> {
  constructor(...args: ConstructorParameters<typeof ClassicLevel<Buffer, Buffer>>) {
    super(...args);
    const make = this.iterator.bind(this) as (given: { gte: Buffer }) => {
      nextv: (size: number) => Promise<unknown[]>;
    };
    const iterator = (given: { gte: Buffer }) => {
      const made = make(given);
      const { gte } = given;
      const from = gte.length > 6 ? gte.readUIntBE(gte.length - 6, 6) : 0;
      const reading = { table: gte.toString('latin1', 0, 1), from, entries: 0 };
      readings.push(reading);
      const read = made.nextv.bind(made);
      made.nextv = async (size) => {
        const found = await read(size);
        reading.entries += found.length;
        return found;
      };
      return made;
    };
    Object.assign(this, { iterator });
  }
}

async function opened(maxDeadBytes = 1e9): Promise<MessageQueue> {
  const bounds = { maxPendingBytes: 1e9, maxPendingMessages: 1e6, maxDeadBytes };
  const queue = new LevelQueue({ folder, sync: false, ...bounds }, clock, {
    load: () => Promise.resolve({ ClassicLevel: Watched }),
    onWrite: () => {},
  });
  await queue.open(ROW);
  return queue;
}

const AGAIN: Verdict = { kind: 'again', afterMs: 0, progress: null };
const LAST = { ...ROW, waitMs: 0 };

async function claimed(queue: MessageQueue, early?: true): Promise<Claim> {
  const request = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 1e6 } as const;
  const claim = await queue.claim({ ...request, ...(early ? { early } : {}) });
  if (!isClaim(claim)) throw new Error('nothing was claimed');
  return claim;
}

async function bury(queue: MessageQueue, count: number): Promise<void> {
  await queue.enqueue(Array.from({ length: count }, () => entryOf('one', { sizeBytes: 100 })));
  const claim = await claimed(queue);
  await queue.settle(
    claim,
    claim.messages.map(() => DEAD),
    LAST,
  );
}

const readOf = (table: string): Reading[] => readings.filter((one) => one.table === table);

describe('a queue in a folder', () => {
  test('evicts the oldest letters without reading all, or over those that are gone', async () => {
    const queue = await opened(40_000);
    await bury(queue, 400);
    for (let time = 0; time < 40; time += 1) await bury(queue, 5);
    readings = [];
    await bury(queue, 5);
    const [reading, ...others] = readOf('x');
    expect(others).toEqual([]);
    expect(reading?.entries).toBeLessThanOrEqual(8);
    // 605 died, and 400 are there.
    expect(reading?.from).toBeGreaterThan(190);
    expect(await queue.stats()).toMatchObject({ dead: 400, discarded: { evicted: 205 } });
    await queue.close();
  });

  test('evicts the oldest also where all before it were purged', async () => {
    const queue = await opened(1000);
    await bury(queue, 10);
    for (let time = 0; time < 5; time += 1) {
      await queue.purge({});
      await bury(queue, 11);
    }
    const { items } = await queue.deadLetters({ limit: 100 });
    expect(items).toHaveLength(10);
    expect(await queue.stats()).toMatchObject({ dead: 10, discarded: { evicted: 5 } });
    await queue.close();
  });

  test('looks for what is too old where the oldest is, or not at all', async () => {
    const queue = await opened();
    await queue.enqueue(Array.from({ length: 20 }, () => entryOf('one')));
    const first = await claimed(queue);
    await queue.settle(
      first,
      first.messages.map(() => AGAIN),
      LAST,
    );
    await clock.advance(1000);
    await queue.enqueue([entryOf('one')]);
    readings = [];
    // Younger than that: nothing is looked at.
    expect(await queue.expire(1000, 10)).toEqual([]);
    expect(readings).toEqual([]);
    await clock.advance(1);
    expect(await queue.expire(1000, 15)).toHaveLength(15);
    readings = [];
    expect(await queue.expire(1000, 15)).toHaveLength(5);
    expect(readOf('h').map(({ entries }) => entries)).toEqual([5]);
    readings = [];
    expect(await queue.expire(-1, 15)).toHaveLength(1);
    expect(readOf('h')).toEqual([]);
    await queue.close();
  });

  test('goes round the applications with early claims', async () => {
    const queue = await opened();
    const ids = ['one', 'two', 'three'];
    await queue.enqueue([...ids, ...ids].map((id) => entryOf(id)));
    const given: string[] = [];
    for (let time = 0; time < 6; time += 1) {
      const claim = await claimed(queue, true);
      given.push(claim.applicationId);
      await queue.release(claim);
    }
    expect(given).toEqual([...ids, ...ids]);
    await queue.close();
  });
});
