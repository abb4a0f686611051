import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { temporaryFile } from '../helpers/temporary-files.ts';
import { outcome, runCommand } from '../helpers/terminal.ts';

const hmac = (body: string | Uint8Array, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

it('secret makes another 64 hex digits each time', async () => {
  const made = [await runCommand(['secret']), await runCommand(['secret'])];
  for (const { exitCode, stdout, stderr } of made) {
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
  }
  expect(made[0]?.stdout).not.toBe(made[1]?.stdout);
});

describe('sign', () => {
  const environment = { SECURITY_EVENTS_SECRET: '1234', OLD: 'ключ' };

  it.each([
    ['standard input', ['sign'], { input: ['[', ']'] }, hmac('[]', '1234')],
    ['nothing at all', ['sign'], {}, hmac('', '1234')],
    ['another variable', ['sign', '--secret-env', 'OLD'], { input: 'a' }, hmac('a', 'ключ')],
  ])('signs %s', async (_, words, options, signature) => {
    expect(await runCommand(words, { environment, ...options })).toEqual(
      outcome(0, `${signature}\n`),
    );
  });

  it('signs the bytes of a file, text or not', async () => {
    const bytes = Uint8Array.of(0, 255, 128, 10);
    const { stdout } = await runCommand(['sign', temporaryFile(bytes)], { environment });
    expect(stdout).toBe(`${hmac(bytes, '1234')}\n`);
  });

  it.each([
    ['one line end', 'a b \r\n', 'a b '],
    ['no line end', 'a b', 'a b'],
    ['one of two line ends', 'a\n\n', 'a\n'],
    ['a byte order mark', '\uFEFFa b\r\n', 'a b'],
  ])('takes a secret from a file without %s', async (_, content, secret) => {
    const words = ['sign', '--secret-file', temporaryFile(content, 'secret')];
    expect((await runCommand(words, { input: 'x', environment })).stdout).toBe(
      `${hmac('x', secret)}\n`,
    );
  });

  it.each([
    ['a secret file that is not there', ['--secret-file', 'gone'], {}, /gone: no such file/],
    ['a body that is not there', ['gone.json'], environment, /gone\.json: no such file/],
    ['a folder as a secret', ['--secret-file', '.'], {}, /: \.: is a directory/],
  ])('exits with 3 for %s', async (_, words, variables, message) => {
    const result = await runCommand(['sign', ...words], { environment: variables });
    expect(result).toMatchObject({ exitCode: 3, stdout: '' });
    expect(result.stderr).toMatch(message);
  });

  it.each([
    // As text it would be another secret.
    ['is not UTF-8 text', Buffer.from('\uFEFFabc\r\n', 'utf16le')],
    ['is empty: expected the secret', '\n'],
  ])('refuses a secret file that %s', async (message, content) => {
    const words = ['sign', '--secret-file', temporaryFile(content)];
    const { exitCode, stdout, stderr } = await runCommand(words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('says how to finish input from a terminal', async () => {
    const { stderr } = await runCommand(['sign'], { environment, isTerminal: true });
    expect(stderr).toBe('Reading from the terminal. Press Ctrl-D to finish.\n');
  });
});
