import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSqliteQueue } from '../../src/queue/sqlite.ts';
import { ALL, HOLES, servePastBlackHoles } from './black-hole-run.ts';

describe.runIf(process.platform === 'linux')('every healthy application is served', () => {
  const title = `while all ${HOLES} before them hang`;

  test(`from a queue in memory, ${title}`, async () => {
    expect(await servePastBlackHoles(undefined)).toEqual(ALL);
  });

  test(`from an SQLite queue, ${title}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'black-holes-'));
    try {
      const open = () => createSqliteQueue({ file: join(folder, 'queue.db'), sync: false });
      expect(await servePastBlackHoles(open)).toEqual(ALL);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
