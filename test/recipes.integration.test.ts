/**
 * The programs of docs/recipes.md as a reader saves them: beside the packed package, in a folder of their own. NestJS is
 * really started; the route handlers for Next.js are web-standard functions, and called.
 */
import { cpSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contract } from '../src/contract/index.ts';
import { Consumer } from './helpers/consumer.ts';
import { freePort } from './helpers/http.ts';
import { root } from './helpers/package-files.ts';
import { quickOrNightly } from './helpers/quick-or-nightly.ts';

const page = readFileSync(join(root, 'docs/recipes.md'), 'utf8');

/** By the name behind `ts` of each block. */
const files = new Map(
  [...page.matchAll(/^```ts (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
);

const consumer = new Consumer();

beforeAll(() => consumer.install({ byNpm: false }));
afterAll(() => consumer.remove());

/** Writes the page's files, and compiles each one by itself, as the frameworks' own tools do. */
async function compiled(folder: string, replace = (code: string): string => code): Promise<void> {
  const names = [...files.keys()].filter((name) => name.startsWith(`${folder}/`));
  const entryPoints = names.map((name) => consumer.write(name, replace(files.get(name) ?? '')));
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } };
  const outdir = join(consumer.folder, folder, 'out');
  const outbase = join(consumer.folder, folder);
  await build({ entryPoints, outdir, outbase, format: 'esm', platform: 'node', tsconfigRaw });
}

const recordsOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => contract().LogRecord.parse(JSON.parse(line)));

const BLOCKED = {
  context: {
    actor: { ip: { address: '203.0.113.9' } },
    http: { request: { path: '/search/7' }, response: { blocked: true, status: 403 } },
  },
  payload: { ruleset: 'sql_injection' },
};

test('the page has the files of each recipe', () => {
  expect([...files.keys()]).toEqual([
    'nest/security.ts',
    'nest/app.ts',
    'nest/main-express.ts',
    'nest/main-fastify.ts',
    'next/next.config.ts',
    'next/security.ts',
    'next/app/search/[shelf]/route.ts',
    'next/app/hooks/security/route.ts',
    'next/instrumentation.ts',
    'next/instrumentation-node.ts',
  ]);
});

describe('the route handlers for Next.js', () => {
  test('receive, report and block', async () => {
    // Next.js' own bundler finds files without an extension.
    await compiled('next', (code) => code.replaceAll(/(from '\.[^']*)'/g, "$1.js'"));
    consumer.write('package.json', '{"private":true,"type":"module"}');
    const program = consumer.write(
      'next/out/try.js',
      `import { sign } from 'security-event-delivery';
       import { sampleMessage } from 'security-event-delivery/testing';
       import { POST } from './app/hooks/security/route.js';
       import { GET } from './app/search/[shelf]/route.js';
       const body = JSON.stringify([sampleMessage()]);
       const post = async (secret) => {
         const signature = sign(body, secret);
         const headers = { 'content-type': 'application/json', 'x-svc-integrity': signature };
         const request = new Request('http://127.0.0.1/hooks', { method: 'POST', body, headers });
         return (await POST(request)).status;
       };
       const get = async (q) => {
         const headers = { 'x-forwarded-for': '203.0.113.9' };
         const request = new Request('http://127.0.0.1/search/7?q=' + q, { headers });
         return (await GET(request, { params: Promise.resolve({ shelf: '7' }) })).status;
       };
       console.error(await post('a shared secret'), await post('wrong'), await get('a'), await get('union+select'));`,
    );
    const { stdout, stderr, status } = await consumer.node(program);
    expect({ stderr, status }).toEqual({ stderr: '204 401 200 403\n', status: 0 });
    expect(stdout).toContain('security_event');
    expect(recordsOf(stdout)).toMatchObject([
      {
        context: {
          actor: { ip: { address: '203.0.113.9' } },
          http: { request: { parameters: { other: { params: { shelf: '7' } } } } },
        },
      },
    ]);
  });
});

// From a registry, so not for every run.
describe.skipIf(quickOrNightly(true, false))('NestJS', () => {
  beforeAll(async () => {
    const recipes = join(root, 'test/package/recipes');
    for (const file of ['package.json', 'package-lock.json']) {
      cpSync(join(recipes, file), consumer.write(join('nest', file), ''));
    }
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
    const cwd = join(consumer.folder, 'nest');
    const { status, stderr } = await consumer.run('npm', ['ci', ...quiet], cwd);
    if (status !== 0) throw new Error(`npm ci ended with ${status}: ${stderr}`);
  });

  test.each(['main-express', 'main-fastify'])('reports and blocks: %s', async (main) => {
    const port = await freePort({ first: 20_000, count: 10_000 }, []);
    await compiled('nest', (code) => code.replaceAll('3000', String(port)));
    const program = consumer.write(
      `nest/out/try-${main}.js`,
      `import './${basename(main)}.js';
       const get = async (q) => {
         const headers = { 'x-forwarded-for': '203.0.113.9' };
         const response = await fetch('http://127.0.0.1:${port}/search/7?q=' + q, { headers });
         return response.status + ' ' + (await response.text());
       };
       console.error(await get('a'), await get('union+select'));
       process.kill(process.pid, 'SIGTERM');`,
    );
    const { stdout, stderr } = await consumer.node(program);
    expect(stderr).toContain('200 nothing found 403 Forbidden');
    expect(recordsOf(stdout)).toMatchObject([BLOCKED]);
  });
});
