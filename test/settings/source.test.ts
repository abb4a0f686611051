import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import type { Settings } from '../../src/settings/schema.ts';
import { createSettings, type SettingsFunction } from '../../src/settings/source.ts';

const URL_TEXT = 'https://receiver.example/hook-hunter2';
const SECRET = 'secret-hunter2';

const FULL = {
  name: 'shop',
  environment: 'production',
  url: URL_TEXT,
  secret: SECRET,
  modules: { waf: true, rasp: false },
  playbooks: { notify: true },
  tls: { ca: ['ca-1', Buffer.from('ca-2')], cert: 'cert', key: Buffer.from('key') },
};

const ENQUEUING = { name: 'shop', environment: '' };

/** Settings as a caller without types may give them. */
const create = (source: unknown) => createSettings(source as Settings);

const one = (application: unknown) => ({ applications: { 'app-1': application } });

function thrown(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

const rejected = (found: unknown): Promise<unknown> =>
  Promise.resolve(found).then(
    () => undefined,
    (error: unknown) => error,
  );

/** How each source takes an application: the result, or the error. */
const SOURCES: readonly [string, (application: unknown) => Promise<unknown>][] = [
  ['an object', async (application) => create(one(application)).find('app-1')],
  ['a function', async (application) => create(() => application).find('app-1')],
  [
    'an asynchronous function',
    async (application) => create(async () => application).find('app-1'),
  ],
];

describe.each(SOURCES)('an application of %s', (_source, find) => {
  test.each<[string, object]>([
    ['everything', FULL],
    ['neither URL nor secret, for an agent that only enqueues', ENQUEUING],
    ['no module selected', { ...ENQUEUING, modules: {}, playbooks: {}, tls: {} }],
    ['neither a name nor an environment', { url: URL_TEXT, secret: SECRET }],
    ['a URL that only the engine judges', { ...ENQUEUING, url: 'ftp://x', secret: ' ' }],
  ])('is found with %s', async (_what, application) => {
    expect(await find(application)).toEqual({ ...application, format: 2 });
  });

  test.each(['name', 'url', 'secret'])('is refused with a cycle as its %s', async (key) => {
    const cycle: Record<string, unknown> = {};
    cycle['itself'] = cycle;
    expect(await rejected(find({ ...FULL, [key]: cycle }))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      issues: [{ message: expect.stringContaining(', found an object') as string }],
    });
  });

  test('keeps a secret function, and does not call it', async () => {
    const secret = vi.fn<() => string>(() => SECRET);
    expect(await find({ ...FULL, secret })).toMatchObject({ secret });
    expect(secret).not.toHaveBeenCalled();
  });

  test('takes a key whose value is undefined for an absent one (D0)', async () => {
    const application = {
      ...ENQUEUING,
      url: undefined,
      secret: undefined,
      modules: undefined,
      tls: { ca: undefined, cert: undefined, key: undefined },
    };
    expect(Object.keys((await find(application)) as object)).toEqual([
      'name',
      'environment',
      'tls',
      'format',
    ]);
  });

  test('has its playbooks by slug, whether names or slugs were given', async () => {
    const playbooks = { 'Block IPs v2.1 - Account Takeover': true, notify_me: false };
    expect(await find({ ...ENQUEUING, playbooks })).toMatchObject({
      playbooks: { 'block_ips_v2.1_account_takeover': true, notify_me: false },
    });
  });

  test.each<[string, object, PropertyKey[], string]>([
    [
      'no name that is a string',
      { ...FULL, environment: null },
      ['environment'],
      'expected a string, found null',
    ],
    ['a name that is none', { ...FULL, name: 7 }, ['name'], 'expected a string, found a number'],
    [
      'a URL without a secret',
      { ...ENQUEUING, url: URL_TEXT },
      ['secret'],
      'expected secret beside url, found nothing',
    ],
    [
      'a secret without a URL',
      { ...ENQUEUING, secret: SECRET },
      ['url'],
      'expected url beside secret, found nothing',
    ],
    [
      'an empty URL',
      { ...FULL, url: '' },
      ['url'],
      'expected a non-empty string, found an empty string',
    ],
    [
      'a URL object',
      { ...FULL, url: new URL(URL_TEXT) },
      ['url'],
      'expected a string, found an object',
    ],
    [
      'an empty secret',
      { ...FULL, secret: '' },
      ['secret'],
      'expected a non-empty string or a function that gives one, found an empty string',
    ],
    [
      'secret bytes',
      { ...FULL, secret: Buffer.from(SECRET) },
      ['secret'],
      'expected a non-empty string or a function that gives one, found an object',
    ],
    [
      'a list of modules',
      { ...FULL, modules: ['waf'] },
      ['modules'],
      'expected an object of modules, each true or false, found an array',
    ],
    [
      'a Map of modules',
      { ...FULL, modules: new Map([['waf', true]]) },
      ['modules'],
      'expected an object of modules, each true or false, found an object',
    ],
    [
      'a module that is yes',
      { ...FULL, modules: { waf: 'yes' } },
      ['modules', 'waf'],
      'expected true or false, found a string',
    ],
    [
      'a playbook that is 1',
      { ...FULL, playbooks: { notify: 1 } },
      ['playbooks', 'notify'],
      'expected true or false, found a number',
    ],
    [
      'a list of playbooks',
      { ...FULL, playbooks: [] },
      ['playbooks'],
      'expected an object of playbooks, each true or false, found an array',
    ],
    [
      'a playbook without a slug',
      { ...FULL, playbooks: { '🚨': true } },
      ['playbooks', '🚨'],
      'expected the name of a playbook to have a letter or a digit',
    ],
    [
      'two names of one playbook',
      { ...FULL, playbooks: { 'Block IPs': true, block_ips: false } },
      ['playbooks', 'block_ips'],
      'expected each playbook once, found another name of the same slug',
    ],
    [
      'a certificate without its key',
      { ...FULL, tls: { cert: 'c' } },
      ['tls', 'key'],
      'expected key beside cert, found nothing',
    ],
    [
      'a key without its certificate',
      { ...FULL, tls: { key: 'k' } },
      ['tls', 'cert'],
      'expected cert beside key, found nothing',
    ],
    [
      'an empty certificate',
      { ...FULL, tls: { cert: '', key: 'k' } },
      ['tls', 'cert'],
      'expected PEM as a string or a Buffer, found an empty string',
    ],
    [
      'a certificate of no bytes',
      { ...FULL, tls: { ca: Buffer.alloc(0) } },
      ['tls', 'ca'],
      'expected PEM as a string or a Buffer, or a non-empty array of them, found an object',
    ],
    [
      'a list of keys',
      { ...FULL, tls: { cert: 'c', key: ['k'] } },
      ['tls', 'key'],
      'expected PEM as a string or a Buffer, found an array',
    ],
    [
      'a list of no CAs',
      { ...FULL, tls: { ca: [] } },
      ['tls', 'ca'],
      'expected PEM as a string or a Buffer, or a non-empty array of them, found an array',
    ],
    [
      'a CA that is none',
      { ...FULL, tls: { ca: ['c', 7] } },
      ['tls', 'ca'],
      'expected PEM as a string or a Buffer, or a non-empty array of them, found an array',
    ],
    [
      'a TLS option that is not offered',
      { ...FULL, tls: { rejectUnauthorized: false } },
      ['tls'],
      'unknown key "rejectUnauthorized"',
    ],
    ['tls that is none', { ...FULL, tls: 'pem' }, ['tls'], 'expected an object, found a string'],
    ['a key that is not known', { ...FULL, active: true }, [], 'unknown key "active"'],
    [
      '`enabled` that is text',
      { ...FULL, enabled: 'yes' },
      ['enabled'],
      'expected true or false, found a string',
    ],
    [
      'a rate of 0',
      { ...FULL, maxRequestsPerSecond: 0 },
      ['maxRequestsPerSecond'],
      'expected a number from 0.001 to 1000000, found 0',
    ],
    [
      'a rate that is text',
      { ...FULL, maxMessagesPerSecond: '5' },
      ['maxMessagesPerSecond'],
      'expected a number from 0.001 to 1000000, found "5"',
    ],
  ])('is refused with %s', async (_what, application, path, message) => {
    const error = await rejected(find(application));
    expect(error).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['settings', 'applications', 'app-1', ...path],
      issues: [{ message }],
    });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
    expect((error as Error).message).toContain(message);
  });

  test.each<[string, unknown, string]>([
    ['text', 'shop', 'a string'],
    ['a list', [FULL], 'an array'],
    ['false', false, 'a boolean'],
  ])('is refused where it is %s', async (_what, application, found) => {
    expect(await rejected(find(application))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['settings', 'applications', 'app-1'],
      issues: [{ message: `expected an object, found ${found}` }],
    });
  });

  test('is refused for a missing URL though its secret is faulty too', async () => {
    expect(await rejected(find({ ...ENQUEUING, secret: 7 }))).toMatchObject({
      issues: [
        { message: expect.stringContaining('found a number') },
        { message: 'expected url beside secret, found nothing' },
      ],
    });
  });

  test('is refused with all its faults at once', async () => {
    const faulty = {
      name: 7,
      environment: 7,
      url: URL_TEXT,
      modules: [],
      playbooks: { '🚨': true },
      tls: { key: 7, ca: 7 },
      active: true,
    };
    const error = await rejected(find(faulty));
    expect((error as SecurityEventError).issues.map(({ path }) => path.slice(3).join('.'))).toEqual(
      [
        'name',
        'environment',
        'modules',
        'playbooks.🚨',
        'tls.ca',
        'tls.key',
        'tls.cert',
        '',
        'secret',
      ],
    );
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
  });

  test('is a typed error where reading it throws, with the cause', async () => {
    const cause = new Error(`cannot read ${SECRET}`);
    const hostile = Object.defineProperty({ ...FULL }, 'name', {
      enumerable: true,
      get: () => {
        throw cause;
      },
    });
    const error = await rejected(find(hostile));
    expect(error).toMatchObject({ code: 'ERR_SETTINGS_FAILED', cause });
    expect((error as Error).message).not.toContain('hunter2');
  });

  test('has what was checked, though a getter says something else the next time', async () => {
    let reads = 0;
    const application = {
      ...ENQUEUING,
      get url() {
        reads += 1;
        return reads === 1 ? URL_TEXT : 'https://other.example';
      },
      secret: SECRET,
    };
    expect(await find(application)).toMatchObject({ url: URL_TEXT });
    expect(reads).toBe(1);
  });

  test('is copied with its certificates: what happens to them later does not count', async () => {
    const application = structuredClone(FULL);
    application.tls.key = Buffer.from('key');
    application.tls.ca = ['ca-1', Buffer.from('ca-2')];
    const found = (await find(application)) as typeof FULL;
    application.tls.key.fill(0);
    (application.tls.ca[1] as Buffer).fill(0);
    application.tls.ca.push('ca-3');
    application.modules.rasp = true;
    application.secret = 'other';
    expect(found).toEqual({ ...FULL, format: 2 });
    expect(Buffer.isBuffer(found.tls.key)).toBe(true);
  });

  test('takes bytes of any kind for a certificate, as a Buffer', async () => {
    const bytes = new TextEncoder().encode('ca');
    const found = (await find({ ...ENQUEUING, tls: { ca: bytes } })) as typeof FULL;
    expect(found.tls.ca).toEqual(Buffer.from('ca'));
  });

  test('may be a row of a database: an instance of a class with keys of its own', async () => {
    class Row {
      readonly name = 'shop';
      readonly environment = '';
    }
    expect(await find(new Row())).toEqual({ ...ENQUEUING, format: 2 });
  });
});

describe('settings in an object', () => {
  test.each([
    [undefined, 2],
    [1, 1],
    [2, 2],
  ] as const)('of format %s have applications of format %s (D60)', async (given, format) => {
    const { find } = create({ ...(given === undefined ? {} : { format: given }), ...one(FULL) });
    expect(await find('app-1')).toMatchObject({ format });
  });

  test('are copied at once: what happens to them later does not count', async () => {
    const settings: { applications: Record<string, object> } = { applications: { a: FULL } };
    const { find } = create(settings);
    settings.applications['b'] = FULL;
    delete settings.applications['a'];
    expect([await find('a'), await find('b')]).toEqual([{ ...FULL, format: 2 }, undefined]);
  });

  test.each(['app-2', '', 'constructor', 'toString', '__proto__', 'APP-1'])(
    'have no application %j that nobody gave',
    async (id) => {
      expect(await create(one(FULL)).find(id)).toBeUndefined();
    },
  );

  test.each(['constructor', 'toString', ''])('may have an application called %j', async (id) => {
    const { find } = create({ applications: { [id]: FULL } });
    expect(await find(id)).toEqual({ ...FULL, format: 2 });
  });

  test.each<[string, unknown, PropertyKey[], string]>([
    ['nothing', undefined, [], 'expected an object, found nothing'],
    ['null', null, [], 'expected an object, found null'],
    ['text', URL_TEXT, [], 'expected an object, found a string'],
    ['a list', [FULL], [], 'expected an object, found an array'],
    [
      'without applications',
      {},
      ['applications'],
      'expected an object of application ids and applications, found nothing',
    ],
    [
      'with a list of applications',
      { applications: [FULL] },
      ['applications'],
      'expected an object of application ids and applications, found an array',
    ],
    [
      'with a Map of applications',
      { applications: new Map() },
      ['applications'],
      'expected an object of application ids and applications, found an object',
    ],
    [
      'of a format that there is not',
      { ...one(FULL), format: 3 },
      ['format'],
      'expected one of 1, 2, found 3',
    ],
    [
      'of a format in words',
      { ...one(FULL), format: '2' },
      ['format'],
      'expected one of 1, 2, found "2"',
    ],
    ['with a key that is not known', { ...one(FULL), url: URL_TEXT }, [], 'unknown key "url"'],
    [
      'with a format of one application',
      one({ ...FULL, format: 1 }),
      ['applications', 'app-1'],
      'unknown key "format"',
    ],
  ])('are refused at once where they are %s', (_what, settings, path, message) => {
    const error = thrown(() => create(settings));
    expect(error).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['settings', ...path],
      issues: [{ path: ['settings', ...path], message }],
    });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
  });

  test('are refused with the faults of all applications', () => {
    const applications = { a: { environment: 7 }, b: FULL, c: { ...FULL, secret: '' } };
    expect(thrown(() => create({ applications, format: 0 }))).toMatchObject({
      issues: [
        { path: ['settings', 'format'] },
        { path: ['settings', 'applications', 'a', 'environment'] },
        { path: ['settings', 'applications', 'c', 'secret'] },
      ],
    });
  });

  test('need the names of format 1, which sends them, and no other', async () => {
    const applications = { a: FULL, b: { name: 'b' }, c: { environment: '' } };
    const of = ['settings', 'applications'];
    expect(thrown(() => create({ applications, format: 1 }))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      issues: [
        {
          path: [...of, 'b', 'environment'],
          message: 'expected environment for format 1, found nothing',
        },
        { path: [...of, 'c', 'name'], message: 'expected name for format 1, found nothing' },
      ],
    });
    expect(await create({ applications }).find('b')).toEqual({ name: 'b', format: 2 });
  });

  test('may be none at all', async () => {
    expect(await create({ applications: {} }).find('app-1')).toBeUndefined();
  });
});

describe('a settings function', () => {
  test('gives the names of an application of format 1', async () => {
    const { find } = create(() => ({ url: URL_TEXT, secret: SECRET, format: 1 }));
    expect(await rejected(find('a'))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      issues: [
        { path: ['settings', 'applications', 'a', 'name'] },
        { path: ['settings', 'applications', 'a', 'environment'] },
      ],
    });
  });

  test('is asked for the application at each call, and not before', async () => {
    const asked: string[] = [];
    const { find } = createSettings((id) => {
      asked.push(id);
      return { ...ENQUEUING, name: `${id} ${asked.length}` };
    });
    expect(asked).toEqual([]);
    expect([(await find('a'))?.name, (await find('a'))?.name]).toEqual(['a 1', 'a 2']);
    expect(asked).toEqual(['a', 'a']);
  });

  test.each([
    [undefined, 2],
    [1, 1],
    [2, 2],
  ] as const)('that answers format %s gives format %s', async (given, format) => {
    const { find } = create(() => ({ ...FULL, format: given }));
    expect(await find('app-1')).toEqual({ ...FULL, format });
  });

  test('may not answer a format that there is not', async () => {
    expect(await rejected(create(() => ({ ...FULL, format: 3 })).find('app-1'))).toMatchObject({
      path: ['settings', 'applications', 'app-1', 'format'],
    });
  });

  test.each([undefined, null])('knows no application where it answers %s', async (answer) => {
    expect(await create(() => answer).find('app-1')).toBeUndefined();
    expect(await create(async () => answer).find('app-1')).toBeUndefined();
  });

  test.each<[string, (cause: Error) => SettingsFunction]>([
    [
      'throws',
      (cause) => () => {
        throw cause;
      },
    ],
    ['rejects', (cause) => () => Promise.reject(cause)],
  ])('that %s gives a typed error with the cause, and is asked again', async (_how, failing) => {
    const cause = new SecurityEventError('ERR_INVALID_OPTION', { detail: SECRET });
    let isFailing = true;
    const { find } = createSettings((id) => (isFailing ? failing(cause)(id) : ENQUEUING));
    const error = await rejected(find('app-1'));
    expect(error).toMatchObject({
      name: 'SecurityEventError',
      code: 'ERR_SETTINGS_FAILED',
      kind: 'environment',
      path: ['settings', 'applications', 'app-1'],
      cause,
    });
    expect((error as Error).message).toBe(
      'The settings could not be read. See `cause`: the settings function failed, or the settings file is missing or invalid.',
    );
    isFailing = false;
    expect(await find('app-1')).toEqual({ ...ENQUEUING, format: 2 });
  });
});
