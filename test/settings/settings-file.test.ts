import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  mkdirSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import {
  type SettingsFile,
  type SettingsFileOptions,
  settingsFile,
} from '../../src/settings/settings-file.ts';
import { createSettings } from '../../src/settings/source.ts';
import { createCertificate, createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { rejectingListener } from '../helpers/promises.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-files.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const SECRET = 'secret-hunter2';
const LARGEST = 16 * 1024 * 1024;
const SHOP = {
  name: 'shop',
  environment: 'production',
  url: 'https://receiver.example/hook-hunter2',
  secret: SECRET,
};

const CROSSED = { cert: createCertificate().cert, key: createCertificate().key };

const shopWith = (change: object): string =>
  JSON.stringify({ applications: { shop: { ...SHOP, ...change } } });

const shop = (name: string): string => shopWith({ name });

function fileOf(text: string): string {
  return temporaryFile(text, 'settings.json');
}

interface Watched {
  readonly settings: SettingsFile;
  readonly clock: FakeClock;
  readonly onFailed: ReturnType<typeof vi.fn<(error: SecurityEventError) => void>>;
  readonly reported: readonly unknown[];
  /** Runs checks of the file. Default 1. */
  readonly look: (times?: number) => Promise<void>;
  readonly name: () => string | undefined;
}

function watch(path: string, options: SettingsFileOptions = {}): Watched {
  const clock = createFakeClock();
  const onFailed = vi.fn<(error: SecurityEventError) => void>();
  const reported: unknown[] = [];
  const listeners = ['settings-loaded', 'settings-failed'].map((name) => {
    const channel = `security-event-delivery:${name}`;
    const listener = (event: unknown): void => {
      if ((event as { file?: string }).file === path) reported.push([name, event]);
    };
    subscribe(channel, listener);
    return () => unsubscribe(channel, listener);
  });
  const settings = settingsFile(path, { onFailed, ...options }, clock);
  onTestFinished(() => {
    settings.close();
    for (const takeOff of listeners) takeOff();
  });
  const look = async (times = 1): Promise<void> => {
    for (let check = 0; check < times; check += 1) {
      await clock.advance(options.pollMs ?? 1000);
      while (clock.pending === 0) await nextTurn();
    }
  };
  return { settings, clock, onFailed, reported, look, name: () => settings('shop')?.name };
}

const loaded = (file: string, applicationCount = 1) => [
  'settings-loaded',
  { file, applicationCount },
];
const failed = (file: string) => [
  'settings-failed',
  { source: 'file', file, code: 'ERR_SETTINGS_FAILED', isKept: true },
];

describe('a settings file', () => {
  test('is read at once', () => {
    const { settings } = watch(fileOf(JSON.stringify({ format: 1, applications: { shop: SHOP } })));
    const { secret, ...rest } = settings('shop') ?? {};
    expect(rest).toEqual({ name: 'shop', environment: 'production', url: SHOP.url, format: 1 });
    expect((secret as () => string)()).toBe(SECRET);
    expect([settings('other'), settings('constructor'), settings('__proto__')]).toEqual(
      Array.from({ length: 3 }),
    );
  });

  test('stays the same after process.chdir, and is reported by the given path', async () => {
    const path = fileOf(shop('old'));
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(dirname(path));
    onTestFinished(() => cwd.mockRestore());
    const { settings, name, reported } = watch('settings.json');
    cwd.mockRestore();
    writeFileSync(path, shop('new'));
    await settings.reload();
    unlinkSync(path);
    await settings.reload().catch(() => {});
    expect([name(), reported]).toEqual(['new', [loaded('settings.json'), failed('settings.json')]]);
  });

  test('may begin with a byte order mark', () => {
    expect(watch(fileOf(`\uFEFF${shop('marked')}`)).name()).toBe('marked');
  });

  test.each<[string, string, string, readonly PropertyKey[]]>([
    ['no JSON', '{ "applications": hunter2 }', 'expected JSON. ', []],
    ['a fault', '{\n "hunter2": 1 "b" }', 'expected JSON; the error is in line 2, column 15. ', []],
    ['half JSON', '{ "applications": 1', 'expected JSON; the error is in line 1, column 20. ', []],
    ['nothing', '', 'expected JSON; the text ends too early. ', []],
    [
      'a secret of another kind',
      shopWith({ secret: ['hunter2'] }),
      'applications.shop.secret: expected a non-empty string or { current, next, nextFrom }, with nextFrom in ISO 8601, found an array',
      ['applications', 'shop', 'secret'],
    ],
    [
      'a URL without its secret',
      shopWith({ secret: undefined }),
      'applications.shop.secret: expected secret beside url, found nothing',
      ['applications', 'shop', 'secret'],
    ],
    [
      'a key of another certificate',
      shopWith({ tls: CROSSED }),
      'applications.shop.tls.key: expected the private key of cert, found another. ',
      ['applications', 'shop', 'tls', 'key'],
    ],
    ...['ftp://hunter2.example/', 'https://user:hunter2@receiver.example/', '/hunter2', ''].map(
      (url): [string, string, string, string[]] => [
        `the URL ${url}`,
        shopWith({ url }),
        'applications.shop.url: expected an absolute http or https URL without credentials. ',
        ['applications', 'shop', 'url'],
      ],
    ),
  ])('is refused with %s, and is not quoted', (_what, text, says, path) => {
    const error = thrownBy(() => watch(fileOf(text)));
    expect(error).toBeInstanceOf(SecurityEventError);
    expect(error).toMatchObject({ code: 'ERR_SETTINGS_FAILED', path });
    expect((error as Error).message).toContain(`settings.json: ${says}`);
    expect((error as Error).cause).toBeUndefined();
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain('hunter2');
  });

  test.each<[string, (path: string) => void, RegExp]>([
    ['is missing', (path) => unlinkSync(path), /ENOENT/],
    [
      'is a folder',
      (path) => {
        unlinkSync(path);
        mkdirSync(path);
      },
      /it is not a file/,
    ],
    ['is too large', (path) => truncateSync(path, LARGEST + 1), /larger than 16777216/],
    [
      'is not UTF-8',
      (path) => writeFileSync(path, Buffer.from('caf\u00e9', 'latin1')),
      /it is not UTF-8/,
    ],
  ])('that %s is refused at start, with the cause', (_what, spoil, cause) => {
    const path = fileOf(shop('shop'));
    spoil(path);
    const error = thrownBy(() => settingsFile(path));
    expect(error).toMatchObject({ code: 'ERR_SETTINGS_FAILED' });
    expect(error.message).toContain(`${path}: the file could not be read`);
    expect((error.cause as Error).message).toMatch(cause);
  });

  test.each<[string, unknown, unknown, readonly string[]]>([
    ['no path', '', {}, ['path']],
    ['a pollMs below 10', 'x', { pollMs: 9 }, ['pollMs']],
    ['a secretOf that is no function', 'x', { secretOf: 'x' }, ['secretOf']],
    ['an onFailed that is no function', 'x', { onFailed: {} }, ['onFailed']],
  ])('refuses %s', (_what, path, options, at) => {
    expect(
      thrownBy(() => settingsFile(path as string, options as SettingsFileOptions)),
    ).toMatchObject({ code: 'ERR_INVALID_OPTION', path: at });
  });
});

/** How editors, programs and orchestrators change files. */
const WAYS: readonly [string, (path: string, text: string) => void][] = [
  [
    'replaced by a rename',
    (path, text) => {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    },
  ],
  [
    'overwritten with the same size and age',
    (path, text) => {
      writeFileSync(path, text);
      utimesSync(path, 1, 1);
    },
  ],
];

describe('a changed file', () => {
  test.each(WAYS)('is used after one check when it was %s', async (_way, write) => {
    const path = fileOf(shop('old1'));
    utimesSync(path, 1, 1);
    const { look, name, reported, onFailed } = watch(path);
    await look();
    write(path, shop('new1'));
    expect(name()).toBe('old1');
    await look();
    expect(name()).toBe('new1');
    await look();
    expect(reported).toEqual([loaded(path)]);
    expect(onFailed).not.toHaveBeenCalled();
  });

  test('is used when a link in its path was swapped, as by Kubernetes', async () => {
    const mount = temporaryFolder();
    for (const version of ['v1', 'v2']) {
      mkdirSync(join(mount, version));
      writeFileSync(join(mount, version, 'settings.json'), shop(version));
    }
    symlinkSync('v1', join(mount, '..data'));
    symlinkSync('..data/settings.json', join(mount, 'settings.json'));
    const { look, name } = watch(join(mount, 'settings.json'));
    await look(2);
    expect(name()).toBe('v1');
    symlinkSync('v2', join(mount, '..data_tmp'));
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'));
    await look();
    expect(name()).toBe('v2');
  });

  test('is found within a second, or pollMs', async () => {
    const path = fileOf(shop('old'));
    const everySecond = watch(path);
    const often = watch(path, { pollMs: 10 });
    expect([everySecond.clock.nextTimerInMs, often.clock.nextTimerInMs]).toEqual([1000, 10]);
    writeFileSync(path, shop('new'));
    await often.look();
    expect([everySecond.name(), often.name()]).toEqual(['old', 'new']);
  });

  test('of the largest size is not used if it changes while it is read', async () => {
    const path = fileOf(shop('old'));
    const { settings, name } = watch(path);
    writeFileSync(path, shop('new').padEnd(LARGEST));
    const over = new AbortController();
    const reloading = settings.reload().finally(() => over.abort());
    const end = reloading.catch((error: SecurityEventError) => error.cause);
    for (let second = 1; !over.signal.aborted; second += 1) {
      utimesSync(path, second, second);
      await nextTurn();
    }
    expect(await end).toEqual(new Error('it was written to while it was read'));
    expect(name()).toBe('old');
    await settings.reload();
    expect(name()).toBe('new');
  });

  test('with the same bytes is not reported', async () => {
    const path = fileOf(shop('same'));
    const { look, reported } = watch(path);
    await look();
    writeFileSync(path, shop('same'));
    await look(2);
    expect(reported).toEqual([]);
  });

  test('is ignored after close', async () => {
    const path = fileOf(shop('old'));
    const { settings, clock, name } = watch(path);
    settings[Symbol.dispose]();
    writeFileSync(path, shop('new'));
    await clock.advance(5000);
    expect(clock.pending).toBe(0);
    expect(name()).toBe('old');
  });
});

/** Faults of a file. */
const FAULTS: readonly [string, (path: string) => void][] = [
  ['broken', (path) => writeFileSync(path, '{ "applications": { "hunter2')],
  ['gone', (path) => unlinkSync(path)],
  [
    'wrong in a URL',
    (path) => writeFileSync(path, shopWith({ url: 'ftp://receiver.example/hunter2' })),
  ],
];

describe.each(FAULTS)('a file that is %s', (_what, spoil) => {
  test('keeps the last settings in use, and is reported once, at the second check', async () => {
    const path = fileOf(shop('good'));
    const { look, name, reported, onFailed } = watch(path);
    spoil(path);
    await look();
    expect([reported, name()]).toEqual([[], 'good']);
    await look(3);
    expect([reported, name()]).toEqual([[failed(path)], 'good']);
    expect(onFailed.mock.calls).toEqual([[expect.any(SecurityEventError)]]);
    expect(
      inspect([reported, onFailed.mock.calls], { depth: Infinity, showHidden: true }),
    ).not.toContain('hunter2');
  });

  test('at one check only is not reported', async () => {
    const path = fileOf(shop('good'));
    const { look, name, reported } = watch(path);
    await look();
    spoil(path);
    await look();
    writeFileSync(path, shop('good'));
    await look(2);
    expect([reported, name()]).toEqual([[], 'good']);
  });

  test.each(['good', 'better'])('is reported when it is usable again (%s)', async (again) => {
    const path = fileOf(shop('good'));
    const { look, name, reported } = watch(path);
    spoil(path);
    await look(2);
    writeFileSync(path, shop(again));
    await look();
    expect(name()).toBe(again);
    spoil(path);
    await look(2);
    expect(reported).toEqual([failed(path), loaded(path), failed(path)]);
  });

  test('makes reload reject, and is reported at once', async () => {
    const path = fileOf(shop('good'));
    const { settings, name, reported, onFailed, look } = watch(path);
    spoil(path);
    const error: unknown = await settings.reload().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ERR_SETTINGS_FAILED' });
    expect([name(), reported]).toEqual(['good', [failed(path)]]);
    await look(2);
    expect(onFailed.mock.calls).toEqual([[error]]);
  });
});

describe('other faults', () => {
  test('are each reported', async () => {
    const path = fileOf(shop('good'));
    const { look, reported } = watch(path);
    for (const [, spoil] of FAULTS) {
      spoil(path);
      await look(2);
    }
    expect(reported).toEqual(FAULTS.map(() => failed(path)));
  });

  test('may occur while onFailed rejects', async () => {
    const path = fileOf(shop('good'));
    const { listen: onFailed, caught } = rejectingListener();
    const { settings } = watch(path, { onFailed });
    unlinkSync(path);
    await expect(settings.reload()).rejects.toMatchObject({ code: 'ERR_SETTINGS_FAILED' });
    expect(caught()).toBe(1);
  });

  test('may occur while onFailed throws', async () => {
    const path = fileOf(shop('good'));
    const onFailed = vi.fn<() => void>(() => {
      throw new Error('of the host');
    });
    const { settings, look, name } = watch(path, { onFailed });
    unlinkSync(path);
    await look(2);
    writeFileSync(path, shop('again'));
    await settings.reload();
    expect([onFailed.mock.calls.length, name()]).toEqual([1, 'again']);
  });
});

const tooDeep = (): string => {
  const depth = 200_000;
  const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`;
  return `{ "applications": { "shop": { "name": ${nested}, "environment": "" } } }`;
};

test('settings that are nested too deep keep the last settings in use', async () => {
  const path = fileOf(shop('good'));
  const { settings, look, name, reported } = watch(path);
  writeFileSync(path, tooDeep());
  // Node 26 parses it, and the schema refuses it; older ones run out of stack.
  const failure = { name: 'SecurityEventError', code: 'ERR_SETTINGS_FAILED' };
  await expect(settings.reload()).rejects.toMatchObject(failure);
  await look();
  expect([name(), reported]).toEqual(['good', [failed(path)]]);
});

test('an invalid text is validated once', async () => {
  const path = fileOf(shop('good'));
  const { settings, name } = watch(path);
  const reason = (): Promise<unknown> => settings.reload().catch((error: unknown) => error);
  writeFileSync(path, '{}');
  const first = await reason();
  expect(first).toBeInstanceOf(SecurityEventError);
  for (let look = 0; look < 3; look += 1) expect(await reason()).toBe(first);
  writeFileSync(path, '[]');
  expect(await reason()).not.toBe(first);
  writeFileSync(path, shop('better'));
  await settings.reload();
  expect(name()).toBe('better');
  writeFileSync(path, '[]');
  expect(await reason()).toMatchObject({ code: 'ERR_SETTINGS_FAILED' });
});

test('reload checks again for each call, one after the other', async () => {
  const path = fileOf(shop('old'));
  const { settings, name } = watch(path);
  const first = settings.reload();
  writeFileSync(path, shop('new'));
  await Promise.all([first, settings.reload()]);
  expect(name()).toBe('new');
});

test('an older check does not undo a newer one', async () => {
  const path = fileOf(shop('first'));
  // Real time: thousands of applications are validated in slices.
  const settings = settingsFile(path, {}, systemClock);
  onTestFinished(() => settings.close());
  const others = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`id-${at}`, SHOP]));
  const large = { ...others, shop: { ...SHOP, name: 'large' } };
  writeFileSync(path, JSON.stringify({ applications: large }));
  const older = settings.reload();
  // The file has been read, and its applications are being validated.
  for (let turns = 0; turns < 10; turns += 1) await nextTurn();
  writeFileSync(path, shop('newest'));
  await Promise.allSettled([older, settings.reload()]);
  expect(settings('shop')?.name).toBe('newest');
});

describe('secrets', () => {
  test('change at their time, since they are read before each attempt', () => {
    const secret = { current: 'before', next: 'after', nextFrom: '2026-11-21T11:00:00+01:00' };
    const path = fileOf(shopWith({ secret }));
    const { settings, clock } = watch(path);
    const ask = settings('shop')?.secret as () => string;
    clock.setWallClock(Date.UTC(2026, 10, 21, 9, 59, 59, 999));
    expect(ask()).toBe('before');
    clock.setWallClock(Date.UTC(2026, 10, 21, 10));
    expect(ask()).toBe('after');
  });

  test('may be elsewhere: secretOf returns those that are not in the file', async () => {
    const applications = {
      shop: { ...SHOP, secret: undefined },
      blog: SHOP,
      agent: { name: 'agent', environment: '' },
    };
    const path = fileOf(JSON.stringify({ applications }));
    const secretOf = vi.fn<(id: string) => Promise<string>>(async (id) => `vault of ${id}`);
    const { settings } = watch(path, { secretOf });
    const ask = async (id: string) => (settings(id) as { secret: () => unknown }).secret();
    expect([await ask('shop'), await ask('blog')]).toEqual(['vault of shop', SECRET]);
    expect(secretOf.mock.calls).toEqual([['shop']]);
    expect(settings('agent')?.secret).toBeUndefined();
  });

  test('need a URL, also with secretOf', () => {
    const path = fileOf(shopWith({ url: undefined }));
    expect(thrownBy(() => watch(path, { secretOf: () => '' }))).toMatchObject({
      path: ['applications', 'shop', 'url'],
    });
  });

  test('are not shown by inspect and JSON', () => {
    const secret = { current: SECRET, next: `${SECRET}-next`, nextFrom: '2026-11-21T10:00:00Z' };
    const drafts = { shop: { ...SHOP } };
    const path = fileOf(
      JSON.stringify({ applications: { shop: SHOP, blog: { ...SHOP, secret } }, drafts }),
    );
    const { settings } = watch(path);
    const shown = {
      settings,
      nested: [{ settings }],
      applications: [settings('shop'), settings('blog')],
    };
    for (const text of [
      inspect(shown, { depth: Infinity, showHidden: true, getters: true }),
      JSON.stringify(shown),
      String(settings),
    ]) {
      expect(text).not.toContain(SECRET);
    }
  });
});

test('a sender does not validate the settings again', async () => {
  const { settings } = watch(fileOf(shop('shop')));
  const { find } = createSettings(settings);
  expect(await find('shop')).toBe(settings('shop'));
  expect(await find('other')).toBeUndefined();
});

test('faults are reported outside the request', async () => {
  const requests = new AsyncLocalStorage<string>();
  const stores: unknown[] = [];
  const path = fileOf(shop('shop'));
  await requests.run('a request', async () => {
    const { settings } = watch(path, { onFailed: () => stores.push(requests.getStore()) });
    unlinkSync(path);
    await settings.reload().catch(() => stores.push(requests.getStore()));
  });
  expect(stores).toEqual([undefined, 'a request']);
});
