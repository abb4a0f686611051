import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../helpers/package-files.ts';
import { outcome } from '../helpers/terminal.ts';

const main = join(root, 'dist/cli/main.js');

it('the program signs standard input, prints only the signature and exits', async () => {
  const child = spawn(process.execPath, [main, 'sign'], {
    env: { SECURITY_EVENTS_SECRET: '1234' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (texts.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (texts.stderr += String(chunk)));
  child.stdin.end('4567');
  const [exitCode] = await once(child, 'close');
  expect({ exitCode, ...texts }).toEqual(
    outcome(0, '9d101d2bf630748679226b767d2031634c520390ff0e926afc09bc65a05bfdb2\n'),
  );
});
