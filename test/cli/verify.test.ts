import { describe, expect, it } from 'vitest';
import { sign } from '../../src/index.ts';
import { explainSignature } from '../../src/receiver/index.ts';
import { temporaryFile } from '../helpers/temporary-files.ts';
import { outcome, runCommand } from '../helpers/terminal.ts';

const environment = { SECURITY_EVENTS_SECRET: 'new secret', OLD: 'old secret' };
const body = '[{"a":"ü"}]';
const genuine = sign(body, 'new secret');

describe('verify', () => {
  it.each([
    ['the genuine one', genuine, 0],
    ['that of the old secret', sign(body, 'old secret'), 1],
    ['an empty one', '', 1],
  ])('judges %s', async (_, signature, exitCode) => {
    const words = ['verify', `--signature=${signature}`];
    expect(await runCommand(words, { environment, input: body })).toMatchObject({ exitCode });
  });

  it('reads the bytes of a file, text or not, and secrets of files', async () => {
    const bytes = Uint8Array.of(0, 255, 128, 10);
    const secrets = ['another\n', 'of a file\r\n'].map((text) => temporaryFile(text));
    const words = [
      'verify',
      temporaryFile(bytes),
      `--signature=${sign(bytes, 'of a file')}`,
      ...secrets.map((path) => `--secret-file=${path}`),
    ];
    expect(await runCommand(words)).toEqual(outcome(0, 'The signature matches.\n'));
  });

  it('refuses a body of more than 16 MiB', async () => {
    const options = { environment, input: [Buffer.alloc(2 ** 24), 'x'] };
    expect(await runCommand(['verify', '--signature', ''], options)).toEqual(
      outcome(2, '', 'security-events: standard input exceeds 16 MiB\n'),
    );
  });
});

const verified = async (signature: string, input: string, ...options: string[]) =>
  runCommand(['verify', '--signature', signature, ...options], { environment, input });

describe('verify explains', () => {
  it.each([
    ['with certainty', `sha256=${genuine}`, 'Cause'],
    ['as probable', '0'.repeat(64), 'Probable cause'],
  ])('a wrong signature %s', async (_, signature, cause) => {
    const { text } = explainSignature(body, signature, 'new secret');
    expect(await verified(signature, body)).toEqual(
      outcome(1, `The signature does not match.\n${cause}: ${text}\n`),
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
