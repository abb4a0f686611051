import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { openReceiver } from '../../helpers/sender.ts';
import { fakeTerminal, outcome, runCommand } from '../../helpers/terminal.ts';
import { modeOf, OLD_SECRET, SHOP, settingsFixture, URL_TEXT } from './settings-files.ts';

const SHOP_1 = ['--application', 'shop-1'] as const;
const PRIVATE = ['--network', 'allow-private'] as const;
const HTTP =
  'plain-http: Others can read what is sent over http. The signature does not encrypt it.\n';

const env = (secret: string) => ({ environment: { SECURITY_EVENTS_SECRET: secret } });

describe('settings set', () => {
  test('tests the URL with a signed message, and saves it in a file for its owner alone', async () => {
    const receiver = await openReceiver({ secret: OLD_SECRET });
    const { file, run, stored } = settingsFixture();
    const words = [...SHOP_1, '--url', receiver.url, ...PRIVATE];
    const { exitCode, stdout, stderr } = await run('set', words, env(OLD_SECRET));
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'shop-1: saved\n' });
    expect(stderr).toMatch(/^Delivered: the receiver answered 200 after .*\.\n.* bytes\.\n/);
    expect(stderr.split('\n').slice(2).join('\n')).toBe(HTTP);
    expect(receiver.requests).toMatchObject([{ signatureOk: true }]);
    expect(stored()).toEqual({
      format: 2,
      applications: {
        'shop-1': { name: 'shop-1', environment: '', url: receiver.url, secret: OLD_SECRET },
      },
    });
    expect(modeOf(file)).toBe(0o600);
  });

  test('names the file if its folder is missing', async () => {
    const path = join(settingsFixture().folder, 'gone', 'settings.json');
    const words = [...SHOP_1, '--url', URL_TEXT, '--no-test'];
    expect(await runCommand(['settings', 'set', path, ...words], env(OLD_SECRET))).toEqual(
      outcome(3, '', `security-events: ${path}: no such file or directory\n`),
    );
  });

  test('keeps the saved secret and name, and changes the environment', async () => {
    const receiver = await openReceiver({ secret: OLD_SECRET });
    const { run, stored } = settingsFixture({ applications: { 'shop-1': SHOP } });
    const words = [...SHOP_1, '--url', receiver.url, '--environment', 'staging', ...PRIVATE];
    expect(await run('set', words, env('another one'))).toMatchObject({ exitCode: 0 });
    expect(receiver.requests).toMatchObject([{ signatureOk: true }]);
    expect(stored()['applications']).toEqual({
      'shop-1': { ...SHOP, url: receiver.url, environment: 'staging' },
    });
  });

  test.each(['--secret-env', '--secret-file'])('uses the secret of %s', async (option) => {
    const receiver = await openReceiver({ secret: 'the new secret' });
    const { folder, run, stored } = settingsFixture({ applications: { 'shop-1': SHOP } });
    const secretFile = join(folder, 'secret');
    writeFileSync(secretFile, 'the new secret\n');
    const named = [option, option === '--secret-env' ? 'NEW' : secretFile];
    const words = [...SHOP_1, '--url', receiver.url, ...named, ...PRIVATE];
    const environment = { NEW: 'the new secret' };
    expect(await run('set', words, { environment })).toMatchObject({ exitCode: 0 });
    expect(stored()).toMatchObject({ applications: { 'shop-1': { secret: 'the new secret' } } });
  });

  test.each(['there', 'not there'])(
    'saves nothing when the test fails: a file that is %s',
    async (how) => {
      const receiver = await openReceiver({ otherwise: { status: 401 } });
      const before = { applications: { 'shop-1': SHOP }, drafts: { 'shop-1': SHOP } };
      const { file, folder, run, text } = settingsFixture(how === 'there' ? before : undefined);
      const words = [...SHOP_1, '--url', receiver.url, ...PRIVATE];
      const { exitCode, stdout, stderr } = await run('set', words, env(OLD_SECRET));
      expect({ exitCode, stdout }).toEqual({
        exitCode: 1,
        stdout: 'shop-1: not saved; the file is unchanged\n',
      });
      expect(stderr).toMatch(
        /^Not delivered: the receiver answered 401 after .*\.\n.*\nThe receiver rejected the signature/,
      );
      expect(existsSync(file) ? text() : undefined).toBe(
        how === 'there' ? JSON.stringify(before) : undefined,
      );
      expect(readdirSync(folder)).toEqual(how === 'there' ? ['settings.json'] : []);
    },
  );

  test('prints the result as JSON with --json', async () => {
    const receiver = await openReceiver({ otherwise: { status: 503 } });
    const { run } = settingsFixture();
    const words = [...SHOP_1, '--url', receiver.url, ...PRIVATE, '--json'];
    expect(JSON.parse((await run('set', words, env(OLD_SECRET))).stdout)).toEqual({
      application: 'shop-1',
      result: 'test-failed',
      test: {
        ok: false,
        tested: 'draft',
        message_id: expect.any(String) as string,
        status: 503,
        durationMs: expect.any(Number) as number,
        bytes: receiver.requests[0]?.body.length,
        advice: expect.stringContaining('The receiver is overloaded') as string,
      },
    });
  });

  test('saves without a test with --no-test, and warns about it', async () => {
    const { run, stored } = settingsFixture();
    const words = [...SHOP_1, '--url', URL_TEXT, '--no-test'];
    expect(await run('set', words, env(OLD_SECRET))).toEqual(
      outcome(0, 'shop-1: saved\n', 'NOT TESTED: nothing was sent to the URL.\n'),
    );
    expect(stored()).toMatchObject({ applications: { 'shop-1': { url: URL_TEXT } } });
  });

  test('keeps a draft with --draft, which `save` tests and saves', async () => {
    const { file, run, stored } = settingsFixture({ applications: { 'shop-1': SHOP } });
    const receiver = await openReceiver({ secret: 'the new secret of it' });
    const environment = { NEW: 'the new secret of it' };
    const words = [...SHOP_1, '--url', receiver.url, '--draft', '--secret-env', 'NEW'];
    expect(await run('set', words, { environment })).toEqual(
      outcome(
        0,
        'shop-1: kept as a draft; a saved URL stays in use\n' +
          `Once the receiver has the secret, run security-events settings save ${file} --application shop-1\n`,
        HTTP,
      ),
    );
    expect(receiver.requests).toEqual([]);
    const draft = { ...SHOP, url: receiver.url, secret: environment.NEW };
    expect(stored()).toMatchObject({
      applications: { 'shop-1': SHOP },
      drafts: { 'shop-1': { url: draft.url, secret: draft.secret } },
    });
    expect(await run('save', [...SHOP_1, ...PRIVATE])).toMatchObject({
      exitCode: 0,
      stdout: 'shop-1: saved\n',
    });
    expect(stored()).toEqual({ format: 2, applications: { 'shop-1': draft } });
    expect(receiver.requests).toMatchObject([{ signatureOk: true }]);
  });

  test('refuses a new URL that would cancel a planned change of the secret', async () => {
    const nextFrom = '2100-01-01T00:00:00.000Z';
    const secret = { current: OLD_SECRET, next: 'the next one', nextFrom };
    const before = { applications: { 'shop-1': { ...SHOP, secret } } };
    const { run, text } = settingsFixture(before);
    const words = [...SHOP_1, '--url', URL_TEXT, '--no-test'];
    expect(await run('set', words)).toEqual(
      outcome(
        2,
        '',
        `security-events: the secret changes at ${nextFrom}; a new URL would cancel that\n` +
          'Wait until then, or name the secret with --secret-env or --secret-file.\n',
      ),
    );
    expect(text()).toBe(JSON.stringify(before));
  });

  test.each<[string, readonly string[], string]>([
    ['no application', ['--url', URL_TEXT], '--application is missing'],
    ['no URL', SHOP_1, '--url is missing'],
    [
      'no secret',
      [...SHOP_1, '--url', URL_TEXT],
      'no secret given\nSet SECURITY_EVENTS_SECRET, or use --secret-env NAME or --secret-file PATH. `security-events secret` generates one.',
    ],
    [
      'two secrets',
      [...SHOP_1, '--url', URL_TEXT, '--secret-env', 'X', '--secret-file', 'Y'],
      'give --secret-env or --secret-file, not both',
    ],
  ])('exits with 2: %s', async (_what, words, message) => {
    const { file, run } = settingsFixture();
    expect(await run('set', words)).toEqual(outcome(2, '', `security-events: ${message}\n`));
    expect(existsSync(file)).toBe(false);
  });

  test('saves nothing when it is interrupted during the test', async () => {
    const { file, run, text } = settingsFixture({
      applications: {},
      drafts: { 'shop-1': { ...SHOP, url: 'http://127.0.0.1:1' } },
    });
    const before = text();
    const receiver = await openReceiver({
      script: () => {
        terminal.interrupt();
        return { status: 200 };
      },
    });
    const terminal = fakeTerminal({ environment: { SECURITY_EVENTS_SECRET: OLD_SECRET } });
    const words = ['settings', 'set', file, ...SHOP_1, '--url', receiver.url, ...PRIVATE];
    expect(await runCommandLine(words, terminal)).toBe(130);
    expect([receiver.requests.length, text()]).toEqual([1, before]);
    expect((await run('show')).stdout).toContain('draft       http://127.0.0.1:1');
  });
});

describe('settings save', () => {
  const DRAFT = { name: 'shop', environment: '', url: URL_TEXT, secret: OLD_SECRET };

  test('keeps the draft when the test fails', async () => {
    const receiver = await openReceiver({ otherwise: { status: 404 } });
    const before = { applications: {}, drafts: { 'shop-1': { ...DRAFT, url: receiver.url } } };
    const { run, text } = settingsFixture(before);
    const { exitCode, stdout, stderr } = await run('save', [...SHOP_1, ...PRIVATE]);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 1,
      stdout: 'shop-1: not saved; the draft stays\n',
    });
    expect(stderr).toContain('The receiver has no such path');
    expect(text()).toBe(JSON.stringify(before));
  });

  test('sends nothing and exits with 1 without a draft', async () => {
    const { run } = settingsFixture({ applications: { 'shop-1': SHOP } });
    expect(await run('save', SHOP_1)).toEqual(outcome(1, 'shop-1: there is no draft to save\n'));
    expect(await run('save', ['--application', 'constructor', '--json'])).toEqual(
      outcome(1, '{"application":"constructor","result":"no-draft"}\n'),
    );
  });

  test('sends nothing with --no-test, and says so', async () => {
    const { run, stored } = settingsFixture({ applications: {}, drafts: { 'shop-1': DRAFT } });
    expect(await run('save', [...SHOP_1, '--no-test'])).toEqual(
      outcome(0, 'shop-1: saved\n', 'NOT TESTED: nothing was sent to the URL.\n'),
    );
    expect(stored()).toEqual({ format: 2, applications: { 'shop-1': DRAFT } });
  });
});
