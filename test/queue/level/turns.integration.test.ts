/** A large call leaves the event loop to its host: what it makes of buffers in one turn is bounded. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Claim, MessageQueue, Verdict } from '../../../src/queue/level/old-contract.ts';
import { createLevelQueue, DEAD, DELIVERED, entryOf, isClaim, ROW } from './old-trial.ts';

const COUNT = 5000;
/** Of six parts of a hundred messages, with up to six buffers each; all of a call would be 5000 at least. */
const LARGEST = 4000;
const MANY = { ...ROW, maxMessages: COUNT, maxBytes: 1e9 };
const AGAIN: Verdict = { kind: 'again', afterMs: 0, progress: null };

/** A millisecond for each look at it: whoever works in parts has soon used up its share of a turn. */
const clock = { now: () => 1e12, monotonicMs: () => (looks += 1) };
let looks = 0;

let folder = '';
let queue: MessageQueue;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'level-turns-'));
  queue = createLevelQueue({ folder, sync: false }, clock);
  await queue.open(MANY);
});
afterEach(async () => {
  await queue.close();
  rmSync(folder, { recursive: true });
});

/** The most buffers that were made in one turn: each key is one, and each value. */
async function mostInOneTurn(work: () => Promise<unknown>): Promise<number> {
  const spy = vi.spyOn(Buffer, 'allocUnsafe');
  let [most, before, isOver] = [0, 0, false];
  const look = (): void => {
    most = Math.max(most, spy.mock.calls.length - before);
    before = spy.mock.calls.length;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  expect(before).toBeGreaterThan(COUNT);
  spy.mockRestore();
  return most;
}

const entries = (past?: object) =>
  Array.from({ length: COUNT }, () => ({ ...entryOf('one'), ...past }));

async function claimed(leaseMs = 1e9): Promise<Claim> {
  const claim = await queue.claim({
    tiers: ['healthy'],
    maxMessages: COUNT,
    maxBytes: 1e9,
    leaseMs,
  });
  if (!isClaim(claim)) throw new Error('nothing was claimed');
  return claim;
}

async function settle(verdict: Verdict): Promise<void> {
  const claim = await claimed();
  await queue.settle(
    claim,
    claim.messages.map(() => verdict),
    { ...MANY, waitMs: 0 },
  );
}

const WAITS = { past: { sends: 1, ageMs: 5, dueInMs: 0, progress: null } };
const DIED = { past: { ...WAITS.past, death: { reason: 'attempts-exhausted', end: null } } };

describe('thousands of messages in one call', () => {
  test.each([
    ['are enqueued', undefined, () => queue.enqueue(entries())],
    ['come from another queue', undefined, () => queue.enqueue(entries(WAITS))],
    ['come as dead letters', undefined, () => queue.enqueue(entries(DIED))],
    ['are delivered', entries(), () => settle(DELIVERED)],
    ['are tried again', entries(), () => settle(AGAIN)],
    ['die', entries(), () => settle(DEAD)],
    ['expire', entries(), () => queue.expire(-1, COUNT)],
    ['are closed', entries(), () => queue.closeApplication('one', COUNT)],
  ])('%s a part in each turn', async (_, given, work) => {
    if (given !== undefined) await queue.enqueue(given);
    expect(await mostInOneTurn(work)).toBeLessThan(LARGEST);
    const { accepted, delivered, pending, dead } = await queue.stats();
    expect([accepted, delivered + pending + dead]).toEqual([COUNT, COUNT]);
  });

  test('come in whole beside others, in the order of their application', async () => {
    const [large, small] = [entries(), [entryOf('one'), entryOf('two')]];
    const calls = [queue.enqueue(large)];
    for (let turn = 0; turn < 20; turn += 1) {
      await new Promise((resolve) => void setImmediate(resolve));
      const { accepted } = await queue.stats();
      expect([0, COUNT]).toContain(accepted);
    }
    calls.push(queue.enqueue(small));
    await Promise.all(calls);
    const ids = new Set<string>();
    for (let left = COUNT + 2; left > 0; ) {
      const claim = await claimed();
      for (const { stored } of claim.messages) ids.add(stored.messageId);
      left -= claim.messages.length;
      await queue.settle(
        claim,
        claim.messages.map(() => DELIVERED),
        { ...MANY, waitMs: 0 },
      );
    }
    expect(ids.size).toBe(COUNT + 2);
    expect(await queue.stats()).toMatchObject({ accepted: COUNT + 2, pending: 0 });
  });
});
