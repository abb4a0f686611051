/** The commands `verify` and `explain`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sign } from '../../../src/index.ts';
import { explainSignature } from '../../../src/receiver/index.ts';
import { runCommand } from '../../helpers/terminal.ts';

const folder = mkdtempSync(join(tmpdir(), 'cli-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const environment = { SECURITY_EVENTS_SECRET: 'new secret', OLD: 'old secret' };
const body = '[{"a":"ü"}]';
const genuine = sign(body, 'new secret');

describe('verify', () => {
  const yes = { exitCode: 0, stdout: 'The signature fits.\n', stderr: '' };
  const no = {
    exitCode: 1,
    stdout: 'The signature does not fit. security-events explain says why.\n',
    stderr: '',
  };

  it.each([
    ['the genuine one', [], genuine, yes],
    [
      'that of the old secret beside the new one',
      ['--secret-env', 'SECURITY_EVENTS_SECRET', '--secret-env', 'OLD'],
      sign(body, 'old secret'),
      yes,
    ],
    ['that of the old secret alone', [], sign(body, 'old secret'), no],
    ['one in upper case', [], genuine.toUpperCase(), no],
    ['one with a prefix', [], `sha256=${genuine}`, no],
    ['an empty one', [], '', no],
  ])('judges %s', async (_, options, signature, expected) => {
    const words = ['verify', `--signature=${signature}`, ...options];
    expect(await runCommand(words, { environment, input: body })).toEqual(expected);
  });

  it('reads the bytes of a file, text or not, and secrets of files', async () => {
    const bytes = Uint8Array.of(0, 255, 128, 10);
    const secrets = [file('new.secret', 'another\n'), file('old.secret', 'of a file\r\n')];
    const words = [
      'verify',
      file('body.bin', bytes),
      `--signature=${sign(bytes, 'of a file')}`,
      ...secrets.map((path) => `--secret-file=${path}`),
    ];
    expect(await runCommand(words)).toEqual(yes);
  });

  it.each([
    [genuine, 0, '{"isGenuine":true}\n'],
    ['0'.repeat(64), 1, '{"isGenuine":false}\n'],
  ])('prints JSON for programs: %s', async (signature, exitCode, stdout) => {
    const words = ['verify', '--json', '--signature', signature];
    expect(await runCommand(words, { environment, input: body })).toEqual({
      exitCode,
      stdout,
      stderr: '',
    });
  });

  it.each([
    [['verify'], environment, 'security-events: --signature is missing'],
    [['explain'], environment, 'security-events: --signature is missing'],
    [['verify', '--signature', genuine], {}, 'security-events: there is no secret'],
    [['explain', '--signature', genuine], {}, 'security-events: there is no secret'],
  ])('%j is a wrong use', async (words, variables, message) => {
    const { exitCode, stdout, stderr } = await runCommand(words, { environment: variables });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  it.each(['verify', 'explain'])('%s tells of a file that is not there', async (command) => {
    const words = [command, join(folder, 'gone'), '--signature', genuine];
    const { exitCode, stderr } = await runCommand(words, { environment });
    expect(exitCode).toBe(3);
    expect(stderr).toContain('gone: no such file or folder');
  });
});

const told = async (signature: string, input: string | Uint8Array, ...options: string[]) =>
  runCommand(['explain', '--signature', signature, ...options], { environment, input: [input] });

describe('explain', () => {
  it('says yes where the signature fits', async () => {
    expect(await told(genuine, body)).toEqual({
      exitCode: 0,
      stdout: 'Genuine. The signature fits the body.\n',
      stderr: '',
    });
  });

  it.each([
    ['a prefix', `sha256=${genuine}`, body, 'header-prefix'],
    ['upper case', genuine.toUpperCase(), body, 'header-upper-case'],
    ['a line end', genuine, `${body}\n`, 'body-line-end'],
    ['another charset', genuine, Buffer.from(body, 'latin1'), 'body-charset'],
  ])('proves %s', async (_, signature, input, fault) => {
    const { text } = explainSignature(input, signature, 'new secret');
    expect(await told(signature, input)).toEqual({
      exitCode: 1,
      stdout: `Proven, since the signature fits once this is undone: ${fault}\n${text}\n`,
      stderr: '',
    });
  });

  it('guesses where nothing can be proven', async () => {
    const { stdout } = await told('0'.repeat(64), body);
    expect(stdout).toMatch(
      /^Guessed, since it fits after none of the usual mistakes: other-secret\n/,
    );
  });

  it.each([
    ['fits', sign(body, 'old secret'), { isValid: true, faults: [], isProven: true }],
    [
      'proves something',
      sign(body, 'old secret').toUpperCase(),
      { isValid: false, faults: ['header-upper-case'], isProven: true },
    ],
  ])('takes of several secrets that which %s', async (_, signature, expected) => {
    const options = ['--json', '--secret-env=SECURITY_EVENTS_SECRET', '--secret-env=OLD'];
    const { stdout } = await told(signature, body, ...options);
    expect(JSON.parse(stdout)).toMatchObject(expected);
  });

  it('shows no secret and no payload', async () => {
    for (const options of [[], ['--json']]) {
      const { stdout, stderr } = await told('0'.repeat(64), 'payload', ...options);
      expect(stdout + stderr).not.toMatch(/payload|new secret|old secret/);
    }
  });
});
