/** `validate` in a process with little memory, with an input that is larger. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { sampleRecord } from '../../src/testing/index.ts';
import { root } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const MEGABYTE = 1_000_000;
const INPUT_BYTES = 400 * MEGABYTE;
/** Node itself and the loaded modules take more than half. */
const MAX_RESIDENT_BYTES = 220 * MEGABYTE;

const TELL_MEMORY = `data:text/javascript,${encodeURIComponent(
  "process.once('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)))",
)}`;

async function residentAfter(block: Buffer): Promise<{ bytes: number; exitCode: number }> {
  const main = join(root, 'dist/cli/main.js');
  const child = spawn(process.execPath, ['--import', TELL_MEMORY, main, 'validate'], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  const closed = once(child, 'close');
  const blocks = Array.from({ length: Math.ceil(INPUT_BYTES / block.length) }, () => block);
  await pipeline(Readable.from(blocks), child.stdin);
  const [exitCode] = (await closed) as [number];
  return { exitCode, bytes: Number(/\d+$/.exec(stderr)?.[0]) * 1024 };
}

const line = `${JSON.stringify(sampleRecord())}\n`;

// Each takes seconds of a processor, and a smaller input would fit into memory.
it.skipIf(quickOrNightly(true, false)).each([
  ['records, one a line', line.repeat(2000), 0],
  ['one line without an end', 'a'.repeat(MEGABYTE), 1],
  ['long elements of one array on one line', `["${'a'.repeat(900_000)}",`, 1],
  ['one array whose first element has no end', '['.repeat(MEGABYTE), 1],
])('an input of 400 MB is read in 220 MB: %s', async (_, block, expected) => {
  const { bytes, exitCode } = await residentAfter(Buffer.from(block));
  expect(exitCode).toBe(expected);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(MAX_RESIDENT_BYTES);
});
