import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Consumer } from '../helpers/consumer.ts';
import {
  entries,
  filesBelow,
  importableEntries,
  manifest,
  root,
} from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const { name } = manifest;
const consumer = new Consumer();

beforeAll(() => consumer.install());
afterAll(() => {
  consumer.remove();
});

/** Signs, checks a record, and writes a line of channel A. */
const USE = `
  const lines = [];
  const writer = root.createLogWriter({ destination: { write: (text) => lines.push(text) } });
  writer.write({
    context: { service: { svc_id: 'abcdef', name: 'shop', env: 'prod' } },
    detected_at: '2026-01-02T03:04:05Z',
    event_name: 'svc.ev0.custom_event',
    event_version: root.EVENT_VERSION,
    payload: { event_name: 'seen', options: { depth: { of: [1] } } },
  });
  const record = contract.parseLogLine(lines[0]);
  const facts = {
    signed: root.verify('4567', root.sign('4567', '1234'), '1234'),
    options: record.payload.options,
    refused: contract.LogRecord.safeParse({}).success,
    code: new root.SecurityEventError('ERR_INVALID_URL').code,
  };
`;
const FACTS = {
  signed: true,
  options: { depth: { of: [1] } },
  refused: false,
  code: 'ERR_INVALID_URL',
};

interface JestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
  }[];
}

/** Returns Jest's result for each test file of a folder. */
async function runJest(folder: string, flags: readonly string[], options: readonly string[]) {
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  // A process for each file would cost more than the files.
  const own = [`--rootDir=${folder}`, `--cacheDirectory=${folder}/.jest`, '--runInBand', '--json'];
  const { stdout, stderr } = await consumer.node(...flags, jest, ...own, ...options);
  if (!stdout.startsWith('{')) throw new Error(`Jest did not run: ${stderr}`);
  const { testResults } = JSON.parse(stdout) as JestReport;
  return Object.fromEntries(
    testResults.map(({ name: path, status, message }) => [basename(path), { status, message }]),
  );
}

const writeUseForJest = (folder: string): string =>
  consumer.write(
    `${folder}/use.test.js`,
    `const root = require('${name}');
     const contract = require('${name}/contract');
     test('uses the package', () => {
       ${USE} expect(facts).toEqual(${JSON.stringify(FACTS)});
     });`,
  );

const PASSED = { status: 'passed', message: '' };

// Three compilers and two Jests run at once, perhaps on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

describe.concurrent('the installed package', () => {
  it('works by import', async () => {
    const file = consumer.write(
      'use.mjs',
      `import * as root from '${name}';
       import * as contract from '${name}/contract';
       ${USE} console.log(JSON.stringify(facts));`,
    );
    expect(JSON.parse(await consumer.output([file]))).toEqual(FACTS);
  });

  it('opens a queue in an SQLite file, or says which package to install', async () => {
    const file = consumer.write(
      'sqlite.mjs',
      `import { createSqliteQueue } from '${name}/queue/sqlite';
       const queue = createSqliteQueue({ file: 'queue.db' });
       const state = { health: 'healthy', maxMessages: 1, maxBytes: 1, circuitBreaker: null };
       const opened = queue.open(state).then(() => 'opened', ({ code, message }) => [code, message]);
       console.log(JSON.stringify(await opened));
       await queue.close();`,
    );
    const opened: unknown = JSON.parse(await consumer.output([file]));
    // No peer is installed. Node 20 has no SQLite, and the newer versions that CI runs have a recent one.
    const install = 'npm install @photostructure/sqlite@1';
    const isMissing = process.getBuiltinModule('node:sqlite') === undefined;
    const missing = ['ERR_PEER_MISSING', expect.stringContaining(install)];
    expect(opened).toEqual(isMissing ? missing : 'opened');
  });

  it('starts the worker of an SQLite queue from CommonJS and from Jest, with the peer', async () => {
    const modules = join(consumer.folder, 'with-peer/node_modules');
    cpSync(join(consumer.folder, 'node_modules'), modules, { recursive: true });
    mkdirSync(join(modules, '@photostructure'), { recursive: true });
    const peer = '@photostructure/sqlite';
    symlinkSync(join(root, 'node_modules', peer), join(modules, peer));
    const use = `
      const { createSqliteQueue } = require('${name}/queue/sqlite');
      const state = { health: 'healthy', maxMessages: 1, maxBytes: 1, circuitBreaker: null };
      const use = async (file) => {
        const queue = createSqliteQueue({ file });
        await queue.open(state);
        const { accepted } = await queue.stats();
        return [accepted, await queue.close()];
      };`;
    const used = [0, { returned: [], remaining: 0 }];
    const file = consumer.write(
      'with-peer/use.cjs',
      `${use} use(__dirname + '/node.db').then((used) => console.log(JSON.stringify(used)));`,
    );
    consumer.write(
      'with-peer/use.test.js',
      `${use} test('uses the queue', async () => {
         expect(await use(__dirname + '/jest.db')).toEqual(${JSON.stringify(used)});
       });`,
    );
    const [inNode, inJest] = await Promise.all([
      consumer.output([file]),
      runJest('with-peer', [], ['--testMatch=**/with-peer/*.test.js']),
    ]);
    expect(JSON.parse(inNode)).toEqual(used);
    expect(inJest).toEqual({ 'use.test.js': PASSED });
  });

  it('gives the same instances by require and import', async () => {
    const importable = importableEntries.map((entry) => entry.name);
    const file = consumer.write(
      'same.cjs',
      `const compare = async (specifier) => {
         const required = require(specifier);
         const imported = await import(specifier);
         const keys = Object.keys(imported);
         const same = keys.filter((key) => imported[key] === required[key]);
         return [specifier, keys.length, Object.keys(required).length, same.length];
       };
       Promise.all(${JSON.stringify(importable)}.map(compare))
         .then((counts) => console.log(JSON.stringify(counts)));`,
    );
    const counts = JSON.parse(await consumer.output([file])) as [string, ...number[]][];
    expect(counts.map(([specifier]) => specifier)).toEqual(importable);
    for (const [, imported, ...others] of counts) {
      expect(imported).toBeGreaterThan(0);
      expect(others).toEqual([imported, imported]);
    }
  });

  it('works in the CommonJS sandbox of Jest, and keeps the error of a broken module there and in Node', async () => {
    writeUseForJest('jest');
    const shim = readFileSync(join(consumer.installed, 'dist/index.cjs'), 'utf8');
    consumer.write('jest/broken/package.json', '{ "private": true, "type": "module" }');
    consumer.write('jest/broken/index.js', "export {}; throw new RangeError('broken on purpose');");
    const file = consumer.write('jest/broken/broken.cjs', shim);
    consumer.write('jest/broken/broken.test.cjs', "test('x', () => { require('./broken.cjs'); });");
    const [inNode, inJest] = await Promise.all([
      consumer.node(file),
      runJest('jest', [], ['--testMatch=**/*.test.{js,cjs}']),
    ]);
    expect(inNode.stderr).toContain('RangeError: broken on purpose');
    expect(inJest).toEqual({
      'use.test.js': PASSED,
      'broken.test.cjs': {
        status: 'failed',
        message: expect.stringContaining('broken on purpose'),
      },
    });
  });

  it('works in the CommonJS sandbox of Jest with --experimental-vm-modules', async () => {
    writeUseForJest('jest-vm');
    // As Jest documents for modules, without starting its compiler.
    const options = ['--transform={}'];
    const result = await runJest('jest-vm', ['--experimental-vm-modules'], options);
    expect(result).toEqual({ 'use.test.js': PASSED });
  });
});

/** Most of the work, so only the strictest resolution always does it. */
const checksLibraries = (module: string): boolean => quickOrNightly(module === 'node16', true);

describe.concurrent('the installed types', () => {
  const USE_TYPES = `
    import { createLogWriter, SecurityEventError, sign, type LogWriter } from '${name}';
    import { LogRecord } from '${name}/contract';
    const writer: LogWriter = createLogWriter({ destination: 1 });
    const signature: string = sign('body', 'secret');
    const record: LogRecord = LogRecord.parse(JSON.parse('{}'));
    writer.write(record);
    const code: 'ERR_INVALID_URL' | undefined =
      new SecurityEventError('ERR_INVALID_URL').code === 'ERR_INVALID_URL' ? 'ERR_INVALID_URL' : undefined;
    // @ts-expect-error a signature is a string: the types are real ones, not any
    const wrong: number = sign('body', 'secret');
    // @ts-expect-error a code of the closed union
    new SecurityEventError('ERR_NONE');
    export { code, record, signature, wrong };
    // Checks the declarations of every entry.
    ${entries.map((entry, index) => `export type * as entry${index} from '${entry.name}';`).join('\n    ')}
  `;
  const compile = (module: string, resolution: string, files: readonly string[]) => {
    const folder = `types-${module}`;
    for (const file of files) consumer.write(`${folder}/${file}`, USE_TYPES);
    const options = {
      module,
      moduleResolution: resolution,
      target: 'es2023',
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: !checksLibraries(module),
      // No DOM: programs of servers may not have it.
      lib: ['es2023'],
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const settings = JSON.stringify({ compilerOptions: options, files });
    const project = consumer.write(`${folder}/tsconfig.json`, settings);
    // Several checkers on few cores would each check the libraries' types.
    return consumer.tool('typescript/bin/tsc', '-p', project, '--checkers', '1');
  };

  it.each([
    ['nodenext', 'nodenext', ['use.mts', 'use.cts']],
    ['node16', 'node16', ['use.mts']],
    ['esnext', 'bundler', ['use.mts', 'use.ts']],
  ])('hold under module %s with resolution %s for %j', async (module, resolution, files) => {
    const compiled = await compile(module, resolution, files);
    expect(compiled).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

describe.concurrent('the tarball', () => {
  it('gives each schema, sample and signature, and nothing else, to import and require', async () => {
    const kinds = ['samples', 'schemas', 'vectors'] as const;
    const paths = kinds.flatMap((kind) => filesBelow(kind).map((file) => `${kind}/${file}`));
    const hidden = ['dist/errors.js', 'errors', 'src/index.ts', 'schemas/../package.json'];
    const file = consumer.write(
      'files.cjs',
      `const typeOf = (path) => {
         try { return typeof require('${name}/' + path); } catch (error) { return error.code; }
       };
       const given = ${JSON.stringify([...paths, ...hidden])}.map(typeOf);
       console.log(JSON.stringify(given));`,
    );
    const given = JSON.parse(await consumer.output([file])) as string[];
    expect(new Set(given.slice(0, paths.length))).toEqual(new Set(['object']));
    for (const code of given.slice(paths.length)) expect(code).toMatch(/^(?:ERR_|MODULE_NOT_)/);
    expect(filesBelow('schemas')).toHaveLength(26);
    expect(paths.length).toBeGreaterThan(71);
  });

  it('has for each built file a source map, and each source that it names or its text', () => {
    const maps = filesBelow('dist').filter((file) => file.endsWith('.map'));
    const broken = maps.filter((file) => {
      const path = join(consumer.installed, 'dist', file);
      if (!existsSync(path)) return true;
      const { sources, sourcesContent: texts = [] } = JSON.parse(readFileSync(path, 'utf8')) as {
        readonly sources: readonly string[];
        readonly sourcesContent?: readonly (string | null)[];
      };
      return sources.some((source, index) => {
        const hasText = typeof texts[index] === 'string';
        const place = join(path, '..', source);
        // Our package is installed once.
        const isOwn = place.startsWith(join(consumer.installed, 'src/'));
        return isOwn ? hasText || !existsSync(place) : !hasText;
      });
    });
    expect(broken).toEqual([]);
    // JavaScript and declarations of at least ten modules.
    expect(maps.length).toBeGreaterThan(20);
  });

  it('has maps that lead from what runs to the line of the source', async () => {
    const file = consumer.write(
      'traced.mjs',
      `import { createLogWriter } from '${name}';
       try { createLogWriter({ destination: 'no folder/no file' }); }
       catch (error) { console.log(error.stack); }`,
    );
    const { stdout } = await consumer.node('--enable-source-maps', file);
    const [, path = '', line = ''] = /at createLogWriter \((.+?):(\d+):\d+\)/.exec(stdout) ?? [];
    expect(path).toBe(join(consumer.installed, 'src/log/writer.ts'));
    expect(readFileSync(path, 'utf8').split('\n')[Number(line) - 1]).toContain(
      'new RecordWriter<D>(',
    );
  });

  it('holds no tests, no settings and no leftovers', () => {
    const documents = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    const folders = ['dist', 'samples', 'schemas', 'sql', 'src', 'vectors'];
    expect(readdirSync(consumer.installed).toSorted()).toEqual(
      [...documents, ...folders].toSorted(),
    );
  });
});
