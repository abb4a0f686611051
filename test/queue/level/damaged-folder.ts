/** Folders of queues with something of everything in them, and ways to damage their files. */
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import type {
  Claim,
  MessageQueue,
  QueueEntry,
  QueueStats,
} from '../../../src/queue/level/old-contract.ts';
import type { QueueDamage } from '../../../src/queue/level.ts';
import { createFakeClock } from '../../../src/testing/index.ts';
import { copyAsKilled } from '../../helpers/copy-as-killed.ts';
import { createLevelQueue, DEAD, DELIVERED, entryOf, isClaim, ROW } from './old-trial.ts';
import { type Dice, diceOf } from './slow-level.ts';

export const LAST = { ...ROW, waitMs: 0 };

const REQUEST = { tiers: ['healthy', 'failing'], maxMessages: 50, maxBytes: 1e9 } as const;

export async function claimOf(queue: MessageQueue): Promise<Claim> {
  const claim = await queue.claim({ ...REQUEST, leaseMs: 60_000 });
  if (!isClaim(claim)) throw new Error(`nothing was claimed: ${JSON.stringify(claim)}`);
  return claim;
}

/** What was accepted, by its id: its bytes. */
export type Accepted = Map<string, Buffer>;

const APPLICATIONS = ['one', 'two', 'three', 'four'];

const FILLER = 'abcdefghijklmnopqrstuvwxyz'.repeat(8);

/** Half of a message shrinks well, half of it not at all: the store's blocks are read either way. */
function bytesOf(messageId: string, dice: Dice): Buffer {
  const noise = Array.from({ length: 200 }, () => String.fromCharCode(33 + dice(90))).join('');
  return Buffer.from(JSON.stringify({ message_id: messageId, noise, filler: FILLER }));
}

/**
 * Messages that wait and wait again, that came from another queue, are claimed, dead, delivered and
 * moved, in tables and in the newest file, as a process leaves them that is killed.
 */
async function fill(folder: string, dice: Dice): Promise<Accepted> {
  const accepted: Accepted = new Map();
  // The same bytes each time: what a test damages is the same, too.
  const clock = createFakeClock();
  const draft = `${folder}-draft`;
  const entries = (count: number): QueueEntry[] =>
    Array.from({ length: count }, (_, index) => {
      const messageId = `m-${accepted.size}`;
      const bytes = bytesOf(messageId, dice);
      accepted.set(messageId, bytes);
      const entry = entryOf(APPLICATIONS[index % APPLICATIONS.length] ?? '', { messageId, bytes });
      if (dice(4) > 0) return entry;
      return { ...entry, past: { sends: 1, ageMs: 5, dueInMs: 0, progress: { at: 'x' } } };
    });
  // Twice: what was written before is in tables once the folder is opened again.
  for (const part of [0, 1]) {
    const queue = createLevelQueue({ folder: draft, sync: false }, clock);
    await queue.open({ ...ROW, maxMessages: 20 });
    for (let call = 0; call < 4; call += 1) await queue.enqueue(entries(40));
    for (let call = 0; call < 6; call += 1) {
      const claim = await claimOf(queue);
      const verdicts = claim.messages.map((_, index) =>
        index % 3 === 0 ? DELIVERED : index % 3 === 1 ? DEAD : ({ ...AGAIN, afterMs: 0 } as const),
      );
      await queue.settle(claim, verdicts, { ...LAST, maxMessages: 20 });
    }
    await claimOf(queue);
    if (part === 1) copyAsKilled(draft, folder);
    await queue.close();
  }
  rmSync(draft, { recursive: true });
  return accepted;
}

const AGAIN = { kind: 'again', progress: { tried: 'so' } } as const;

export const filesOf = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder)
    .filter((name) => pattern.test(name))
    .toSorted()
    .map((name) => join(folder, name));

export function flip(file: string, at: number, count = 1): void {
  const bytes = readFileSync(file);
  for (let index = at; index < Math.min(at + count, bytes.length); index += 1) {
    bytes.writeUInt8(bytes.readUInt8(index) ^ 0x5a, index);
  }
  writeFileSync(file, bytes);
}

export function cut(file: string, share: number): void {
  truncateSync(file, Math.floor(readFileSync(file).length * share));
}

/** What a queue gave of a folder, and what was wrong with it. */
export interface Judged {
  readonly given: readonly string[];
  readonly dead: readonly string[];
  readonly told: readonly QueueDamage[];
  readonly stats: QueueStats;
  readonly wrong: readonly string[];
}

function unevenOf({ applications, ...total }: QueueStats): string[] {
  return [['all', total] as const, ...applications].flatMap(([id, ledger]) => {
    const { accepted, delivered, pending, dead, discarded } = ledger;
    const gone = Object.values(discarded).reduce((sum, count) => sum + count, 0);
    const counts = [delivered, pending, dead, gone];
    const isEven = accepted === counts.reduce((sum, count) => sum + count, 0);
    return isEven && counts.every((count) => count >= 0)
      ? []
      : [`${id}: ${accepted} accepted, ${counts.join(' + ')}`];
  });
}

/** Opens the folder, delivers all that is given, and looks at the dead letters. */
export async function judge(
  folder: string,
  accepted: Accepted,
  first: (queue: MessageQueue) => Promise<unknown> = (queue) => queue.stats(),
): Promise<Judged> {
  const told: QueueDamage[] = [];
  const wrong: string[] = [];
  const queue = createLevelQueue({ folder, sync: false, onDamage: (one) => told.push(one) });
  await queue.open(ROW);
  await first(queue);
  const check = (id: string, bytes: Buffer): void => {
    if (accepted.get(id)?.equals(bytes) !== true) wrong.push(`${id} was never accepted`);
  };
  const given: string[] = [];
  let failures = 0;
  /** What is damaged may end a call, but not the next ones. */
  const tried = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SecurityEventError)) throw error;
      failures += 1;
      if (failures > 20) throw error;
      return undefined;
    }
  };
  for (let round = 0; ; round += 1) {
    const claim = await tried(() => queue.claim({ ...REQUEST, leaseMs: 60_000 }));
    const stats = await tried(() => queue.stats());
    if (stats !== undefined) wrong.push(...unevenOf(stats));
    if (claim !== undefined && isClaim(claim)) {
      for (const { stored } of claim.messages) check(stored.messageId, stored.bytes);
      const verdicts = claim.messages.map(() => DELIVERED);
      const end = await tried(() => queue.settle(claim, verdicts, LAST));
      if (end === 'settled') given.push(...claim.messages.map(({ stored }) => stored.messageId));
    } else if (claim !== undefined && stats !== undefined && stats.pending === 0) break;
    if (round > 1000) {
      wrong.push(`it never ends: ${JSON.stringify(claim)}, ${stats?.pending} wait`);
      break;
    }
  }
  const dead: string[] = [];
  const letters = await tried(async () => (await queue.deadLetters({ limit: 10_000 })).items);
  const items = letters ?? (await queue.deadLetters({ limit: 10_000 })).items;
  for (const { stored } of items) {
    check(stored.messageId, stored.bytes);
    dead.push(stored.messageId);
  }
  const stats = await queue.stats();
  wrong.push(...unevenOf(stats));
  if (stats.pendingBytes !== 0) wrong.push(`${stats.pendingBytes} bytes of nothing`);
  const listed = (await queue.deadLetters({ limit: 10_000 })).items.length;
  if (stats.dead !== listed) wrong.push(`${stats.dead} dead letters, ${listed} listed`);
  await queue.close();
  return { given, dead, told, stats, wrong };
}

/** One to three files are damaged, anywhere and in any way. Gives what was done. */
export function damageSomething(folder: string, dice: Dice): string[] {
  const done: string[] = [];
  for (let left = 1 + dice(3); left > 0; left -= 1) {
    const files = filesOf(folder, /^(?:.*\.(?:ldb|log)|MANIFEST-.*|CURRENT)$/);
    const file = files[dice(files.length)];
    if (file === undefined) break;
    const size = readFileSync(file).length;
    const kind = dice(10);
    done.push(`${kind} ${file} ${size}`);
    if (kind === 0) rmSync(file);
    else if (kind < 3) cut(file, dice(1000) / 1000);
    else if (kind < 4) zero(file, dice(size + 1), 1 + dice(4096));
    else
      for (let flips = 1 + dice(4); flips > 0; flips -= 1) flip(file, dice(size + 1), 1 + dice(8));
  }
  return done;
}

function zero(file: string, from: number, count: number): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0, from, Math.min(from + count, bytes.length)));
}

/** What is in it. */
export const WHOLE = { accepted: 320, given: 152, dead: 84 };

/** Nothing is left to be said of the folder, nor to be given. */
export async function isQuiet(folder: string, accepted: Accepted, dead: number): Promise<void> {
  const again = await judge(folder, accepted);
  expect(again).toMatchObject({ given: [], told: [], wrong: [] });
  expect(again.dead).toHaveLength(dead);
}

export interface DamagedFolder {
  /** Made anew for each test, and not damaged yet. */
  readonly folder: string;
  /** As it was. */
  readonly base: string;
  readonly accepted: Accepted;
}

/** Of the tests of a file. */
export function useDamagedFolder(): DamagedFolder {
  const room = mkdtempSync(join(tmpdir(), 'level-damage-'));
  const [base, folder] = [join(room, 'base'), join(room, 'damaged')];
  const accepted: Accepted = new Map();
  beforeAll(async () => {
    for (const [id, bytes] of await fill(base, diceOf(1))) accepted.set(id, bytes);
  });
  beforeEach(() => cpSync(base, folder, { recursive: true }));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  afterAll(() => rmSync(room, { recursive: true }));
  return { folder, base, accepted };
}
