/** Commands that change nothing: show, check, test. */
import { chmodSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openReceiver } from '../../helpers/sender.ts';
import { outcome } from '../../helpers/terminal.ts';
import { OLD_SECRET, PRIVATE, SHOP, SHOP_1, settingsFixture, URL_TEXT } from './settings-files.ts';

const NEXT = {
  current: OLD_SECRET,
  next: 'hunter2 is next, too',
  nextFrom: '2100-01-01T00:00:00Z',
};

const MANY = {
  format: 1,
  applications: {
    'shop-1': {
      ...SHOP,
      secret: NEXT,
      modules: { waf: true, rasp: false },
      playbooks: {},
      tls: { ca: '-----BEGIN ca', cert: '-----BEGIN cert', key: '-----BEGIN hunter2 key' },
    },
    'agent-1': { name: 'agent\u001b[2J', environment: '' },
  },
  drafts: {
    'shop-1': { ...SHOP, url: 'https://draft.example/' },
    'new-1': { ...SHOP, url: 'https://new.example/' },
  },
};

describe('settings show', () => {
  test('prints everything except secrets, and escapes control characters', async () => {
    const { run } = settingsFixture(MANY);
    expect(await run('show')).toEqual(
      outcome(
        0,
        `format 1

shop-1
  name        shop
  environment production
  url         ${URL_TEXT}
  draft       https://draft.example/
  next secret from 2100-01-01T00:00:00Z
  modules     waf=on, rasp=off
  playbooks   none

new-1
  name        shop
  environment production
  url         not saved yet
  draft       https://new.example/

agent-1
  name        agent\\u001b[2J
  environment
  url         none: sends nothing
  modules     all
  playbooks   all
`,
      ),
    );
  });

  test('prints one application with --application, as JSON with --json', async () => {
    const { run } = settingsFixture(MANY);
    const { stdout } = await run('show', ['--application', 'new-1', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      format: 1,
      applications: {
        'new-1': {
          name: 'shop',
          environment: 'production',
          draftUrl: 'https://new.example/',
          isSaved: false,
        },
      },
    });
    expect(await run('show', ['--application', 'constructor'])).toEqual(
      outcome(1, 'format 1\n', 'There is no application constructor.\n'),
    );
  });
});

describe('settings check', () => {
  test('prints every error with its path and without its value', async () => {
    const { file, run } = settingsFixture({
      format: 3,
      applications: {
        'shop-1': { name: 7, environment: '', url: 'x', modules: { waf: 'hunter2' } },
      },
      extra: 'hunter2',
    });
    const { exitCode, stdout, stderr } = await run('check');
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/: \d errors\n$/)]);
    expect(stdout).toContain(`${file}: format: `);
    expect(stdout).not.toContain('hunter2');
    const applications = { 'shop-1': { name: 7, environment: '', url: 'x' } };
    const inner = settingsFixture({ applications });
    const found = (await inner.run('check')).stdout.split('\n').map((line) => line.split(': ')[1]);
    expect(found).toEqual(['applications.shop-1.name', 'applications.shop-1.secret', undefined]);
  });

  test('judges URLs, secrets and drafts before anything is sent', async () => {
    const { file, run } = settingsFixture({
      applications: {
        'shop-1': { ...SHOP, url: 'ftp://hunter2.example' },
        'blog-1': { ...SHOP, url: 'http://blog.example', secret: { ...NEXT, current: ' x' } },
      },
      drafts: { 'new-1': { ...SHOP, url: 'https://a:hunter2@new.example' } },
    });
    const { exitCode, stdout, stderr } = await run('check');
    expect([exitCode, stderr]).toEqual([1, `${file}: 2 errors\n`]);
    expect(stdout.split('\n').map((line) => line.split(': ').slice(1, 3))).toEqual([
      ['applications.shop-1.url', 'expected an absolute http or https URL without credentials'],
      ['drafts.new-1.url', 'The webhook URL is not usable'],
      ['applications.blog-1', 'plain-http'],
      ['applications.blog-1', 'short-secret'],
      ['applications.blog-1', 'space-around-secret'],
      [],
    ]);
    expect(stdout).not.toContain('hunter2');
  });

  test('prints errors and warnings as JSON with --json', async () => {
    const { run } = settingsFixture({ applications: { 'shop-1': { ...SHOP, secret: 'short' } } });
    expect(JSON.parse((await run('check', ['--json'])).stdout)).toEqual({
      isValid: true,
      applications: 1,
      errors: [],
      warnings: [{ path: ['applications', 'shop-1'], warning: 'short-secret' }],
    });
    const broken = settingsFixture('{"applications":{"shop-1":{"secret":"hunter2"');
    const { exitCode, stdout } = await broken.run('check', ['--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ isValid: false, errors: [{ path: [] }] });
    expect(stdout).not.toContain('hunter2');
  });

  test.skipIf(process.platform === 'win32')('warns of a file that others may read', async () => {
    const { file, run } = settingsFixture({ applications: { 'shop-1': SHOP } });
    chmodSync(file, 0o640);
    expect(await run('check', [])).toEqual(
      outcome(
        0,
        `${file}: readable-by-others: The file contains secrets, and other users can read it. Run chmod 600.\n`,
        `${file}: valid, 1 application with a URL\n`,
      ),
    );
  });
  test('names faults of applications and of drafts together', async () => {
    const broken = { 'shop-1': { ...SHOP, name: 7 } };
    const { file, run } = settingsFixture({ applications: broken, drafts: broken });
    const { stdout, stderr } = await run('check');
    expect(stderr).toBe(`${file}: 2 errors\n`);
    expect(stdout.split('\n').map((line) => line.split(': ')[1])).toEqual([
      'applications.shop-1.name',
      'drafts.shop-1.name',
      undefined,
    ]);
  });
});

describe('settings test', () => {
  test('sends one signed message to the draft, or else to the saved URL', async () => {
    const [there, draft] = [await openReceiver({ secret: OLD_SECRET }), await openReceiver()];
    const saved = { applications: { 'shop-1': { ...SHOP, url: there.url } } };
    const { run } = settingsFixture(saved);
    const { exitCode, stdout, stderr } = await run('test', [...SHOP_1, ...PRIVATE]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
    expect(stderr).toMatch(
      /^Delivered: the receiver answered 200 after .*\.\nTest message \S+, \d+ bytes\.\n$/,
    );
    expect(there.requests).toMatchObject([{ signatureOk: true }]);
    const both = settingsFixture({ ...saved, drafts: { 'shop-1': { ...SHOP, url: draft.url } } });
    const json = await both.run('test', [...SHOP_1, ...PRIVATE, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      application: 'shop-1',
      ok: true,
      tested: 'draft',
      status: 200,
      bytes: draft.requests[0]?.body.length,
    });
    expect([there.requests.length, draft.requests.length]).toEqual([1, 1]);
  });

  test('writes the aliases of format 1 on request', async () => {
    const receiver = await openReceiver();
    const applications = { 'shop-1': { ...SHOP, url: receiver.url } };
    const { run } = settingsFixture({ format: 1, applications });
    for (const words of [['--v1-aliases'], []]) {
      expect(await run('test', [...SHOP_1, ...PRIVATE, ...words])).toMatchObject({ exitCode: 0 });
    }
    const risks = receiver.requests.map(({ body }) => String(body).includes('"risk":50'));
    expect(risks).toEqual([true, false]);
  });

  test('names --network after it refused a private address', async () => {
    const { url, connectionCount } = await openReceiver();
    const { run } = settingsFixture({ applications: { 'shop-1': { ...SHOP, url } } });
    const { exitCode, stderr } = await run('test', SHOP_1);
    expect([exitCode, connectionCount]).toEqual([1, 0]);
    expect(stderr).toMatch(
      /^Not delivered: no answer from the receiver\.\n.*\n.*\nUse --network allow-private to reach private addresses\. The sender needs the same option\.\n$/,
    );
  });
});
