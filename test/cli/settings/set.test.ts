import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { openReceiver } from '../../helpers/sender.ts';
import { temporaryFile } from '../../helpers/temporary-files.ts';
import { fakeTerminal, outcome, runCommand } from '../../helpers/terminal.ts';
import { OLD_SECRET, PRIVATE, SHOP, SHOP_1, settingsFixture, URL_TEXT } from './settings-files.ts';

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
    expect(statSync(file).mode & 0o777).toBe(0o600);
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

  test('uses the secret of --secret-file', async () => {
    const { run, stored } = settingsFixture({ applications: { 'shop-1': SHOP } });
    const file = temporaryFile('the new secret\n');
    const words = [...SHOP_1, '--url', URL_TEXT, '--no-test', '--secret-file', file];
    expect(await run('set', words)).toMatchObject({ exitCode: 0 });
    expect(stored()).toMatchObject({ applications: { 'shop-1': { secret: 'the new secret' } } });
  });

  test('saves nothing when the test fails, and says why', async () => {
    const receiver = await openReceiver({ otherwise: { status: 401 } });
    const before = { applications: { 'shop-1': SHOP }, drafts: { 'shop-1': SHOP } };
    const { run, text } = settingsFixture(before);
    const words = [...SHOP_1, '--url', receiver.url, ...PRIVATE];
    const { exitCode, stdout, stderr } = await run('set', words, env(OLD_SECRET));
    expect([exitCode, stdout]).toEqual([1, 'shop-1: not saved; the file is unchanged\n']);
    expect(stderr).toMatch(
      /^Not delivered: the receiver answered 401 after .*\.\n.*\nThe receiver rejected the signature/,
    );
    expect(text()).toBe(JSON.stringify(before));
  });

  test('creates no file when the test fails, and prints why as JSON with --json', async () => {
    const receiver = await openReceiver({ otherwise: { status: 503 } });
    const { folder, run } = settingsFixture();
    const words = [...SHOP_1, '--url', receiver.url, ...PRIVATE, '--json'];
    const { stdout } = await run('set', words, env(OLD_SECRET));
    expect(JSON.parse(stdout)).toMatchObject({
      application: 'shop-1',
      result: 'test-failed',
      test: { ok: false, tested: 'draft', status: 503, bytes: receiver.requests[0]?.body.length },
    });
    expect(readdirSync(folder)).toEqual([]);
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
      drafts: { 'shop-1': draft },
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
    ['no application', ['--url', URL_TEXT], '--application is missing\n'],
    ['no URL', SHOP_1, '--url is missing\n'],
    ['no secret', [...SHOP_1, '--url', URL_TEXT], 'no secret given\n'],
    [
      'two secrets',
      [...SHOP_1, '--url', URL_TEXT, '--secret-env', 'X', '--secret-file', 'Y'],
      'give --secret-env or --secret-file, not both\n',
    ],
  ])('exits with 2: %s', async (_what, words, message) => {
    const { file, run } = settingsFixture();
    const { exitCode, stderr } = await run('set', words);
    expect([exitCode, stderr.slice(0, 17 + message.length)]).toEqual([
      2,
      `security-events: ${message}`,
    ]);
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
    expect([exitCode, stdout]).toEqual([1, 'shop-1: not saved; the draft stays\n']);
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
