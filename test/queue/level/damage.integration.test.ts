/** A folder whose files were damaged: it opens, gives what is intact, and says what is gone. */
import diagnostics from 'node:diagnostics_channel';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { QueueDamage } from '../../../src/queue/level.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import {
  claimOf,
  cut,
  damageSomething,
  filesOf,
  flip,
  isQuiet,
  judge,
  LAST,
  useDamagedFolder,
  WHOLE,
} from './damaged-folder.ts';
import { createLevelQueue, DELIVERED, ROW } from './old-trial.ts';
import { diceOf } from './slow-level.ts';

const { folder, base, accepted } = useDamagedFolder();

const only = (files: readonly string[]): string => {
  const [file] = files;
  if (file === undefined || files.length > 1) throw new Error(`not one file: ${files.join()}`);
  return file;
};
const tableOf = (): string => only(filesOf(folder, /\.ldb$/));
const writesOf = (): string => only(filesOf(folder, /\.log$/));
const manifestOf = (): string => only(filesOf(folder, /^MANIFEST/));
const at = (file: string, share: number): number => Math.floor(statSync(file).size * share);

function zeroed(file: string, share: number, count: number): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0, at(file, share), at(file, share) + count));
}

function scattered(file: string, share: number): void {
  for (let part = 0; part < 10; part += 1) flip(file, at(file, share + part / 40), 2);
}

const isQuietNow = (dead: number) => isQuiet(folder, accepted, dead);

describe('a folder without damage', () => {
  test('gives all that waits, and says nothing', async () => {
    const { given, dead, told, stats, wrong } = await judge(folder, accepted);
    expect([stats.accepted, given.length, dead.length]).toEqual(Object.values(WHOLE));
    expect([told, wrong, stats.discarded]).toEqual([[], [], {}]);
    expect(existsSync(join(folder, 'lost'))).toBe(false);
  });
});

describe('a cut tail of the newest file', () => {
  // What was written last is gone with its counts: nothing tells that it was ever there.
  test.each([0, 0.01, 0.3, 0.5, 0.7, 0.9, 0.999])('at %d of it leaves no trace', async (share) => {
    cut(writesOf(), share);
    const { told, wrong, stats } = await judge(folder, accepted);
    expect([told, wrong, stats.discarded]).toEqual([[], [], {}]);
    expect(stats.accepted).toBeGreaterThanOrEqual(160);
    await isQuietNow(stats.dead);
  });
});

describe('damage that loses the names of files, but no row,', () => {
  test.each<[string, () => void]>([
    ['CURRENT is missing', () => rmSync(join(folder, 'CURRENT'))],
    ['CURRENT is empty', () => writeFileSync(join(folder, 'CURRENT'), '')],
    ['CURRENT is something else', () => writeFileSync(join(folder, 'CURRENT'), '\0\x01x\n')],
    ['CURRENT names no file', () => writeFileSync(join(folder, 'CURRENT'), 'MANIFEST-000999\n')],
    ['MANIFEST is missing', () => rmSync(manifestOf())],
    ['MANIFEST is empty', () => writeFileSync(manifestOf(), '')],
    ['MANIFEST is cut', () => cut(manifestOf(), 0.5)],
    ['MANIFEST is garbled', () => flip(manifestOf(), 20, 4)],
  ])('is made up for: %s', async (_, hurt) => {
    hurt();
    const { given, dead, told, stats, wrong } = await judge(folder, accepted);
    expect([stats.accepted, given.length, dead.length]).toEqual(Object.values(WHOLE));
    expect(wrong).toEqual([]);
    const nothingGone = {
      unreadable: {},
      lost: 0,
      reappeared: 0,
      dueAtOnce: 0,
      applications: [],
    };
    expect(told).toEqual([{ folder, signs: ['files'], ...nothingGone }]);
    await isQuietNow(WHOLE.dead);
  });
});

describe('damage to rows', () => {
  test.each<[string, () => void]>([
    ['a table is missing', () => rmSync(tableOf())],
    ['a table is empty', () => writeFileSync(tableOf(), '')],
    ['a table is cut in the middle', () => cut(tableOf(), 0.5)],
    ['a table is cut at its end', () => cut(tableOf(), 0.99)],
    ['a block of a table is zeros', () => zeroed(tableOf(), 0.6, 4096)],
    ['bytes of a table have changed', () => scattered(tableOf(), 0.4)],
    ['bytes of the newest file have changed', () => flip(writesOf(), at(writesOf(), 0.3), 3)],
    ['a block of the newest file is zeros', () => zeroed(writesOf(), 0.3, 4096)],
  ])('costs what it hits, which is told: %s', async (_, hurt) => {
    hurt();
    const { given, dead, told, stats, wrong } = await judge(folder, accepted);
    expect(wrong).toEqual([]);
    const lost = told.reduce((sum, one) => sum + one.lost, 0);
    expect(lost).toBeGreaterThan(0);
    expect(stats.discarded).toEqual({ lost });
    expect(given.length + dead.length).toBeGreaterThanOrEqual(WHOLE.given + WHOLE.dead - lost);
    for (const { applications, ...one } of told) {
      expect(applications.reduce((sum, { lost: count }) => sum + count, 0)).toBe(one.lost);
      for (const { applicationId } of applications) {
        expect(['one', 'two', 'three', 'four']).toContain(applicationId);
      }
    }
    await isQuietNow(dead.length);
  });

  test('that leaves nothing at all begins anew', async () => {
    for (const file of filesOf(folder, /\.(?:ldb|log)$/)) rmSync(file);
    const { given, dead, told, stats } = await judge(folder, accepted);
    expect([given, dead, stats.accepted]).toEqual([[], [], 0]);
    expect(told.map(({ signs }) => signs)).toEqual([['files']]);
  });
});

describe('damage while the queue is open', () => {
  test('is made up for by the next call, and claims that are out can be settled', async () => {
    const told: QueueDamage[] = [];
    const queue = createLevelQueue({ folder, sync: false, onDamage: (one) => told.push(one) });
    await queue.open({ ...ROW, maxMessages: 10 });
    const out = await claimOf(queue);
    // What a claim reads is not in memory, and the tables stay open: some bytes of them change.
    const [table = ''] = filesOf(folder, /\.ldb$/);
    const inPlace = readFileSync(table);
    writeFileSync(table, inPlace.fill(0x7f, 0, Math.floor(inPlace.length * 0.95)));
    const before = await queue.stats();
    const codes: unknown[] = [];
    for (let call = 0; call < 20 && told.length === 0; call += 1) {
      await queue
        .claim({ tiers: ['healthy'], maxMessages: 10, maxBytes: 1e9, leaseMs: 60_000 })
        .catch((error: { readonly code?: unknown }) => codes.push(error.code));
    }
    expect(codes.filter((code) => code !== 'ERR_QUEUE_FAILED')).toEqual([]);
    expect(told).toHaveLength(1);
    const verdicts = out.messages.map(() => DELIVERED);
    expect(await queue.settle(out, verdicts, LAST)).toBe('settled');
    const after = await queue.stats();
    expect(after.delivered).toBe(before.delivered + out.messages.length);
    expect(after.accepted).toBe(before.accepted);
    await queue.close();
  });
});

describe('what is told of damage', () => {
  test('is published for who listens, and what a listener throws harms nobody', async () => {
    rmSync(join(folder, 'CURRENT'));
    const told: unknown[] = [];
    const listen = (message: unknown): void => void told.push(message);
    diagnostics.subscribe('security-event-delivery:queue-damaged', listen);
    const queue = createLevelQueue({
      folder,
      onDamage: () => {
        throw new Error("the host's");
      },
    });
    await queue.open(ROW);
    diagnostics.unsubscribe('security-event-delivery:queue-damaged', listen);
    expect(told).toMatchObject([{ folder, signs: ['files'], lost: 0 }]);
    await queue.close();
  });

  test('has neither a message nor its id in it', async () => {
    rmSync(tableOf());
    const { told } = await judge(folder, accepted);
    expect(JSON.stringify(told)).not.toMatch(/message_id|noise|"m-\d/);
  });
});

describe('damaged files', () => {
  test('are kept for whoever wants to look, those of once', async () => {
    rmSync(join(folder, 'CURRENT'));
    const { length } = readFileSync(tableOf());
    await judge(folder, accepted);
    expect(statSync(only(filesOf(join(folder, 'lost'), /\.ldb$/))).size).toBe(length);
    rmSync(join(folder, 'CURRENT'));
    const { wrong, told } = await judge(folder, accepted);
    expect([wrong, told.length]).toEqual([[], 1]);
    expect(filesOf(join(folder, 'lost'), /^lost$/)).toEqual([]);
    expect(existsSync(join(folder, 'mending'))).toBe(false);
  });

  test.each<[string, (mending: string) => void]>([
    ['before a file was moved', () => {}],
    [
      'while they were moved',
      (mending) => {
        mkdirSync(join(mending, 'moving'));
        cpSync(tableOf(), join(mending, 'moving', '000005.ldb'));
        rmSync(tableOf());
      },
    ],
    [
      'when all were moved and half was written anew',
      (mending) => {
        cpSync(base, join(mending, 'moved'), { recursive: true });
        for (const file of filesOf(folder, /\.log$/)) rmSync(file);
      },
    ],
    ['and its own lock is damaged', (mending) => writeFileSync(join(mending, 'lock'), 'x')],
  ])('are read again where the process ended %s', async (_, leave) => {
    mkdirSync(join(folder, 'mending'));
    leave(join(folder, 'mending'));
    const { given, dead, told, wrong } = await judge(folder, accepted);
    expect([given.length, dead.length, wrong]).toEqual([WHOLE.given, WHOLE.dead, []]);
    expect(told.map(({ signs, lost }) => [signs, lost])).toEqual([[['unfinished'], 0]]);
    await isQuietNow(WHOLE.dead);
  });

  test('are not touched while another queue has the folder', async () => {
    const queue = createLevelQueue({ folder });
    await queue.open(ROW);
    rmSync(join(folder, 'CURRENT'));
    const second = createLevelQueue({ folder });
    await expect(second.open(ROW)).rejects.toMatchObject({ code: 'ERR_QUEUE_LOCKED' });
    expect(existsSync(join(folder, 'lost'))).toBe(false);
    expect(existsSync(join(folder, 'mending'))).toBe(false);
    await queue.close();
  });
});

test('random damage never hangs, throws nothing of its own, and invents no message', async () => {
  for (let seed = 1; seed <= quickOrNightly(6, 100); seed += 1) {
    rmSync(folder, { recursive: true, force: true });
    cpSync(base, folder, { recursive: true });
    const done = damageSomething(folder, diceOf(seed));
    const first = await judge(folder, accepted);
    const second = await judge(folder, accepted);
    expect({ seed, done, wrong: [first.wrong, second.wrong] }).toMatchObject({ wrong: [[], []] });
    // What nobody has read before may be noticed the second time.
    const told = [...first.told, ...second.told];
    const lost = told.reduce((sum, one) => sum + one.lost, 0);
    expect([seed, second.stats.discarded.lost ?? 0]).toEqual([seed, lost]);
    expect(new Set(first.given).size).toBe(first.given.length);
  }
}, 300_000);
