import { statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Configuration, SettingsStore } from '../../src/configure/configuration.ts';
import {
  createConfiguration,
  StoredConfiguration,
} from '../../src/configure/create-configuration.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

const URL_TEXT = 'https://receiver.example/hook';
const OTHER_URL = 'https://other.example/hook';
const SAVED_SECRET = 'saved-hunter2-saved-hunter2';
const SAVED = { name: 'shop', environment: 'production', url: URL_TEXT, secret: SAVED_SECRET };
/** The first secrets that are made. */
const NEW_1 = 'new-1-hunter2-hunter2';
const NEW_2 = 'new-2-hunter2-hunter2';
const HOUR_MS = 3_600_000;

interface StoredSettings {
  readonly applications: Readonly<Record<string, { readonly secret?: unknown }>>;
  readonly drafts?: Readonly<Record<string, object>>;
}

interface Kept {
  readonly configuration: Configuration;
  readonly clock: ReturnType<typeof createFakeClock>;
  /** The stored settings. */
  readonly stored: () => StoredSettings;
  readonly writes: () => number;
}

/** Creates a configuration with a store in memory. New secrets are `new-1-…`, `new-2-…` */
function keep(settings?: unknown): Kept {
  let text = settings === undefined ? undefined : JSON.stringify(settings);
  let writes = 0;
  let secrets = 0;
  const store: SettingsStore = {
    read: () => Promise.resolve(text),
    async update(change) {
      const after = change(text);
      if (after !== text) writes += 1;
      text = after;
    },
  };
  const clock = createFakeClock();
  const newSecret = (): string => {
    secrets += 1;
    return `new-${secrets}-hunter2-hunter2`;
  };
  return {
    configuration: new StoredConfiguration(store, {}, { clock, newSecret }),
    clock,
    stored: () => JSON.parse(text ?? 'null') as StoredSettings,
    writes: () => writes,
  };
}

const withShop = (change: object = {}) => ({
  format: 2,
  applications: { shop: { ...SAVED, ...change } },
});

const SELECTIONS = [
  ['modules', 'selectModules'],
  ['playbooks', 'selectPlaybooks'],
] as const;

describe('setWebhook', () => {
  test('makes a draft with a new secret, and saves nothing', async () => {
    const { configuration, stored } = keep();
    expect(await configuration.setWebhook('shop', URL_TEXT)).toEqual({
      secret: NEW_1,
      warnings: [],
    });
    expect(stored()).toEqual({
      format: 2,
      applications: {},
      drafts: { shop: { name: 'shop', environment: '', url: URL_TEXT, secret: NEW_1 } },
    });
  });

  test('does not change the saved destination', async () => {
    const { configuration, stored } = keep(withShop({ modules: { waf: true } }));
    await configuration.setWebhook('shop', OTHER_URL);
    expect(stored().applications).toEqual({ shop: { ...SAVED, modules: { waf: true } } });
    expect(stored().drafts).toEqual({ shop: { ...SAVED, url: OTHER_URL, secret: NEW_1 } });
  });

  test('takes a secret, a name and an environment', async () => {
    const { configuration, stored } = keep();
    const choice = { secret: 'given-hunter2-given', name: 'The shop', environment: 'staging' };
    expect(await configuration.setWebhook('shop', URL_TEXT, choice)).toEqual({
      secret: choice.secret,
      warnings: [],
    });
    expect(stored().drafts).toEqual({ shop: { ...choice, url: URL_TEXT } });
  });

  test('replaces an earlier draft, with the same names', async () => {
    const { configuration, stored } = keep();
    await configuration.setWebhook('shop', URL_TEXT, { name: 'The shop', environment: 'staging' });
    await configuration.setWebhook('shop', OTHER_URL);
    expect(stored().drafts).toEqual({
      shop: { name: 'The shop', environment: 'staging', url: OTHER_URL, secret: NEW_2 },
    });
  });

  test.each<[string, string, string | undefined, readonly string[]]>([
    ['plain http', 'http://receiver.example/', undefined, ['plain-http']],
    ['a short secret', URL_TEXT, 'x'.repeat(15), ['short-secret']],
    ['a secret of 16 bytes', URL_TEXT, 'é'.repeat(8), []],
    ['a secret with a line end', URL_TEXT, `${'x'.repeat(16)}\n`, ['space-around-secret']],
    ['all', 'http://a.example/', ' x', ['plain-http', 'short-secret', 'space-around-secret']],
  ])('accepts %s, and warns', async (_what, url, secret, warnings) => {
    const { configuration, stored } = keep();
    const choice = secret === undefined ? {} : { secret };
    expect(await configuration.setWebhook('shop', url, choice)).toMatchObject({ warnings });
    expect(stored().drafts?.['shop']).toMatchObject({ url });
  });
});

describe('secretOf', () => {
  const NEXT = { current: 'now', next: 'then', nextFrom: '2026-11-21T12:00:00.000Z' };
  const drafts = { shop: { ...SAVED, secret: 'of the draft' } };

  test.each<[string, object, object | undefined, string | undefined]>([
    ['what is saved', withShop(), undefined, SAVED_SECRET],
    ['the draft first', { ...withShop(), drafts }, undefined, 'of the draft'],
    ['the draft alone', { applications: {}, drafts }, undefined, 'of the draft'],
    ['what is saved beside a draft', { ...withShop(), drafts }, { of: 'current' }, SAVED_SECRET],
    ['the draft by name', { ...withShop(), drafts }, { of: 'draft' }, 'of the draft'],
    ['no draft', withShop(), { of: 'draft' }, undefined],
    ['nothing saved beside a draft', { applications: {}, drafts }, { of: 'current' }, undefined],
    ['nothing to come', withShop(), { of: 'next' }, undefined],
    ['the next', withShop({ secret: NEXT }), { of: 'next' }, 'then'],
    ['the one before it', withShop({ secret: NEXT }), undefined, 'now'],
    [
      'undefined for an agent without secret',
      withShop({ secret: undefined, url: undefined }),
      undefined,
      undefined,
    ],
  ])('returns %s', async (_what, settings, choice, expected) => {
    const { configuration } = keep(settings);
    expect(await configuration.secretOf('shop', choice)).toBe(expected);
  });

  test('returns the next secret as the current one from its time on', async () => {
    const { configuration, clock } = keep(withShop({ secret: NEXT }));
    await clock.advanceTo(Date.parse(NEXT.nextFrom));
    expect(await configuration.secretOf('shop')).toBe('then');
    expect(await configuration.secretOf('shop', { of: 'next' })).toBeUndefined();
  });
});

describe('save', () => {
  test('makes the draft the destination, and keeps the selections', async () => {
    const tls = { ca: '-----BEGIN CERTIFICATE-----' };
    const { configuration, stored } = keep(
      withShop({ modules: { waf: true }, playbooks: { notify: false }, tls }),
    );
    await configuration.setWebhook('shop', OTHER_URL, { name: 'The shop' });
    expect(await configuration.save('shop')).toBe(true);
    expect(stored()).toEqual(
      withShop({
        name: 'The shop',
        url: OTHER_URL,
        secret: NEW_1,
        modules: { waf: true },
        playbooks: { notify: false },
        tls,
      }),
    );
  });

  test('creates an application, and keeps other drafts', async () => {
    const { configuration, stored } = keep();
    await configuration.setWebhook('shop', URL_TEXT);
    await configuration.setWebhook('constructor', OTHER_URL);
    await configuration.save('constructor');
    expect(Object.keys(stored().applications)).toEqual(['constructor']);
    expect(Object.keys(stored().drafts ?? {})).toEqual(['shop']);
  });

  test('cancels a planned secret', async () => {
    const { configuration, stored } = keep(withShop());
    await configuration.rotateSecret('shop');
    await configuration.setWebhook('shop', OTHER_URL, { secret: 'given' });
    await configuration.save('shop');
    expect(stored().applications['shop']?.secret).toBe('given');
  });

  test('and discard return false and write nothing without a draft', async () => {
    const { configuration, writes } = keep(withShop());
    expect([await configuration.save('shop'), await configuration.discard('shop')]).toEqual([
      false,
      false,
    ]);
    expect(writes()).toBe(0);
  });
});

test('discard keeps the saved destination', async () => {
  const { configuration, stored } = keep(withShop());
  await configuration.setWebhook('shop', OTHER_URL);
  expect(await configuration.discard('shop')).toBe(true);
  expect(stored()).toEqual(withShop());
});

describe('remove', () => {
  test.each<[string, object, object]>([
    ['what is saved', withShop(), { format: 2, applications: {} }],
    [
      'a draft alone',
      { applications: {}, drafts: { shop: SAVED } },
      { format: 2, applications: {} },
    ],
    [
      'both, and keeps the others',
      {
        format: 1,
        applications: { ...withShop({ modules: { waf: true } }).applications, blog: SAVED },
        drafts: { blog: SAVED, shop: SAVED },
      },
      { format: 1, applications: { blog: SAVED }, drafts: { blog: SAVED } },
    ],
  ])('removes %s', async (_what, before, after) => {
    const { configuration, stored } = keep(before);
    expect(await configuration.remove('shop')).toBe(true);
    expect(stored()).toEqual(after);
  });

  test.each(['blog', 'constructor'])('that is unknown (%s) changes nothing', async (id) => {
    const { configuration, writes } = keep(withShop());
    expect([await configuration.remove(id), writes()]).toEqual([false, 0]);
  });
});

describe.each(SELECTIONS)('selecting %s', (key, method) => {
  test('changes only the named ones', async () => {
    const { configuration, stored } = keep(withShop());
    await configuration[method]('shop', { waf: true, rasp: true });
    await configuration[method]('shop', { rasp: false });
    expect(stored()).toEqual(withShop({ [key]: { waf: true, rasp: false } }));
  });

  test('removes the selection with `all`, so that all send', async () => {
    const { configuration, stored } = keep(withShop({ [key]: { waf: false } }));
    await configuration[method]('shop', 'all');
    expect(stored()).toEqual(withShop());
  });

  test('with an empty object selects none', async () => {
    const { configuration, stored } = keep(withShop());
    await configuration[method]('shop', {});
    expect(stored()).toEqual(withShop({ [key]: {} }));
  });
});

test('modules are selected by exact names', async () => {
  const { configuration, stored } = keep(withShop());
  await configuration.selectModules('shop', { waf: true, WAF: false, '!?': true });
  expect(stored()).toEqual(withShop({ modules: { waf: true, WAF: false, '!?': true } }));
});

test('playbooks are selected by name or slug', async () => {
  const { configuration, stored } = keep(withShop());
  await configuration.selectPlaybooks('shop', { 'Block IPs': true });
  await configuration.selectPlaybooks('shop', { block_ips: false });
  expect(stored()).toEqual(withShop({ playbooks: { block_ips: false } }));
});

describe('rotateSecret', () => {
  test('keeps the current secret for another day', async () => {
    const { configuration, stored, clock } = keep(withShop());
    const from = new Date(clock.now() + 24 * HOUR_MS);
    expect(await configuration.rotateSecret('shop')).toEqual({ secret: NEW_1, from, warnings: [] });
    expect(stored().applications['shop']?.secret).toEqual({
      current: SAVED_SECRET,
      next: NEW_1,
      nextFrom: from.toISOString(),
    });
  });

  test('takes a time and a secret', async () => {
    const { configuration, stored, clock } = keep(withShop());
    const from = new Date(clock.now() + 1);
    expect(await configuration.rotateSecret('shop', { from, secret: 'given' })).toEqual({
      secret: 'given',
      from,
      warnings: ['short-secret'],
    });
    expect(stored().applications['shop']?.secret).toMatchObject({ next: 'given' });
  });

  test.each([0, -1])('takes effect at once if its time is now or past (%i)', async (inMs) => {
    const { configuration, stored, clock } = keep(withShop());
    await configuration.rotateSecret('shop', { from: new Date(clock.now() + inMs) });
    expect(stored().applications['shop']?.secret).toBe(NEW_1);
  });

  test('takes its time as text, too', async () => {
    const options = { from: '9999-01-01T02:00:00+02:00' };
    const { from } = await keep(withShop()).configuration.rotateSecret('shop', options);
    expect(from).toEqual(new Date('9999-01-01T00:00:00Z'));
  });

  test.each([
    ['replaces a planned secret', 23, SAVED_SECRET],
    ['starts from the secret that signs now', 24, NEW_1],
  ])('%s', async (_what, hours, current) => {
    const { configuration, stored, clock } = keep(withShop());
    await configuration.rotateSecret('shop');
    await clock.advance(hours * HOUR_MS);
    await configuration.rotateSecret('shop');
    expect(stored().applications['shop']?.secret).toMatchObject({ current, next: NEW_2 });
  });

  test('accepts the last time that can be stored', async () => {
    const { configuration } = keep(withShop());
    const from = new Date('9999-12-31T23:59:59.999Z');
    await configuration.rotateSecret('shop', { from });
    const { applications } = await configuration.describe();
    expect(applications['shop']?.nextSecretFrom).toBe(from.toISOString());
  });

  test('reads the current secret when it writes, after waiting for other writers', async () => {
    const clock = createFakeClock();
    const secret = {
      current: 'before',
      next: 'between',
      nextFrom: new Date(clock.now() + 1).toISOString(),
    };
    let text = JSON.stringify(withShop({ secret }));
    const store: SettingsStore = {
      read: async () => text,
      update: async (change) => {
        await clock.advance(1);
        text = change(text) ?? text;
      },
    };
    const configuration = new StoredConfiguration(store, {}, { clock, newSecret: () => 'after' });
    await configuration.rotateSecret('shop');
    expect(await configuration.secretOf('shop')).toBe('between');
  });
});

type Call = (configuration: Configuration) => Promise<unknown>;

const set =
  (url: string, choice: object, id: unknown = 'shop'): Call =>
  (configuration) =>
    configuration.setWebhook(id as string, url, choice);
const rotate =
  (options: object, id = 'shop'): Call =>
  (configuration) =>
    configuration.rotateSecret(id, options);

const select =
  (key: 'modules' | 'playbooks', selection: unknown, id = 'shop'): Call =>
  (configuration) =>
    configuration[key === 'modules' ? 'selectModules' : 'selectPlaybooks'](id, selection as 'all');

const unknownId = ['ERR_UNKNOWN_APPLICATION', ['applicationId']] as const;
const wrongId = ['ERR_INVALID_OPTION', ['applicationId']] as const;
const wrong = (...path: readonly string[]) => ['ERR_INVALID_OPTION', path] as const;

describe('a call is refused, and writes nothing:', () => {
  const settings = {
    applications: { ...withShop().applications, agent: { name: 'agent' } },
    drafts: { blog: SAVED },
  };

  test.each<[string, Call, string, readonly string[]]>([
    ['credentials', set('https://a:hunter2@b.example/', {}), 'ERR_INVALID_URL', ['url']],
    ['an empty secret', set(URL_TEXT, { secret: '' }), 'ERR_INVALID_SECRET', ['secret']],
    ['a secret of bytes', set(URL_TEXT, { secret: [7] }), 'ERR_INVALID_SECRET', ['secret']],
    ['a number as id', set(URL_TEXT, {}, 7), ...wrongId],
    ['__proto__ as id', set(URL_TEXT, {}, '__proto__'), ...wrongId],
    ['a number as name', set(URL_TEXT, { name: 7 }), ...wrong('name')],
    ['an unknown key', set(URL_TEXT, { secert: 'x' }), ...wrong('secert')],
    ['the secret of nobody', (given) => given.secretOf('constructor'), ...unknownId],
    ['another secret', (given) => given.secretOf('shop', { of: 'last' as 'next' }), ...wrong('of')],
    ['to save an empty id', (given) => given.save(''), ...wrongId],
    ['to save __proto__', (given) => given.save('__proto__'), ...wrongId],
    ['to remove an empty id', (given) => given.remove(''), ...wrongId],
    ['to test nobody', (given) => given.test('other'), ...unknownId],
    ['playbooks of no letter', select('playbooks', { '!?': true }), ...wrong('playbooks', '!?')],
    [
      'a playbook twice',
      select('playbooks', { 'Block IPs': true, block_ips: false }),
      ...wrong('playbooks', 'block_ips'),
    ],
    ...SELECTIONS.flatMap(([key]): [string, Call, string, readonly string[]][] => [
      [`no ${key}`, select(key, undefined), ...wrong(key)],
      [`null as ${key}`, select(key, null), ...wrong(key)],
      [`text as ${key}`, select(key, 'some'), ...wrong(key)],
      [`a list as ${key}`, select(key, ['waf']), ...wrong(key)],
      // It has no keys, and would select none.
      [`a Map as ${key}`, select(key, new Map([['waf', true]])), ...wrong(key)],
      [`a number in ${key}`, select(key, { waf: 1 }), ...wrong(key, 'waf')],
      [`__proto__ in ${key}`, select(key, { ['__proto__']: true }), ...wrong(key, '__proto__')],
      [`${key} of a draft`, select(key, {}, 'blog'), ...unknownId],
      [`${key} of nobody`, select(key, {}, 'constructor'), ...unknownId],
    ]),
    ['a time too far', rotate({ from: new Date(Date.UTC(10_000)) }), ...wrong('from')],
    ['no date', rotate({ from: 'tomorrow' }), ...wrong('from')],
    ['a time of no place', rotate({ from: '9999-01-01T02:00' }), ...wrong('from')],
    ['a date of no time', rotate({ from: new Date(NaN) }), ...wrong('from')],
    ['an empty next secret', rotate({ secret: '' }), 'ERR_INVALID_SECRET', ['secret']],
    ['to rotate a draft', rotate({}, 'blog'), ...unknownId],
    ['to rotate no secret', rotate({}, 'agent'), ...unknownId],
  ])('%s', async (_what, call, code, path) => {
    const { configuration, writes } = keep(settings);
    const error: unknown = await call(configuration).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, path });
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter2');
    expect(writes()).toBe(0);
  });
});

test('upgradeFormat upgrades once, for the whole organisation', async () => {
  const { configuration, stored, writes } = keep({ ...withShop(), format: 1 });
  expect([await configuration.upgradeFormat(), await configuration.upgradeFormat()]).toEqual([
    true,
    false,
  ]);
  expect([stored(), writes()]).toEqual([withShop(), 1]);
});

describe('the description', () => {
  test('returns names, URLs and selections, but no secrets', async () => {
    const { configuration, clock } = keep({
      ...withShop({ modules: { waf: true }, playbooks: { Notify: true } }),
      format: 1,
    });
    await configuration.rotateSecret('shop');
    await configuration.setWebhook('shop', OTHER_URL);
    await configuration.setWebhook('blog', 'http://blog.example/', { environment: 'staging' });
    const described = await configuration.describe();
    expect(described).toEqual({
      format: 1,
      applications: {
        blog: {
          name: 'blog',
          environment: 'staging',
          draftUrl: 'http://blog.example/',
          isSaved: false,
        },
        shop: {
          name: 'shop',
          environment: 'production',
          url: URL_TEXT,
          modules: { waf: true },
          playbooks: { notify: true },
          nextSecretFrom: new Date(clock.now() + 24 * HOUR_MS).toISOString(),
          draftUrl: OTHER_URL,
          isSaved: true,
        },
      },
    });
    expect(JSON.stringify(described)).not.toContain('hunter2');
    await clock.advance(24 * HOUR_MS);
    expect((await configuration.describe()).applications['shop']).not.toHaveProperty(
      'nextSecretFrom',
    );
  });

  test('omits a missing name, URL and selections', async () => {
    const { configuration } = keep({ applications: { agent: {} } });
    const { applications } = await configuration.describe();
    expect(applications).toStrictEqual({ agent: { isSaved: true } });
  });

  test('has no applications if nothing was written', async () => {
    expect(await keep().configuration.describe()).toEqual({ format: 2, applications: {} });
  });
});

describe('stored settings', () => {
  test.each<[string, unknown, readonly string[]]>([
    ['an unknown key', { ...withShop(), organization: 'hunter2' }, []],
    [
      'a draft of no secret',
      { ...withShop(), drafts: { shop: { ...SAVED, secret: '' } } },
      ['drafts', 'shop', 'secret'],
    ],
    ['a URL without a secret', withShop({ secret: undefined }), ['applications', 'shop', 'secret']],
  ])('with %s are not changed, and the error contains no secret', async (_what, settings, path) => {
    const { configuration, writes } = keep(settings);
    for (const work of [configuration.describe(), configuration.upgradeFormat()]) {
      const error: unknown = await work.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'ERR_SETTINGS_FAILED', issues: [{ path }] });
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter2');
    }
    expect(writes()).toBe(0);
  });

  test('in a store that fails cause an error with that cause', async () => {
    const cause = new Error('the database is down');
    const store: SettingsStore = {
      read: () => Promise.reject(cause),
      update: () => Promise.reject(cause),
    };
    const configuration = createConfiguration({ store });
    const expected = { code: 'ERR_CONFIGURATION_FAILED', cause };
    await expect(configuration.describe()).rejects.toMatchObject(expected);
    await expect(configuration.save('shop')).rejects.toMatchObject(expected);
  });

  test('in a store that never calls `change` cause an error', async () => {
    const store: SettingsStore = { read: async () => undefined, update: async () => {} };
    await expect(createConfiguration({ store }).upgradeFormat()).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION_FAILED',
      message: expect.stringContaining('the store did not call change') as string,
    });
  });

  test('may be changed by others meanwhile: the last call of `change` counts', async () => {
    const texts = [{ ...withShop(), format: 1 }, withShop()].map((one) => JSON.stringify(one));
    const store: SettingsStore = {
      read: async () => undefined,
      update: async (change) => {
        for (const text of texts) change(text);
      },
    };
    expect(await createConfiguration({ store }).upgradeFormat()).toBe(false);
  });
});

describe('a configuration', () => {
  test.each<[string, object, string]>([
    ['neither a file nor a store', {}, 'file'],
    ['both', { file: 'x', store: { read() {}, update() {} } }, 'file'],
    ['an empty path', { file: '' }, 'file'],
    ['half a store', { store: { read() {} } }, 'store'],
    ['the other half', { store: { update() {} } }, 'store'],
    ['an unknown key', { file: 'x', secret: 'x' }, 'secret'],
    ['a network for tests that is none', { file: 'x', network: 'privat' }, 'network'],
    ['a deadline for tests that is none', { file: 'x', deadlineMs: 'soon' }, 'deadlineMs'],
    ['a dispatcher that is not in charge', { file: 'x', dispatcher: {} }, 'dispatcher'],
  ])('refuses %s', (_what, options, path) => {
    expect(() => createConfiguration(options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [path] }),
    );
  });

  test('shows no secret when inspected or serialised', async () => {
    const { configuration } = keep(withShop());
    await configuration.setWebhook('shop', OTHER_URL);
    const shown = { nested: [{ configuration }] };
    expect(inspect(shown, { depth: Infinity, showHidden: true, getters: true })).not.toMatch(
      /hunter2|receiver|other/,
    );
    expect(JSON.stringify(shown)).toBe('{"nested":[{"configuration":{}}]}');
  });

  test('makes secrets of 64 hex digits, and a file that only its owner can read', async () => {
    const file = join(temporaryFolder(), 'settings.json');
    const configuration = createConfiguration({ file });
    const { secret } = await configuration.setWebhook('shop', URL_TEXT);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    await configuration.save('shop');
    expect(await createConfiguration({ file }).secretOf('shop')).toBe(secret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
