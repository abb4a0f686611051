/** A file whose bytes were changed: no message vanishes without a word, and no call hangs. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { MessageQueue } from '../../../src/queue/queue.ts';
import { createSqliteQueue } from '../../../src/queue/sqlite.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createSeededRandom } from '../../helpers/seeded-random.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import {
  claimFrom,
  DEAD,
  entryOf,
  INITIAL,
  isClaim,
  LAST,
  REQUEST,
  retry,
  settleAll,
} from '../conformance/trial.ts';

const MESSAGES = 400;
const APPLICATIONS = ['one', 'two', 'three', 'four'];
const request = { ...REQUEST, maxMessages: 50 };

const bodyOf = (messageId: string): Buffer => Buffer.from(`${messageId} `.repeat(60));

/** A file with messages that wait, some of them after an attempt, and dead letters. */
async function makeFile(file: string): Promise<void> {
  const queue = createSqliteQueue({ file, sync: false });
  await queue.open(INITIAL);
  const entries = Array.from({ length: MESSAGES }, (_, index) => {
    const messageId = `m${index}`;
    const name = APPLICATIONS[index % APPLICATIONS.length] ?? '';
    return entryOf(name, { messageId, bytes: bodyOf(messageId) });
  });
  await queue.enqueue(entries);
  const claim = await claimFrom(queue, request);
  const results = claim.messages.map((_, retryState) =>
    retryState % 2 === 0 ? DEAD : retry(0, { retryState }),
  );
  await queue.settle(claim, results, LAST);
  await queue.close();
}

type Damage = (bytes: Buffer, random: () => number) => Buffer;

const DAMAGES: Readonly<Record<string, Damage>> = {
  cut: (bytes, random) => bytes.subarray(0, Math.floor(random() * bytes.length)),
  flipped: (bytes, random) => {
    const at = Math.floor(random() * bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    return bytes;
  },
  zeroed: (bytes, random) => {
    const at = Math.floor(random() * bytes.length);
    return bytes.fill(0, at, Math.min(bytes.length, at + 1 + Math.floor(random() * 5000)));
  },
};

interface Found {
  /** Whether a call was rejected, which tells that something is wrong. */
  readonly isReported: boolean;
  readonly seen: ReadonlySet<string>;
  readonly wrong: readonly string[];
}

/** Delivers all that can be claimed, and lists the dead letters. */
async function emptied(queue: MessageQueue): Promise<Found> {
  const seen = new Set<string>();
  const wrong: string[] = [];
  try {
    await queue.open(INITIAL);
    for (;;) {
      const claim = await queue.claim(request);
      if (!isClaim(claim)) break;
      for (const { stored } of claim.messages) {
        seen.add(stored.messageId);
        if (!stored.bytes.equals(bodyOf(stored.messageId))) wrong.push(stored.messageId);
      }
      await settleAll(queue, claim);
    }
    const { items } = await queue.listDeadLetters({ limit: 1000 });
    for (const { stored } of items) seen.add(stored.messageId);
    const { discarded } = await queue.stats();
    return { isReported: (discarded.damaged ?? 0) > 0, seen, wrong };
  } catch (error) {
    const code = (error as { readonly code?: unknown }).code;
    if (code !== 'ERR_QUEUE_FAILED' && code !== 'ERR_QUEUE_FOREIGN') throw error;
    return { isReported: true, seen, wrong };
  }
}

describe('an SQLite file whose bytes were changed', () => {
  test.each(Object.entries(DAMAGES))(
    'is reported when it was %s',
    async (name, damage) => {
      const folder = temporaryFolder();
      const original = join(folder, 'original.db');
      await makeFile(original);
      const silent: number[] = [];
      const wrong: string[] = [];
      for (let seed = 0; seed < quickOrNightly(15, 170); seed += 1) {
        const file = join(folder, `${name}-${seed}.db`);
        writeFileSync(file, damage(readFileSync(original), createSeededRandom(seed)));
        copyFileSync(`${original}-reserve`, `${file}-reserve`);
        const reports: unknown[] = [];
        const onDamage = (report: unknown): void => void reports.push(report);
        const queue = createSqliteQueue({ file, sync: false, onDamage });
        const found = await emptied(queue);
        await queue.close().catch(() => {});
        wrong.push(...found.wrong);
        const isMissing = found.seen.size < MESSAGES;
        if (isMissing && !found.isReported && reports.length === 0) silent.push(seed);
        for (const end of ['', '-wal', '-shm', '-reserve']) rmSync(file + end, { force: true });
      }
      expect({ silent, wrong }).toEqual({ silent: [], wrong: [] });
    },
    300_000,
  );
});
