import { mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { readWhole, readWholeSync, signatureAt } from '../../src/settings/whole-file.ts';

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'whole-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'settings.json');
  writeFileSync(path, text);
  return path;
}

const LARGEST = 16 * 1024 * 1024;

test('a file is read whole, with the signature that it has', async () => {
  const path = fileOf('text');
  const whole = { text: 'text', signature: await signatureAt(path) };
  expect(await readWhole(path)).toEqual(whole);
  expect(readWholeSync(path)).toEqual(whole);
});

test('a file of another encoding is not read', async () => {
  const path = fileOf('');
  writeFileSync(path, Buffer.from('caf\u00e9', 'latin1'));
  await expect(readWhole(path)).rejects.toThrow('it is no UTF-8');
  expect(() => readWholeSync(path)).toThrow('it is no UTF-8');
});

test('a file that is written to while it is read is not read', async () => {
  const path = fileOf('x'.repeat(LARGEST));
  const over = new AbortController();
  const read = readWhole(path).finally(() => over.abort());
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
  const end = readWhole(path).then(
    ({ text }) => text.length,
    () => undefined,
  );
  expect(await end).toBe(isRead ? bytes : undefined);
});
