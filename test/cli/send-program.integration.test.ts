/** `send --undelivered` as a program: what only real processes can prove. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { root } from '../helpers/package-files.ts';
import { deferred } from '../helpers/promises.ts';
import { hang, respond, type Step, startReceiver } from '../helpers/receiver.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

const main = join(root, 'dist/cli/main.js');

function messagesFile(count: number): { readonly file: string; readonly left: string } {
  const folder = temporaryFolder();
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({ ...sampleMessageToSend('test'), message_id: `id-${index}` }),
  );
  const file = join(folder, 'messages.ndjson');
  writeFileSync(file, `${lines.join('\n')}\n`);
  return { file, left: join(folder, 'left.ndjson') };
}

const env = { SECURITY_EVENTS_SECRET: 'a secret' };
const started = (words: readonly string[]) => spawn(process.execPath, [main, ...words], { env });

it('saves undelivered messages before it continues, so that SIGKILL does not lose them', async () => {
  const second = deferred();
  const step: Step = (exchange) => {
    if (!exchange.request.body.includes('"id-1000"')) return respond({ status: 422 })(exchange);
    second.resolve();
    return hang()(exchange);
  };
  await using receiver = await startReceiver({ script: [step] });
  const { file, left } = messagesFile(1500);
  const child = started(['send', receiver.url, file, '--retries', 'none', '--undelivered', left]);
  const closed = once(child, 'close');
  await second.promise;
  child.kill('SIGKILL');
  await closed;
  expect(existsSync(left)).toBe(true);
  expect(statSync(left).mode & 0o777).toBe(0o600);
  const saved = readFileSync(left, 'utf8').split('\n');
  expect(saved.pop()).toBe('');
  expect(saved.map((line) => (JSON.parse(line) as { message_id: string }).message_id)).toEqual(
    Array.from({ length: 1000 }, (_, index) => `id-${index}`),
  );
});

it('still reports what happened when the file cannot be written', async () => {
  await using receiver = await startReceiver({ script: [respond({ status: 400 })] });
  const { file, left } = messagesFile(100);
  const words = ['send', receiver.url, file, '--retries', 'none', '--undelivered', left];
  const command = ['ulimit -f 1', `exec "$0" "$@"`].join('; ');
  const child = spawn('sh', ['-c', command, process.execPath, main, ...words], { env });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (texts.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (texts.stderr += String(chunk)));
  const [exitCode] = (await once(child, 'close')) as [number];
  expect([exitCode, texts.stderr]).toEqual([3, `security-events: ${left}: file too large\n`]);
  expect(texts.stdout).toContain('\nNot delivered: 100 messages\n');
  expect(texts.stdout).not.toContain('Saved');
});
