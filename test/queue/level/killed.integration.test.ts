/** kill -9 at every write, and at any moment: nothing that was accepted is lost, no sending is forgotten. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSeededRandom } from '../../../src/testing/index.ts';
import { fixtureCommand } from '../../helpers/fixture-command.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createLevelQueue, ROW } from './old-trial.ts';

let folder = '';
const journal = (): string => join(folder, 'journal');
const store = (): string => join(folder, 'store');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'level-killed-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function live(seed: number, end = 'never'): ChildProcess {
  const [node = '', ...args] = fixtureCommand('level-life', [store(), journal(), `${seed}`, end]);
  return spawn(node, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** What was written down, by word: how often of which message. */
class Journal {
  readonly #lines = readFileSync(journal(), 'utf8').split('\n').slice(0, -1);

  count(word: string): Map<string, number> {
    const counts = new Map<string, number>();
    for (const line of this.#lines) {
      const [first, id = '', verdict = ''] = line.split(' ');
      if (word !== first && word !== `${first} ${verdict}`) continue;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }
}

interface Found {
  /** By id, how often each was sent. */
  readonly waiting: ReadonlyMap<string, number>;
  readonly dead: ReadonlyMap<string, number>;
  readonly discarded: number;
}

/** All that is in the store, which is empty of what waits afterwards. */
async function empty(): Promise<Found> {
  const queue = createLevelQueue({ folder: store() });
  await queue.open(ROW);
  const stats = await queue.stats();
  const discarded = Object.values(stats.discarded).reduce((sum, count) => sum + count, 0);
  expect(stats.delivered + stats.pending + stats.dead + discarded).toBe(stats.accepted);
  const { items } = await queue.deadLetters({ limit: 100_000 });
  const waiting = new Map<string, number>();
  for (;;) {
    const request = { tiers: [], early: true, maxMessages: 1000, maxBytes: 1e9 } as const;
    const claim = await queue.claim({ ...request, leaseMs: 60_000 });
    if (!('messages' in claim)) break;
    for (const { stored, sends } of claim.messages) waiting.set(stored.messageId, sends);
    await queue.settle(
      claim,
      claim.messages.map(() => ({ kind: 'moved' })),
      { ...ROW, waitMs: 0 },
    );
  }
  const after = await queue.stats();
  expect([waiting.size, items.length]).toEqual([stats.pending, stats.dead]);
  expect([after.pending, after.pendingBytes]).toEqual([0, 0]);
  await queue.close();
  const dead = new Map(items.map(({ stored, sends }) => [stored.messageId, sends]));
  return { waiting, dead, discarded };
}

/** What was told is told: where it was not retracted by anybody, it is not told again. */
async function judgeIncidents(told: Journal): Promise<void> {
  const queue = createLevelQueue({ folder: store() });
  const retracted = told.count('retracting');
  for (const id of told.count('told').keys()) {
    const [channel = '', incidentId = '', name = ''] = id.split(':');
    const anyRetracted = [...retracted.keys()].some((other) =>
      other.startsWith(`${channel}:${incidentId}:`),
    );
    const news = await queue.incidents.tell({
      applicationId: 'one',
      incidentId,
      channel: channel as 'log',
      at: 2000,
      addresses: [name],
      accounts: [],
    });
    expect(news.startedAt).toBe(1000);
    if (!retracted.has(id)) expect([id, news.newAddresses]).toEqual([id, []]);
    if (!anyRetracted) expect([id, news.isFirst]).toEqual([id, false]);
  }
  await queue.close();
}

/** After so many lives that were ended. */
async function judge(kills: number): Promise<{ readonly accepted: number; readonly sent: number }> {
  const told = new Journal();
  const { waiting, dead, discarded } = await empty();
  const accepted = told.count('accepted');
  const sent = told.count('sent');
  const delivering = told.count('settling delivered');
  await judgeIncidents(told);
  const isThere = (id: string): boolean => waiting.has(id) || dead.has(id);
  const missing = [...accepted.keys()].filter((id) => !isThere(id) && !delivering.has(id));
  // Dead letters that were purged, or for which there was no room.
  expect(missing.length).toBeLessThanOrEqual(discarded);
  const twice = [...told.count('settled delivered').keys()].filter(isThere);
  expect(twice).toEqual([]);
  for (const [id, sends] of [...waiting, ...dead]) {
    const truth = sent.get(id) ?? 0;
    expect(sends, `${id} was sent ${truth} times`).toBeGreaterThanOrEqual(truth);
    // A claim that was not used when its process died counts as sent.
    expect(sends).toBeLessThanOrEqual(truth + kills);
  }
  return { accepted: accepted.size, sent: sent.size };
}

const WRITES = [
  'open',
  'enqueue',
  'claim',
  'settle',
  'release',
  'lease-over',
  'expire',
  'close-application',
  'reopen',
  'replay',
  'purge',
  'evict',
  'incident',
];

describe('a queue in a folder, when its process is killed', () => {
  test.each(
    WRITES.flatMap((write) =>
      quickOrNightly(['after'], ['before', 'after']).map((moment) => ({ moment, write })),
    ),
  )('$moment a write for $write, has all that was accepted', async ({ moment, write }) => {
    let kills = 0;
    for (const count of quickOrNightly([2], [1, 2, 5, 9])) {
      // A store that is opened has one such write.
      const end = `${moment}:${write}:${write === 'open' ? 1 : count}`;
      const [exitCode, signal] = (await once(live(kills + 1, end), 'exit')) as [number, string];
      expect([exitCode, signal]).toEqual([null, 'SIGKILL']);
      kills += 1;
    }
    const { accepted } = await judge(kills);
    expect(accepted > 0).toBe(write !== 'open');
  });

  test('at any moment, again and again, has all that was accepted', async () => {
    const random = createSeededRandom(1);
    const kills = quickOrNightly(6, 200);
    for (let count = 0; count < kills; count += 1) {
      const child = live(count);
      const exited = once(child, 'exit');
      if (child.stdout !== null) await once(child.stdout, 'data');
      setTimeout(() => child.kill('SIGKILL'), random() * 100);
      await exited;
      expect(child.signalCode).toBe('SIGKILL');
    }
    const { accepted, sent } = await judge(kills);
    expect(accepted).toBeGreaterThan(kills);
    expect(sent).toBeGreaterThan(0);
  }, 200_000);
});
