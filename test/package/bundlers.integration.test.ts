/**
 * A program with a queue in an SQLite file, bundled with all its packages by each bundler, and run: the
 * worker starts, and the peer is found. esbuild is one of our dependencies; npm installs the others.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Consumer } from '../helpers/consumer.ts';
import { manifest, root } from '../helpers/package-files.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const PROGRAM = `
  import { createServer } from 'node:http';
  import { createWebhookSender } from '${manifest.name}';
  import { createSqliteQueue } from '${manifest.name}/queue/sqlite';
  async function main() {
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      request.resume().on('end', () => response.writeHead(204).end());
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = 'http://127.0.0.1:' + server.address().port;
    const queue = createSqliteQueue({ file: process.argv[2] });
    const to = { url, secret: 'a shared secret', network: 'allow-private' };
    const sender = createWebhookSender({ ...to, queue });
    const application = { name: 'shop', environment: 'production', id: 'shop' };
    const properties = { ips: [{ ip_cidr: '203.0.113.9/32' }], user_identifiers: [] };
    const message = { application, properties, playbook: { name: 'Block IPs', id: 'block_ips' } };
    await sender.send([{ message_type: 'security_response', message }]);
    const { delivered } = await sender.flush({ deadlineMs: 10_000 });
    const { remaining } = await sender.close();
    server.close();
    console.log(JSON.stringify({ requests, delivered, remaining }));
  }
  void main();
`;

const PEERLESS_PROGRAM = `
  import { createWebhookSender } from '${manifest.name}';
  import { maxmindEnricher } from '${manifest.name}/capture';
  import { createPostgresQueue } from '${manifest.name}/queue/postgres';
  async function main() {
    const maxmind = await maxmindEnricher({ databasePath: 'cities.mmdb' }).catch(({ code }) => code);
    const queue = createPostgresQueue({ connection: { host: '127.0.0.1' } });
    const pg = await queue.open({}).catch(({ code }) => code);
    console.log(JSON.stringify({ maxmind, pg }));
  }
  void main();
`;

const DELIVERED = { requests: 1, delivered: 1, remaining: 0 };

/** Scripts that bundle host.mjs into `out/<name>/host.mjs` or `host.cjs`. */
const SCRIPTS: Readonly<Record<string, string>> = {
  rollup: `
    import commonjs from '@rollup/plugin-commonjs';
    import json from '@rollup/plugin-json';
    import resolve from '@rollup/plugin-node-resolve';
    import { rollup } from 'rollup';
    const plugins = [
      resolve({ preferBuiltins: true, exportConditions: ['node'] }),
      commonjs({ ignore: ['node:sqlite'] }), // see docs/getting-started.md
      json(),
    ];
    const bundle = await rollup({ input: 'host.mjs', plugins, onwarn: () => {} });
    await bundle.write({ dir: 'out/rollup', format: 'es', entryFileNames: '[name].mjs',
      chunkFileNames: '[name].mjs' });`,
  vite: `
    import { build } from 'vite';
    const output = { ssr: 'host.mjs', outDir: 'out/vite', target: 'node20' };
    await build({ build: output, ssr: { noExternal: true }, logLevel: 'error' });`,
  webpack: `
    import webpack from 'webpack';
    const path = process.cwd() + '/out/webpack';
    const output = { path, filename: 'host.cjs' };
    const options = { mode: 'production', target: 'node20', entry: './host.mjs', output };
    await new Promise((resolve, reject) => {
      webpack(options, (error, stats) => (error ?? stats.hasErrors() ? reject(stats) : resolve()));
    });`,
};

const isQuick = quickOrNightly(true, false);

const BANNER =
  "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

describe('a bundle with a queue in an SQLite file', () => {
  const consumer = new Consumer();

  beforeAll(async () => {
    await consumer.install({ byNpm: false });
    for (const name of ['@photostructure/sqlite', 'node-gyp-build']) {
      const from = join(root, 'node_modules', name);
      cpSync(from, join(consumer.folder, 'node_modules', name), { recursive: true });
    }
    consumer.write('host.mjs', PROGRAM);
    if (isQuick) return;
    for (const file of ['package.json', 'package-lock.json']) {
      cpSync(join(root, 'test/package/bundlers', file), join(consumer.folder, 'tools', file));
    }
    // Not `npm ci`: it wants the binaries of all platforms, and a mirror may not have them.
    await consumer.npm('install', join(consumer.folder, 'tools'));
  });
  afterAll(() => {
    consumer.remove();
  });

  async function runBundle(file: string): Promise<unknown> {
    const queue = join(consumer.folder, `${file.replaceAll('/', '-')}.db`);
    return JSON.parse(await consumer.output([join(consumer.folder, file), queue]));
  }

  /** Returns the file of the bundle of a program. */
  async function bundleByEsbuild(program: string, format: string): Promise<string> {
    const file = `out/esbuild/${program}.${format === 'esm' ? 'mjs' : 'cjs'}`;
    const more =
      format === 'esm' ? `--banner:js=${BANNER}` : '--log-override:empty-import-meta=silent';
    const common = ['--bundle', '--platform=node', '--log-level=warning'];
    const args = [...common, `--format=${format}`, `--outfile=${file}`, more];
    const bin = join(root, 'node_modules/.bin/esbuild');
    await consumer.output([`${program}.mjs`, ...args], bin);
    return file;
  }

  test.each(['esm', 'cjs'])('by esbuild as %s delivers', async (format) => {
    expect(await runBundle(await bundleByEsbuild('host', format))).toEqual(DELIVERED);
  });

  test.each(['esm', 'cjs'])('by esbuild as %s starts without optional packages', async (format) => {
    consumer.write('peerless.mjs', PEERLESS_PROGRAM);
    const codes = { maxmind: 'ERR_PEER_MISSING', pg: 'ERR_PEER_MISSING' };
    expect(await runBundle(await bundleByEsbuild('peerless', format))).toEqual(codes);
  });

  describe.skipIf(isQuick)('by a bundler that npm installs', () => {
    test.each(Object.keys(SCRIPTS))(
      '%s delivers',
      async (name) => {
        const file = name === 'webpack' ? 'host.cjs' : 'host.mjs';
        // Next to the installed bundlers, so that it can import them.
        await consumer.output([consumer.write(`tools/${name}.mjs`, SCRIPTS[name] ?? '')]);
        expect(await runBundle(`out/${name}/${file}`)).toEqual(DELIVERED);
      },
      120_000,
    );
  });
});
