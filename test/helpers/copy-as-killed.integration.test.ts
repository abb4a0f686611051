import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { expect, test } from 'vitest';
import { copyAsKilled } from './copy-as-killed.ts';
import { temporaryFolder } from './temporary-folder.ts';

test('a folder is copied whole while LevelDB removes tables from it', async () => {
  const folder = temporaryFolder();
  const live = new ClassicLevel(join(folder, 'live'), { writeBufferSize: 64 * 1024 });
  // Of plain copies at this pace a fifth met a table that was just removed.
  for (let round = 0; round < 60; round += 1) {
    const rows = Array.from({ length: 60 }, (_, index) => `${(round * 60 + index) % 977}`);
    const value = `${round}`.padEnd(2000);
    await live.batch(rows.map((key) => ({ type: 'put', key, value })));
    copyAsKilled(live.location, join(folder, `${round}`));
    const copied = new ClassicLevel(join(folder, `${round}`));
    const values = await copied.getMany(rows);
    expect(new Set(values)).toEqual(new Set([value]));
    await copied.close();
  }
  await live.close();
});

test('a folder that is not there is told so', () => {
  const nowhere = join(temporaryFolder(), 'nowhere');
  expect(() => copyAsKilled(nowhere, `${nowhere}-copied`)).toThrow(nowhere);
});
