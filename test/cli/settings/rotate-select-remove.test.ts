/** Commands that change one thing of a settings file: rotate, select, format, remove. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../src/testing/index.ts';
import { outcome, runCommand } from '../../helpers/terminal.ts';
import { OLD_SECRET, SHOP, SHOP_1, settingsFixture } from './settings-files.ts';

const SAVED = { format: 2, applications: { 'shop-1': SHOP } } as const;
const withShop = (change: object) => ({
  ...SAVED,
  applications: { 'shop-1': { ...SHOP, ...change } },
});
const env = { environment: { NEXT: 'the next secret' } };
const NEXT = [...SHOP_1, '--secret-env', 'NEXT'] as const;

describe('settings rotate', () => {
  test('stores the new secret with the time from which it signs', async () => {
    const { run, stored } = settingsFixture(SAVED);
    const clock = createFakeClock(Date.UTC(2099, 5, 1));
    const nextFrom = '2099-06-02T12:00:00.000Z';
    expect(await run('rotate', [...NEXT, '--in', '36h'], { ...env, clock })).toEqual(
      outcome(
        0,
        `shop-1: the new secret signs from ${nextFrom}\n`,
        'short-secret: The secret has fewer than 16 bytes and can be guessed.\n',
      ),
    );
    const secret = { current: OLD_SECRET, next: 'the next secret', nextFrom };
    expect(stored()).toEqual(withShop({ secret }));
    const { stdout } = await run('rotate', [...NEXT, '--json'], { ...env, clock });
    expect(JSON.parse(stdout)).toEqual({ application: 'shop-1', from: '2099-06-02T00:00:00.000Z' });
  });

  test('replaces the secret at once with --in 0', async () => {
    const { run, stored } = settingsFixture(SAVED);
    expect(await run('rotate', [...NEXT, '--in', '0'], env)).toMatchObject({ exitCode: 0 });
    expect(stored()).toEqual(withShop({ secret: 'the next secret' }));
  });

  test('exits with 1 when the application is unknown', async () => {
    const { file, run, text } = settingsFixture(SAVED);
    const words = ['--application', 'blog-1', '--secret-env', 'NEXT'];
    expect(await run('rotate', words, env)).toEqual(
      outcome(
        1,
        '',
        `security-events: the application is not in ${file}, or has no URL and secret there\n` +
          `Run security-events settings show ${file}\n`,
      ),
    );
    expect(text()).toBe(JSON.stringify(SAVED));
  });

  test('does not use the usual variable: it may hold the old secret', async () => {
    const { run, text } = settingsFixture(SAVED);
    const { exitCode, stderr } = await run('rotate', SHOP_1, {
      environment: { SECURITY_EVENTS_SECRET: OLD_SECRET },
    });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^security-events: no new secret given\nUse --secret-env or /);
    expect(text()).toBe(JSON.stringify(SAVED));
  });
});

describe('settings select', () => {
  test('switches the named modules and playbooks, and keeps the others', async () => {
    const { run, stored } = settingsFixture(withShop({ modules: { waf: false, rasp: true } }));
    const words = ['--module', 'waf=on', '--module', 'a=b=off', '--playbook', 'Block IPs=off'];
    expect(await run('select', [...SHOP_1, ...words])).toEqual(
      outcome(0, 'shop-1: selection saved\n'),
    );
    const modules = { waf: true, rasp: true, 'a=b': false };
    expect(stored()).toEqual(withShop({ modules, playbooks: { block_ips: false } }));
    await run('select', [...SHOP_1, '--all-modules']);
    expect(stored()).toEqual(withShop({ playbooks: { block_ips: false } }));
    await run('select', [...SHOP_1, '--all-playbooks']);
    expect(stored()).toEqual(SAVED);
  });
});

test.each([
  ['rotate', '--application= --secret-env NEXT', '--application is missing'],
  ['select', '', 'nothing selected\nGive --module, --playbook, --all-modules or --all-playbooks.'],
  ['select', '--module waf', '--module needs NAME=on or NAME=off'],
  ['select', '--playbook =on', '--playbook needs NAME=on or NAME=off'],
  ['select', '--all-modules --module waf=on', 'give --module or --all-modules, not both'],
])('settings %s %s exits with 2: %s', async (word, words, message) => {
  const { run } = settingsFixture(SAVED);
  const given = [...SHOP_1, ...words.split(' ').filter(Boolean)];
  expect(await run(word, given, env)).toEqual(outcome(2, '', `security-events: ${message}\n`));
});

test('settings format upgrades the organisation, once', async () => {
  const { run, stored } = settingsFixture({ ...SAVED, format: 1 });
  expect(await run('format')).toEqual(outcome(0, 'upgraded from format 1 to format 2\n'));
  expect(stored()).toEqual(SAVED);
  expect(await run('format')).toEqual(outcome(0, 'already format 2\n'));
});

describe('settings remove', () => {
  const BOTH = { ...SAVED, drafts: { 'shop-1': SHOP } };

  test('removes an application and its draft, once', async () => {
    const { run, stored } = settingsFixture(BOTH);
    expect(await run('remove', SHOP_1)).toEqual(outcome(0, 'shop-1: application removed\n'));
    expect(stored()).toEqual({ format: 2, applications: {} });
    expect(await run('remove', SHOP_1)).toEqual(outcome(1, 'shop-1: there is no application\n'));
  });

  test('keeps the saved URL with --draft', async () => {
    const { run, stored } = settingsFixture(BOTH);
    expect(await run('remove', [...SHOP_1, '--draft', '--json'])).toEqual(
      outcome(0, '{"application":"shop-1","isRemoved":true}\n'),
    );
    expect(stored()).toEqual(SAVED);
    expect(await run('remove', [...SHOP_1, '--draft'])).toMatchObject({
      exitCode: 1,
      stdout: 'shop-1: there is no draft\n',
    });
  });
});

describe('a missing or invalid file', () => {
  const COMMANDS: readonly (readonly [string, readonly string[]])[] = [
    ['show', []],
    ['rotate', NEXT],
  ];

  test.each([...COMMANDS, ['check', []]] as const)(
    'makes %s exit with 3, and is not created',
    async (word, words) => {
      const { file, run } = settingsFixture();
      expect(await run(word, words, env)).toEqual(
        outcome(3, '', `security-events: ${file}: no such file or directory\n`),
      );
      expect(existsSync(file)).toBe(false);
    },
  );

  test.each(COMMANDS)('is neither changed nor quoted by %s', async (word, words) => {
    const broken = '{"applications":{"shop-1":{"secret":"hunter2"';
    const { file, run, text } = settingsFixture(broken);
    expect(await run(word, words, env)).toEqual(
      outcome(
        3,
        '',
        `security-events: ${file} is not a valid settings file\n` +
          `Run security-events settings check ${file}\n`,
      ),
    );
    expect(text()).toBe(broken);
  });

  test('is described by the error of the system', async () => {
    const { folder } = settingsFixture();
    expect(await runCommand(['settings', 'show', folder])).toEqual(
      outcome(3, '', `security-events: ${folder}: is a directory\n`),
    );
  });
});
