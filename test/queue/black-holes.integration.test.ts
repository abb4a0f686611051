import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLevelQueue } from '../../src/queue/level.ts';
import { ALL, HOLES, servePastBlackHoles } from './black-hole-run.ts';

describe.runIf(process.platform === 'linux')('every healthy application is served', () => {
  const title = `while all ${HOLES} before them hang`;

  test(`from a queue in memory, ${title}`, async () => {
    expect(await servePastBlackHoles(undefined)).toEqual(ALL);
  });

  test(`from a LevelDB queue, ${title}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'black-holes-'));
    try {
      const open = () => createLevelQueue({ folder, sync: false });
      expect(await servePastBlackHoles(open)).toEqual(ALL);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
