import { mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { fingerprintAt, readSnapshot, readSnapshotSync } from '../../src/settings/file-snapshot.ts';

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'file-snapshot-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'settings.json');
  writeFileSync(path, text);
  return path;
}

const LARGEST = 16 * 1024 * 1024;

test('reads a file with its fingerprint', async () => {
  const path = fileOf('text');
  const whole = { text: 'text', fingerprint: await fingerprintAt(path) };
  expect(await readSnapshot(path)).toEqual(whole);
  expect(readSnapshotSync(path)).toEqual(whole);
});

test('rejects a file that is not UTF-8', async () => {
  const path = fileOf('');
  writeFileSync(path, Buffer.from('caf\u00e9', 'latin1'));
  await expect(readSnapshot(path)).rejects.toThrow('it is not UTF-8');
  expect(() => readSnapshotSync(path)).toThrow('it is not UTF-8');
});

test('rejects a file that changes while it is read', async () => {
  const path = fileOf('x'.repeat(LARGEST));
  const over = new AbortController();
  const read = readSnapshot(path).finally(() => over.abort());
  const end = read.catch((error: unknown) => (error as Error).message);
  for (let second = 1; !over.signal.aborted; second += 1) {
    utimesSync(path, second, second);
    await nextTurn();
  }
  expect(await end).toBe('it was written to while it was read');
});

test.each<[number, boolean]>([
  [LARGEST, true],
  [LARGEST + 1, false],
])('a file of %i bytes is read: %s', async (bytes, isRead) => {
  const path = fileOf('');
  truncateSync(path, bytes);
  const end = readSnapshot(path).then(
    ({ text }) => text.length,
    () => undefined,
  );
  expect(await end).toBe(isRead ? bytes : undefined);
});
