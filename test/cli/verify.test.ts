import { describe, expect, it } from 'vitest';
import { sign } from '../../src/index.ts';
import { explainSignature } from '../../src/receiver/index.ts';
import { temporaryFile } from '../helpers/temporary-files.ts';
import { outcome, runCommand } from '../helpers/terminal.ts';

const environment = { SECURITY_EVENTS_SECRET: 'new secret', OLD: 'old secret' };
const body = '[{"a":"ü"}]';
const genuine = sign(body, 'new secret');

describe('verify', () => {
  const yes = { exitCode: 0, stdout: 'The signature matches.\n', stderr: '' };
  const no = {
    exitCode: 1,
    stdout: expect.stringMatching(/^The signature does not match\.\n(?:Cause|Probable cause): /),
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
    ['an empty one', [], '', no],
  ])('judges %s', async (_, options, signature, expected) => {
    const words = ['verify', `--signature=${signature}`, ...options];
    expect(await runCommand(words, { environment, input: body })).toEqual(expected);
  });

  it('reads the bytes of a file, text or not, and secrets of files', async () => {
    const bytes = Uint8Array.of(0, 255, 128, 10);
    const secrets = [
      temporaryFile('another\n', 'new.secret'),
      temporaryFile('of a file\r\n', 'old.secret'),
    ];
    const words = [
      'verify',
      temporaryFile(bytes, 'body.bin'),
      `--signature=${sign(bytes, 'of a file')}`,
      ...secrets.map((path) => `--secret-file=${path}`),
    ];
    expect(await runCommand(words)).toEqual(yes);
  });

  it('refuses a body of more than 16 MiB', async () => {
    const input = [Buffer.alloc(2 ** 24), 'x'];
    const { exitCode, stderr } = await runCommand(['verify', '--signature', ''], {
      environment,
      input,
    });
    expect([exitCode, stderr]).toEqual([2, 'security-events: standard input exceeds 16 MiB\n']);
  });
});

const verified = async (signature: string, input: string | Uint8Array, ...options: string[]) =>
  runCommand(['verify', '--signature', signature, ...options], { environment, input: [input] });

describe('verify explains', () => {
  it.each([
    ['a prefix', `sha256=${genuine}`, body],
    ['a line end', genuine, `${body}\n`],
  ])('%s with certainty', async (_, signature, input) => {
    const { text } = explainSignature(input, signature, 'new secret');
    expect(await verified(signature, input)).toEqual(
      outcome(1, `The signature does not match.\nCause: ${text}\n`),
    );
  });

  it('guesses if nothing is certain', async () => {
    const { stdout } = await verified('0'.repeat(64), body);
    expect(stdout).toMatch(
      /^The signature does not match\.\nProbable cause: The body seems unchanged/,
    );
  });

  it.each([
    ['matches', sign(body, 'old secret'), 0, { isValid: true }],
    [
      'explains it',
      sign(body, 'old secret').toUpperCase(),
      1,
      { isValid: false, faults: ['header-upper-case'], isProven: true, text: expect.any(String) },
    ],
  ])(
    'uses the secret of several that %s, for programs too',
    async (_, signature, code, expected) => {
      const options = ['--json', '--secret-env=SECURITY_EVENTS_SECRET', '--secret-env=OLD'];
      const { exitCode, stdout } = await verified(signature, body, ...options);
      expect([exitCode, JSON.parse(stdout)]).toEqual([code, expected]);
    },
  );

  it('shows no secret and no payload', async () => {
    for (const options of [[], ['--json']]) {
      const { stdout, stderr } = await verified('0'.repeat(64), 'payload', ...options);
      expect(stdout + stderr).not.toMatch(/payload|new secret|old secret/);
    }
  });
});
