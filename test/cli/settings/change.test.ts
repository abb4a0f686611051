/** Commands that change one thing of a settings file: rotate, select, format, remove. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../src/testing/index.ts';
import { runCommand } from '../../helpers/terminal.ts';
import { modeOf, OLD_SECRET, SHOP, settingsFixture } from './settings-files.ts';

const SHOP_1 = ['--application', 'shop-1'] as const;
const SAVED = { format: 2, applications: { 'shop-1': SHOP } } as const;
const withShop = (change: object) => ({
  ...SAVED,
  applications: { 'shop-1': { ...SHOP, ...change } },
});
const env = { environment: { NEXT: 'the next secret' } };
const NEXT = [...SHOP_1, '--secret-env', 'NEXT'] as const;

describe('settings rotate', () => {
  test.each<[string, readonly string[], string]>([
    ['a moment', ['--from', '2100-01-01T08:00:00+01:00'], '2100-01-01T07:00:00.000Z'],
    ['a day', ['--from', '2100-01-02'], '2100-01-02T00:00:00.000Z'],
    ['a time from now', ['--in', '36h'], '2099-06-02T12:00:00.000Z'],
  ])('gives the new secret %s, until which the old one signs', async (_what, when, nextFrom) => {
    const { run, stored } = settingsFixture(SAVED);
    const clock = createFakeClock(Date.UTC(2099, 5, 1));
    expect(await run('rotate', [...NEXT, ...when], { ...env, clock })).toEqual({
      exitCode: 0,
      stdout: `shop-1: the new secret signs from ${nextFrom}\n`,
      stderr: 'short-secret: The secret has fewer than 16 bytes and can be guessed.\n',
    });
    expect(stored()).toEqual(
      withShop({ secret: { current: OLD_SECRET, next: 'the next secret', nextFrom } }),
    );
  });

  test('gives a day of notice where nothing is said', async () => {
    const { run, stored } = settingsFixture(SAVED);
    const before = Date.now();
    expect(await run('rotate', NEXT, env)).toMatchObject({ exitCode: 0 });
    const { applications } = stored() as {
      applications: { 'shop-1': { secret: { nextFrom: string } } };
    };
    const noticeMs = Date.parse(applications['shop-1'].secret.nextFrom) - before;
    expect(noticeMs).toBeGreaterThanOrEqual(86_400_000);
    expect(noticeMs).toBeLessThan(86_400_000 + 60_000);
  });

  test('changes it at once with --in 0', async () => {
    const { run, stored } = settingsFixture(SAVED);
    expect(await run('rotate', [...NEXT, '--in', '0'], env)).toMatchObject({ exitCode: 0 });
    expect(stored()).toEqual(withShop({ secret: 'the next secret' }));
  });

  test('makes one, in a file for its owner alone, which is not printed', async () => {
    const { folder, run, stored } = settingsFixture(SAVED);
    const out = join(folder, 'next.secret');
    const words = [...SHOP_1, '--secret-out', out, '--in', '0'];
    const { exitCode, stdout, stderr } = await run('rotate', words);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: `The secret is in ${out}. Give it to the receiver.\n`,
    });
    const secret = readFileSync(out, 'utf8').trim();
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(stdout).not.toContain(secret);
    expect(modeOf(out)).toBe(0o600);
    expect(stored()).toEqual(withShop({ secret }));
  });

  test('prints one where that is asked for, to programs too', async () => {
    const { run, stored } = settingsFixture(SAVED);
    const { stdout } = await run('rotate', [...SHOP_1, '--show-secret', '--in', '0']);
    const [secret, rest] = stdout.split('\n');
    expect(stored()).toEqual(withShop({ secret }));
    expect(rest).toMatch(/^shop-1: the new secret signs from /);
    const from = ['--from', '2100-01-01'];
    const json = await run('rotate', [...SHOP_1, '--show-secret', '--json', ...from]);
    expect(JSON.parse(json.stdout)).toEqual({
      application: 'shop-1',
      from: '2100-01-01T00:00:00.000Z',
      secret: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  test('keeps no secret that it made for an application that is unknown', async () => {
    const { folder, file, run, text } = settingsFixture(SAVED);
    const words = ['--application', 'blog-1', '--secret-out', join(folder, 'next.secret')];
    expect(await run('rotate', words)).toEqual({
      exitCode: 2,
      stdout: '',
      stderr:
        `security-events: ${file} has no such application, or it has no URL and secret\n` +
        `Run security-events settings show ${file}\n`,
    });
    expect(readdirSync(folder)).toEqual(['settings.json']);
    expect(text()).toBe(JSON.stringify(SAVED));
  });

  test.each<[string, readonly string[], string]>([
    ['two times', [...NEXT, '--from', '2100-01-01', '--in', '1h'], 'give --from or --in, not both'],
    [
      'no secret',
      [...SHOP_1],
      'no new secret given\nGenerate one with --secret-out PATH, or use --secret-env or --secret-file.',
    ],
    [
      'a time without its zone',
      [...NEXT, '--from', '2100-01-01T08:00'],
      '--from needs a day or a time with its zone, such as 2026-11-22 or 2026-11-22T08:00:00Z',
    ],
    ['no application', ['--show-secret'], '--application is missing'],
    ['an empty application', ['--application=', '--show-secret'], '--application is missing'],
  ])('with %s is a wrong use', async (_what, words, message) => {
    const { run, text } = settingsFixture(SAVED);
    // The usual variable is no new secret: it may well be the old one.
    const environment = { ...env.environment, SECURITY_EVENTS_SECRET: OLD_SECRET };
    expect(await run('rotate', words, { environment })).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `security-events: ${message}\n`,
    });
    expect(text()).toBe(JSON.stringify(SAVED));
  });
});

describe('settings select', () => {
  test('switches modules and playbooks, and leaves what is not named', async () => {
    const { run, stored } = settingsFixture(withShop({ modules: { waf: false, rasp: true } }));
    const words = ['--module', 'waf=on', '--module', 'a=b=off', '--playbook', 'Block IPs=off'];
    expect(await run('select', [...SHOP_1, ...words])).toEqual({
      exitCode: 0,
      stdout: 'shop-1: selection saved\n',
      stderr: '',
    });
    const modules = { waf: true, rasp: true, 'a=b': false };
    expect(stored()).toEqual(withShop({ modules, playbooks: { block_ips: false } }));
    await run('select', [...SHOP_1, '--all-modules']);
    expect(stored()).toEqual(withShop({ playbooks: { block_ips: false } }));
    await run('select', [...SHOP_1, '--all-playbooks']);
    expect(stored()).toEqual(SAVED);
  });

  test.each<[string, readonly string[], string]>([
    [
      'nothing',
      [],
      'nothing selected\nGive --module, --playbook, --all-modules or --all-playbooks.',
    ],
    ['no state', ['--module', 'waf'], '--module needs NAME=on or NAME=off'],
    ['no name', ['--playbook', '=on'], '--playbook needs NAME=on or NAME=off'],
    [
      'all and one',
      ['--all-modules', '--module', 'waf=on'],
      'give --module or --all-modules, not both',
    ],
  ])('with %s is a wrong use', async (_what, words, message) => {
    const { run } = settingsFixture(SAVED);
    expect(await run('select', [...SHOP_1, ...words])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `security-events: ${message}\n`,
    });
  });
});

test('settings format upgrades the organisation, once', async () => {
  const { run, stored } = settingsFixture({ ...SAVED, format: 1 });
  expect(await run('format')).toEqual({
    exitCode: 0,
    stdout: 'upgraded from format 1 to format 2\n',
    stderr: '',
  });
  expect(stored()).toEqual(SAVED);
  expect(await run('format')).toEqual({ exitCode: 0, stdout: 'already format 2\n', stderr: '' });
});

describe('settings remove', () => {
  const BOTH = { ...SAVED, drafts: { 'shop-1': SHOP } };

  test('takes an application and its draft away, once', async () => {
    const { run, stored } = settingsFixture(BOTH);
    expect(await run('remove', SHOP_1)).toEqual({
      exitCode: 0,
      stdout: 'shop-1: application removed\n',
      stderr: '',
    });
    expect(stored()).toEqual({ format: 2, applications: {} });
    expect(await run('remove', SHOP_1)).toEqual({
      exitCode: 1,
      stdout: 'shop-1: there is no application\n',
      stderr: '',
    });
  });

  test('with --draft leaves what is saved', async () => {
    const { run, stored } = settingsFixture(BOTH);
    expect(await run('remove', [...SHOP_1, '--draft', '--json'])).toEqual({
      exitCode: 0,
      stdout: '{"application":"shop-1","isRemoved":true}\n',
      stderr: '',
    });
    expect(stored()).toEqual(SAVED);
    expect(await run('remove', [...SHOP_1, '--draft'])).toMatchObject({
      exitCode: 1,
      stdout: 'shop-1: there is no draft\n',
    });
  });
});

describe('a file that is not there, or is none', () => {
  const COMMANDS: readonly (readonly [string, readonly string[]])[] = [
    ['show', []],
    ['test', SHOP_1],
    ['save', SHOP_1],
    ['rotate', [...SHOP_1, '--show-secret']],
    ['select', [...SHOP_1, '--all-modules']],
    ['format', []],
    ['remove', SHOP_1],
  ];

  test.each(COMMANDS)('is an outage for %s, and is not made', async (word, words) => {
    const { file, run } = settingsFixture();
    expect(await run(word, words)).toEqual({
      exitCode: 3,
      stdout: '',
      stderr: `security-events: ${file}: no such file or directory\n`,
    });
    expect(existsSync(file)).toBe(false);
  });

  test.each(COMMANDS)('is not touched by %s, and none of it is told', async (word, words) => {
    const broken = '{"applications":{"shop-1":{"secret":"hunter2"';
    const { file, run, text } = settingsFixture(broken);
    expect(await run(word, words)).toEqual({
      exitCode: 3,
      stdout: '',
      stderr:
        `security-events: ${file} is not a valid settings file\n` +
        `Run security-events settings check ${file}\n`,
    });
    expect(text()).toBe(broken);
  });

  test('is told by what the system says of it', async () => {
    const { folder } = settingsFixture();
    const { exitCode, stderr } = await runCommand(['settings', 'show', folder]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 3,
      stderr: `security-events: ${folder}: is a directory\n`,
    });
  });
});
