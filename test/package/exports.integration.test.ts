import { execFileSync } from 'node:child_process';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { ERROR_TABLE } from '../../src/errors.ts';
import {
  entries,
  filesBelow,
  importableEntries,
  manifest,
  root,
  sources,
  textOf,
} from '../helpers/package-files.ts';

const words = (...lines: string[]): string[] => lines.join(' ').split(' ');

/** The values that consumers can import: the public API. */
const PUBLIC_VALUES: Readonly<Record<string, readonly string[]>> = {
  '.': words(
    'EVENT_VERSION SecurityEventError createLogWriter createMemoryIncidents createReporter',
    'createWebhookSender decodeSvcIdentifier encodeSvcIdentifier explainSchedule generateSecret',
    'sendWebhook sign slugify verify',
  ),
  './contract': words(
    'API_VERSION EVENT_CATEGORIES EVENT_KINDS EVENT_NAMES EVENT_VERSION INCIDENT_EVENT_TYPES',
    'INCIDENT_MESSAGE_TYPES INCIDENT_STATUSES INCIDENT_TYPES LogLine LogRecord',
    'MAX_MESSAGES_PER_REQUEST MESSAGE_TYPES PULSE_GENRES RULESETS SCHEMES SEVERITIES',
    'SVC_PAYLOAD_TYPES VERBS WebhookBodyV1 WebhookBodyV2 WebhookMessageV1 WebhookMessageV2',
    'contract decodeSvcIdentifier encodeSvcIdentifier messageToSend parseLogLine received',
    'slugify',
  ),
  './capture': words(
    'REDACTED RequestBlockedError SENSITIVE_KEYS blockRequest createEnrichment',
    'createRequestCapture currentContext describeAddress explainClientAddress fetchRequest',
    'identify maxmindEnricher networkListEnricher',
  ),
  './node-http': ['captureRequests'],
  './express': ['answerBlocked', 'captureRequests'],
  './fastify': ['captureRequests'],
  './hono': ['captureRequests'],
  './koa': ['captureRequests'],
  './lambda': ['captureRequests'],
  './nest': ['REPORTER', 'SecurityEventsModule'],
  './passport': ['reportLogins'],
  './otel': ['registerMetrics'],
  './queue': ['exportQueue', 'importQueue'],
  './queue/memory': ['createMemoryQueue'],
  './queue/postgres': ['createPostgresIncidents', 'createPostgresQueue', 'createPostgresSchema'],
  './queue/sqlite': ['createSqliteIncidents', 'createSqliteQueue'],
  './receiver': words(
    'createMemoryDuplicates createWebhookReceiver explainSignature expressHandler fastifyPlugin',
    'fetchHandler isFresh nodeHandler parseBody verify',
  ),
  './settings': ['createConfiguration', 'scheduledSecret', 'settingsCache', 'settingsFile'],
  './testing': words(
    'FAULTS createCertificate createFakeClock createLineSink sampleMessage sampleMessageToSend',
    'sampleMessageV1 sampleRecord startReceiver',
  ),
};

/** The exports of each entry, and the names of functions. */
type Given = Readonly<Record<string, Readonly<Record<string, string | null>>>>;

/** Imports each entry in a new process, from `dist` or from the output of tsc. */
function givenBy(folder: 'dist' | 'modules'): Given {
  const files = importableEntries.map(({ subpath, default: file }) => [
    subpath,
    pathToFileURL(join(root, file.replace('./dist/', `${folder}/`))).href,
  ]);
  const program = `
    const nameOf = (value) => (typeof value === 'function' ? value.name : null);
    const namesIn = (values) =>
      Object.fromEntries(Object.entries(values).map(([key, value]) => [key, nameOf(value)]));
    const given = {};
    for (const [subpath, url] of ${JSON.stringify(files)}) {
      given[subpath] = namesIn(await import(url));
    }
    console.log(JSON.stringify(given));`;
  const args = ['--input-type=module', '--eval', program];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** The dependencies whose code is among ours. */
const BUNDLED = ['ipaddr.js', 'uuid'];

describe('the exports map', () => {
  let given: Given = {};
  beforeAll(() => {
    given = givenBy('dist');
  });

  it('has a root entry that only lists names', () => {
    const text = (sources.get('index.ts') ?? '').replaceAll(/\/\*[\s\S]*?\*\//g, '');
    expect(text.trim()).toMatch(/^(?:export (?:type )?\{[\w\s,]+\} from '[^']+';\s*)+$/);
    expect(text).not.toMatch(/\bdefault\b/);
  });

  it('has exactly these entries', () => {
    expect(Object.keys(PUBLIC_VALUES)).toEqual(entries.map(({ subpath }) => subpath));
  });

  it.each(importableEntries)('$subpath exports exactly the public values', ({ subpath }) => {
    expect(Object.keys(given[subpath] ?? {}).toSorted()).toEqual(PUBLIC_VALUES[subpath]);
  });

  it('exports functions and classes with the names of the sources', () => {
    expect(given).toEqual(givenBy('modules'));
    expect(given['.']).toMatchObject({ SecurityEventError: 'SecurityEventError' });
    expect(given['./express']).toMatchObject({ answerBlocked: 'answerBlocked' });
  });

  it('has a built module for each source, and no others', () => {
    const built = filesBelow('modules').filter((file) => file.endsWith('.js'));
    // The SQL of the PostgreSQL queue is built from a module that is generated from it.
    const modules = [...sources.keys()].filter((file) => /(?<!\.d)\.ts$/.test(file));
    expect(built).toEqual(modules.map((file) => file.replace(/\.ts$/, '.js')));
  });

  it('has each module in exactly one bundled file', () => {
    const maps = filesBelow('dist').filter((file) => file.endsWith('.js.map'));
    const bundled = maps.flatMap((file) => {
      const map = JSON.parse(textOf(join('dist', file))) as { readonly sources: string[] };
      return map.sources.map((source) => relative('src', join('dist', file, '..', source)));
    });
    expect(bundled.toSorted()).toEqual([...new Set(bundled)].toSorted());
    const others = bundled.filter((source) => !sources.has(source));
    const packages = others.map((source) => /^\.\.\/node_modules\/([^/]+)\//.exec(source)?.[1]);
    expect(new Set(packages)).toEqual(new Set(BUNDLED));
    // Modules of types and lists of names are in no bundle.
    expect(bundled).toEqual(expect.arrayContaining(['errors.ts', 'log/writer.ts', 'cli/main.ts']));
  });
});

describe('the bundled files', () => {
  const files = filesBelow('dist').filter((file) => file.endsWith('.js'));
  const imported = files.flatMap((file) =>
    [...textOf(join('dist', file)).matchAll(/\b(?:from|import) ?\(?"([^"]+)"/g)].map(
      ([, name]) => name,
    ),
  );

  it('import no file for its side effects', () => {
    const bare = files.filter((file) => /^import "/m.test(textOf(join('dist', file))));
    expect(bare).toEqual([]);
  });

  it('import the dependencies except the bundled ones', () => {
    const dependencies = Object.keys(manifest.dependencies);
    expect(dependencies.filter((name) => !BUNDLED.includes(name) && name !== 'undici')).toEqual(
      dependencies.filter((name) => imported.includes(name)),
    );
  });

  it('have the licences of bundled dependencies, in the locked versions', () => {
    const { packages } = JSON.parse(textOf('package-lock.json')) as {
      readonly packages: Readonly<Record<string, { readonly version: string }>>;
    };
    const titles = [...textOf('dist/bundled/THIRD-PARTY.md').matchAll(/^## (.+)\n\n(.+)$/gm)];
    expect(titles.map(([, title]) => title)).toEqual(
      BUNDLED.map((name) => `${name} ${packages[`node_modules/${name}`]?.version}`),
    );
    expect(
      textOf('dist/bundled/THIRD-PARTY.md').match(/Permission is hereby granted/g),
    ).toHaveLength(2);
  });
});

interface Loaded {
  readonly files: Set<string>;
  readonly others: Set<string>;
}

/** Follows only static imports: others load on first use. */
function loadedBy(entry: string, loaded: Loaded = { files: new Set(), others: new Set() }): Loaded {
  if (loaded.files.has(entry)) return loaded;
  loaded.files.add(entry);
  for (const [, name = ''] of textOf(join('dist', entry)).matchAll(/^.* from "([^"]+)";$/gm)) {
    if (name.startsWith('.')) loadedBy(join(dirname(entry), name), loaded);
    else loaded.others.add(name);
  }
  return loaded;
}

const othersOf = (entry: string): string[] => [...loadedBy(entry).others].toSorted();

/** Bundling modules into few files must not make an entry load modules that it does not use. */
describe('an entry of the package', () => {
  it('loads few files', () => {
    expect(loadedBy('contract/index.js').files.size).toBeLessThanOrEqual(3);
    expect(loadedBy('index.js').files.size).toBeLessThanOrEqual(13);
  });

  it('needs only zod for the contract, and no platform', () => {
    expect(othersOf('contract/index.js')).toEqual(['zod']);
  });

  it.each(['memory', 'postgres', 'sqlite'])(
    'needs no dependency that every application has for queue/%s',
    (queue) => {
      const others = othersOf(`queue/${queue}.js`);
      expect(others.filter((name) => !name.startsWith('node:'))).toEqual([]);
    },
  );

  it('needs no node:crypto for what reads requests, and no sender', () => {
    expect(othersOf('capture/adapters/express.js')).not.toContain('node:crypto');
    expect(othersOf('receiver/index.js')).not.toContain('node:tls');
  });
});

it('each error code is thrown somewhere', () => {
  const texts = [...sources].filter(([path]) => path !== 'errors.ts').map(([, text]) => text);
  const isThrown = (code: string): boolean => texts.some((text) => text.includes(`'${code}'`));
  expect(Object.keys(ERROR_TABLE).filter((code) => !isThrown(code))).toEqual([]);
});
