import { createPrivateKey } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import type { Settings } from '../../src/settings/schema.ts';
import { createSettings, type SettingsFunction } from '../../src/settings/source.ts';
import { createCertificate } from '../../src/testing/index.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const URL_TEXT = 'https://receiver.example/hook-hunter2';
const SECRET = 'secret-hunter2';
const { cert: PEM, key: KEY } = createCertificate();

const FULL = {
  name: 'shop',
  environment: 'production',
  url: URL_TEXT,
  secret: SECRET,
  modules: { waf: true, rasp: false },
  playbooks: { notify: true },
  tls: { ca: [PEM, Buffer.from(PEM)], cert: PEM, key: Buffer.from(KEY) },
};

const A_SECRET = 'expected a non-empty string or a function that returns one';
const MODULES = 'expected an object of modules, each true or false';
const A_PEM = 'expected PEM with "-----BEGIN …" (the text, not a path) as a string or a Buffer';
const PEMS = `${A_PEM}, or a non-empty array of them`;
const A_RATE = 'expected a number from 0.001 to 1000000';
const APPLICATIONS = 'expected an object of application ids and applications';

const ENQUEUING = { name: 'shop', environment: '' };

/** Takes settings as an untyped caller may pass them. */
const create = (source: unknown) => createSettings(source as Settings);

const one = (application: unknown) => ({ applications: { 'app-1': application } });

const rejected = (found: unknown): Promise<unknown> =>
  Promise.resolve(found).then(
    () => undefined,
    (error: unknown) => error,
  );

/** Each kind of source with one application. */
const SOURCES: readonly [string, (application: unknown) => Promise<unknown>][] = [
  ['an object', async (application) => create(one(application)).find('app-1')],
  ['a function', async (application) => create(() => application).find('app-1')],
  ['an async function', async (application) => create(async () => application).find('app-1')],
];

describe.each(SOURCES)('an application of %s', (_source, find) => {
  test.each<[string, object]>([
    ['everything', FULL],
    ['neither URL nor secret, for an agent that only enqueues', ENQUEUING],
    ['no module selected', { ...ENQUEUING, modules: {}, playbooks: {}, tls: {} }],
    ['neither a name nor an environment', { url: URL_TEXT, secret: SECRET }],
    ['a URL that is only parsed when sending', { ...ENQUEUING, url: 'ftp://x', secret: ' ' }],
  ])('is found with %s', async (_what, application) => {
    expect(await find(application)).toEqual({ ...application, format: 2 });
  });

  test.each(['name', 'url', 'secret'])('is refused if its %s is a cyclic object', async (key) => {
    const cycle: Record<string, unknown> = {};
    cycle['itself'] = cycle;
    expect(await rejected(find({ ...FULL, [key]: cycle }))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      issues: [{ message: expect.stringContaining(', found an object') as string }],
    });
  });

  test('keeps a secret function without calling it', async () => {
    const secret = vi.fn<() => string>(() => SECRET);
    expect(await find({ ...FULL, secret })).toMatchObject({ secret });
    expect(secret).not.toHaveBeenCalled();
  });

  test('treats a key with the value undefined as absent (D0)', async () => {
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

  test('converts names of playbooks to slugs', async () => {
    const playbooks = { 'Block IPs v2.1 - Account Takeover': true, notify_me: false };
    expect(await find({ ...ENQUEUING, playbooks })).toMatchObject({
      playbooks: { 'block_ips_v2.1_account_takeover': true, notify_me: false },
    });
  });

  test.each<[string, object, string]>([
    ['name', { name: 7 }, 'expected a string, found a number'],
    ['secret', { secret: undefined }, 'expected secret beside url, found nothing'],
    ['url', { url: undefined }, 'expected url beside secret, found nothing'],
    ['url', { url: '' }, 'expected a non-empty string, found an empty string'],
    ['secret', { secret: '' }, `${A_SECRET}, found an empty string`],
    ['modules', { modules: new Map([['waf', true]]) }, `${MODULES}, found an object`],
    ['modules.waf', { modules: { waf: 'yes' } }, 'expected true or false, found a string'],
    [
      'playbooks.🚨',
      { playbooks: { '🚨': true } },
      'expected the name of a playbook to have a letter or a digit',
    ],
    [
      'playbooks.block_ips',
      { playbooks: { 'Block IPs': true, block_ips: false } },
      'expected each playbook once, found another name with the same slug',
    ],
    ['tls.key', { tls: { cert: PEM } }, 'expected key beside cert, found nothing'],
    ['tls.cert', { tls: { cert: '', key: PEM } }, `${A_PEM}, found an empty string`],
    ['tls.ca', { tls: { ca: Buffer.alloc(0) } }, `${PEMS}, found an object`],
    ['tls.ca', { tls: { ca: [] } }, `${PEMS}, found an array`],
    ['tls.ca', { tls: { ca: '/etc/ca.pem' } }, `${PEMS}, found a string`],
    ['tls.ca', { tls: { ca: [PEM, 7] } }, `${PEMS}, found an array`],
    ['tls', { tls: { rejectUnauthorized: false } }, 'unknown key "rejectUnauthorized"'],
    ['', { active: true }, 'unknown key "active"'],
    ['enabled', { enabled: 'yes' }, 'expected true or false, found a string'],
    ['maxRequestsPerSecond', { maxRequestsPerSecond: 0 }, `${A_RATE}, found 0`],
  ])('is refused for its %j: %j', async (path, change, message) => {
    const error = await rejected(find({ ...FULL, ...change }));
    expect(error).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['settings', 'applications', 'app-1', ...path.split('.').filter(Boolean)],
      issues: [{ message }],
    });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
    expect((error as Error).message).toContain(message);
  });

  test.each<[string, unknown, string]>([
    ['text', 'shop', 'a string'],
    ['a list', [FULL], 'an array'],
  ])('is refused if it is %s', async (_what, application, found) => {
    expect(await rejected(find(application))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['settings', 'applications', 'app-1'],
      issues: [{ message: `expected an object, found ${found}` }],
    });
  });

  test('reports all faults at once', async () => {
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

  test('rejects with a typed error and the cause if a getter throws', async () => {
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

  test('reads a getter only once', async () => {
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

  test('is copied with its certificates', async () => {
    const application = structuredClone(FULL);
    application.tls.key = Buffer.from(KEY);
    application.tls.ca = [PEM, Buffer.from(PEM)];
    const found = (await find(application)) as typeof FULL;
    application.tls.key.fill(0);
    (application.tls.ca[1] as Buffer).fill(0);
    application.tls.ca.push('ca-3');
    application.modules.rasp = true;
    application.secret = 'other';
    expect(found).toEqual({ ...FULL, format: 2 });
    expect(Buffer.isBuffer(found.tls.key)).toBe(true);
  });

  test('accepts a Uint8Array as certificate', async () => {
    const bytes = new TextEncoder().encode(PEM);
    const found = (await find({ ...ENQUEUING, tls: { ca: bytes } })) as typeof FULL;
    expect(found.tls.ca).toEqual(Buffer.from(PEM));
  });

  test('may be an instance of a class, such as a database row', async () => {
    class Row {
      readonly name = 'shop';
      readonly environment = '';
    }
    expect(await find(new Row())).toEqual({ ...ENQUEUING, format: 2 });
  });
});

describe('settings in an object', () => {
  test('are copied at once', async () => {
    const settings: { applications: Record<string, object> } = { applications: { a: FULL } };
    const { find } = create(settings);
    settings.applications['b'] = FULL;
    delete settings.applications['a'];
    expect([await find('a'), await find('b')]).toEqual([{ ...FULL, format: 2 }, undefined]);
  });

  test.each(['app-2', 'constructor', '__proto__'])(
    'have no application %j unless it is given',
    async (id) => {
      expect(await create(one(FULL)).find(id)).toBeUndefined();
    },
  );

  test.each(['constructor', ''])('may have an application called %j', async (id) => {
    const { find } = create({ applications: { [id]: FULL } });
    expect(await find(id)).toEqual({ ...FULL, format: 2 });
  });

  test.each<[string, unknown, string]>([
    ['', undefined, 'expected an object, found nothing'],
    ['', URL_TEXT, 'expected an object, found a string'],
    ['applications', {}, `${APPLICATIONS}, found nothing`],
    ['applications', { applications: new Map() }, `${APPLICATIONS}, found an object`],
    ['format', { ...one(FULL), format: 3 }, 'expected one of 1, 2, found 3'],
    ['', { ...one(FULL), url: URL_TEXT }, 'unknown key "url"'],
    ['applications.app-1', one({ ...FULL, format: 1 }), 'unknown key "format"'],
  ])('are refused for their %j: %j', (key, settings, message) => {
    const path = ['settings', ...key.split('.').filter(Boolean)];
    const error = thrownBy(() => create(settings));
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', path, issues: [{ path, message }] });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2');
  });

  const encrypted = createPrivateKey(KEY).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'hunter2',
  });
  const NO_KEY = 'expected a private key without passphrase, found another or unreadable PEM';

  test.each([
    [
      'another key',
      'key',
      createCertificate().key,
      'expected the private key of cert, found another',
    ],
    ['an encrypted key', 'key', encrypted, NO_KEY],
    ['a certificate as key', 'key', PEM, NO_KEY],
    ['a key as certificate', 'cert', KEY, 'expected a certificate, found unreadable PEM'],
  ])('are refused with %s', (_what, name, text, message) => {
    const tls = { ...FULL.tls, [name]: Buffer.from(text) };
    const path = ['settings', 'applications', 'app-1', 'tls', name];
    const error = thrownBy(() => create(one({ ...FULL, tls })));
    expect(error).toMatchObject({ code: 'ERR_INVALID_OPTION', issues: [{ path, message }] });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/hunter2|BEGIN/);
  });

  test('report the faults of all applications at once', () => {
    const applications = { a: { environment: 7 }, b: FULL, c: { ...FULL, secret: '' } };
    expect(thrownBy(() => create({ applications, format: 0 }))).toMatchObject({
      issues: [
        { path: ['settings', 'format'] },
        { path: ['settings', 'applications', 'a', 'environment'] },
        { path: ['settings', 'applications', 'c', 'secret'] },
      ],
    });
  });

  test('must have names only for format 1', async () => {
    const applications = { a: FULL, b: { name: 'b' }, c: { environment: '' } };
    const of = ['settings', 'applications'];
    expect(thrownBy(() => create({ applications, format: 1 }))).toMatchObject({
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
});

describe('a settings function', () => {
  test('is refused for missing names beside other faults', async () => {
    const { find } = create(() => ({ name: 'a', enabled: 1, format: 1 }));
    const of = ['settings', 'applications', 'a'];
    const issues = [{ path: [...of, 'enabled'] }, { path: [...of, 'environment'] }];
    expect(await rejected(find('a'))).toMatchObject({ issues });
  });

  test('is called for each look-up', async () => {
    const asked: string[] = [];
    const { find } = createSettings((id) => {
      asked.push(id);
      return { ...ENQUEUING, name: `${id} ${asked.length}` };
    });
    expect(asked).toEqual([]);
    expect([(await find('a'))?.name, (await find('a'))?.name]).toEqual(['a 1', 'a 2']);
    expect(asked).toEqual(['a', 'a']);
  });

  test('must not return an unknown format', async () => {
    expect(await rejected(create(() => ({ ...FULL, format: 3 })).find('app-1'))).toMatchObject({
      path: ['settings', 'applications', 'app-1', 'format'],
    });
  });

  test.each([undefined, null])('returns %s for an unknown application', async (answer) => {
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
  ])('that %s causes a typed error, and is called again the next time', async (_how, failing) => {
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
    expect((error as Error).message).not.toContain(SECRET);
    isFailing = false;
    expect(await find('app-1')).toEqual({ ...ENQUEUING, format: 2 });
  });
});

test.each([
  [undefined, 2],
  [1, 1],
  [2, 2],
] as const)('format %s means %s in an object and from a function (D60)', async (format, read) => {
  expect(await create({ ...one(FULL), format }).find('app-1')).toMatchObject({ format: read });
  const found = await create(() => ({ ...FULL, format })).find('app-1');
  expect(found).toEqual({ ...FULL, format: read });
});
