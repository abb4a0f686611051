/** What a queue in a folder does to its process, and what is in the folder when that has ended. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fixtureCommand } from '../../helpers/fixture-command.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { createLevelQueue, idsOf, ROW } from './old-trial.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'level-process-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface End {
  readonly exitCode: number | null;
  readonly accepted: readonly string[];
  readonly stderr: string;
  /** From the first message that was accepted to the end of the process. */
  readonly endedMs: number;
}

/** `limit`: a shell's, before the program. */
async function run(how: string, { limit = '', turns = 0 } = {}): Promise<End> {
  const command = fixtureCommand('level-end', [folder, how, `${turns}`]).map((word) => `'${word}'`);
  const child = spawn('/bin/sh', ['-c', `${limit} exec ${command.join(' ')}`]);
  let [stdout, stderr, startedAt] = ['', '', 0];
  child.stdout.on('data', (text) => {
    startedAt ||= performance.now();
    stdout += String(text);
  });
  child.stderr.on('data', (text) => {
    stderr += String(text);
  });
  return await new Promise((resolve) => {
    child.on('close', (exitCode) => {
      const accepted = stdout.split('\n').slice(0, -1);
      resolve({ exitCode, accepted, stderr, endedMs: performance.now() - startedAt });
    });
  });
}

/** Ids of all that waits, in order. */
async function waiting(): Promise<string[]> {
  const queue = createLevelQueue({ folder });
  await queue.open(ROW);
  const found: string[] = [];
  for (;;) {
    const request = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 1e6 } as const;
    const claim = await queue.claim(request);
    if (!('messages' in claim)) break;
    found.push(...idsOf(claim));
    const delivered = claim.messages.map(() => ({ kind: 'delivered' as const }));
    await queue.settle(claim, delivered, { ...ROW, waitMs: 0 });
  }
  await queue.close();
  return found;
}

describe('a process with an open queue in a folder', () => {
  test.each([
    { how: 'exit', title: 'process.exit', code: 0 },
    { how: 'throw', title: 'an uncaught error', code: 1 },
  ])(
    'ends by $title while it writes, within 2 s, and has what it accepted',
    async ({ how, code }) => {
      for (let time = 0; time < quickOrNightly(3, 20); time += 1) {
        const { exitCode, accepted, endedMs } = await run(how, { turns: 3 * time });
        expect(exitCode).toBe(code);
        expect(endedMs).toBeLessThan(2000);
        const found = new Set(await waiting());
        expect(accepted.filter((id) => !found.has(id))).toEqual([]);
      }
    },
    60_000,
  );

  test('ends where nothing else is left to do', async () => {
    const { exitCode, accepted } = await run('idle');
    expect([exitCode, accepted.length]).toEqual([0, 5]);
    expect(await waiting()).toEqual(accepted);
  });

  test('is refused what the disk does not take, accepts again, and loses nothing', async () => {
    // No file may have more than 1 MiB; its 4 MB are in several.
    const { exitCode, accepted, stderr } = await run('full', {
      limit: "ulimit -f 2048; trap '' XFSZ;",
    });
    expect([exitCode, Number.parseInt(stderr, 10)]).toEqual([0, expect.any(Number)]);
    const refusals = Number.parseInt(stderr, 10);
    expect(refusals).toBeGreaterThan(0);
    expect(accepted.length).toBe(5 + 100 * (40 - refusals));
    const found = new Set(await waiting());
    expect(accepted.filter((id) => !found.has(id))).toEqual([]);
  });
});
