/** Checkpoints on a full disk, and the reserve. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { peerPath } from '../../../src/queue/sqlite/file-worker.ts';
import { Database, Gate } from '../../../src/queue/sqlite/worker/database.ts';
import { DiskSpace, Reserve } from '../../../src/queue/sqlite/worker/disk-space.ts';
import { loadSqlite } from '../../../src/queue/sqlite/worker/sqlite-library.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import { sqliteError } from './sqlite-error.ts';

test('a full disk is found when a checkpoint fails, until there is room', () => {
  const path = join(temporaryFolder(), 'queue.db');
  const { DatabaseSync } = loadSqlite(peerPath());
  const database = new Database(
    new DatabaseSync(':memory:', {}),
    new Gate(new SharedArrayBuffer(8)),
  );
  const space = new DiskSpace(path, database);
  onTestFinished(() => space.close());
  const get = vi.spyOn(database, 'get').mockImplementation((sql) => {
    if (sql.includes('passive')) throw sqliteError(13);
    return { busy: 0, log: 20_000, checkpointed: 0 };
  });
  space.committed(1);
  expect(space.canGrow()).toBe(false);
  get.mockRestore();
  expect(space.canGrow()).toBe(true);
  expect(space.makeRoom()).toBe(true);
  expect(space.makeRoom()).toBe(false);
});

describe('the reserve', () => {
  test('is not held where nothing can be written', () => {
    const reserve = new Reserve(join(temporaryFolder(), 'missing', 'queue.db'));
    expect(reserve.ensure()).toBe(false);
    expect(reserve.isHeld).toBe(false);
    expect(reserve.lastSequence()).toBe(0);
  });

  test('notes nothing that a bad disk has changed', () => {
    const path = join(temporaryFolder(), 'queue.db');
    const reserve = new Reserve(path);
    onTestFinished(() => reserve.close());
    reserve.ensure();
    reserve.note(41);
    expect(reserve.lastSequence()).toBe(41);
    const bytes = readFileSync(`${path}-reserve`);
    writeFileSync(`${path}-reserve`, bytes.toString('latin1').replace('41', '91'), 'latin1');
    expect(reserve.lastSequence()).toBe(0);
  });
});
