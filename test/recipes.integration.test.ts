/** The recipes of docs/recipes.md, as a reader copies them, with the real frameworks. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sign } from '../src/index.ts';
import { sampleMessage, startReceiver } from '../src/testing/index.ts';
import { runProgram } from './helpers/child-programs.ts';
import { freePort } from './helpers/http.ts';
import { filesBelow, textOf } from './helpers/package-files.ts';
import { fragmentsOf } from './helpers/pages.ts';
import { quickOrNightly } from './helpers/quick-or-nightly.ts';
import { Recipe, request } from './helpers/recipe.ts';
import { folderInPackage } from './helpers/temporary-files.ts';

const BLOCKED = {
  context: {
    actor: { ip: { address: '203.0.113.9' } },
    http: {
      request: { path: '/search/7', parameters: { other: { params: { shelf: '7' } } } },
      response: { blocked: true, status: 403 },
    },
  },
  event_name: 'svc.ev0.threat.attack',
};

const PAGE = textOf('docs/recipes.md');

test('the page links to each file', () => {
  const files = filesBelow('docs/recipes');
  expect(files.filter((name) => !PAGE.includes(`](recipes/${name})`))).toEqual([]);
  expect(files.length).toBeGreaterThan(10);
});

/** The page's fragment in a program that reports one event to the URL. With `isFailing` it ends after an attempt. */
const job = (url: string, ruleset: string, isFailing: boolean): string => {
  const [fragment] = fragmentsOf('recipes.md', PAGE.slice(PAGE.indexOf('## Cron jobs')));
  return `
    import { subscribe } from 'node:diagnostics_channel';
    import { createReporter } from 'security-event-delivery';
    const settled = new Promise((resolve) =>
      subscribe('security-event-delivery:attempt-settled', resolve));
    const reporter = createReporter({
      service: { svc_id: 'job-1', name: 'job', env: 'test' },
      webhook: { url: '${url}', secret: 'a secret', network: 'allow-private' },
    });
    reporter.attack({ ruleset: '${ruleset}' });
    ${isFailing ? 'await settled;' : ''}
    ${fragment?.code.replace('60_000', isFailing ? '1' : '60_000')}`;
};

describe('a cron job', () => {
  const folder = folderInPackage(afterAll);

  test.each([
    ['0 when its messages are delivered', { status: 204, ruleset: 'xss' }, 0, /^$/],
    ['1 when they are not', { status: 503, ruleset: 'xss' }, 1, /status: 503/],
    ['1 when its event is rejected', { status: 204, ruleset: '' }, 1, /log: 1, webhook: 0/],
  ])('exits with %s', async (_, { status, ruleset }, exitCode, output) => {
    const receiver = await startReceiver({ secret: 'a secret', otherwise: { status } });
    const file = join(folder, `job-${status}.mjs`);
    writeFileSync(file, job(receiver.url, ruleset, status === 503));
    const stderr = expect.stringMatching(output);
    expect(await runProgram([file], { cwd: folder })).toMatchObject({ exitCode, stderr });
    await receiver.close();
  });
});

/** Tests of an application, as Nest's starter has them, and an application without HTTP. */
const IN_TESTS = `
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { type ArgumentsHost, Catch, type ExceptionFilter, Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import * as nest from 'security-event-delivery/nest';
import { AppModule } from './app.module.js';

const required = createRequire(import.meta.url)('security-event-delivery/nest');
const { REPORTER, SecurityEventsModule } = nest;
if (required.REPORTER !== REPORTER || Object.keys(nest).length !== 2) throw new Error('two copies');

@Catch()
class OwnFilter implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost): void {
    host.switchToHttp().getResponse().status(500).send('own');
  }
}

@Module({ imports: [AppModule], providers: [{ provide: APP_FILTER, useClass: OwnFilter }] })
class WithFilter {}

const options = { reporter: { service: { svc_id: 'a', name: 'b', env: 'c' } } };
const asynchronous = SecurityEventsModule.forRootAsync({ useFactory: async () => options });
@Module({ imports: [asynchronous] })
class Asynchronous {}

const compile = () => Test.createTestingModule({ imports: [WithFilter] }).compile();
for (const app of [
  (await compile()).createNestApplication(),
  (await compile()).createNestApplication<NestFastifyApplication>(new FastifyAdapter()),
]) {
  await app.listen(0, '127.0.0.1');
  const { status } = await fetch(\`\${await app.getUrl()}/search/7?q=union+select\`, {
    headers: { 'x-forwarded-for': '203.0.113.9' },
  });
  if (status !== 403) throw new Error(String(status));
  await app.close();
}
for (const module of [AppModule, Asynchronous]) {
  await (await NestFactory.createApplicationContext(module)).close();
}
`;

describe('NestJS', () => {
  const recipe = new Recipe();
  let port = 0;

  beforeAll(async () => {
    port = await freePort();
    await recipe.install('nest', (code) => code.replaceAll('3000', String(port)));
    const { folder } = recipe.consumer;
    recipe.consumer.write('in-tests.ts', IN_TESTS);
    const { stdout } = await recipe.consumer.tool('typescript/bin/tsc', '-p', folder);
    if (stdout !== '') throw new Error(stdout);
  });
  afterAll(() => recipe.remove());

  test.each(['main', 'main-fastify'])('reports and blocks: %s', async (main) => {
    const running = await recipe.start([`dist/${main}.js`], port);
    const url = `http://127.0.0.1:${port}/search/7?q=`;
    expect(await request(`${url}shoes`)).toBe('200 nothing found');
    expect(await request(`${url}union+select`)).toBe('403 Forbidden');
    await running.stop();
    expect(running.records()).toMatchObject([BLOCKED]);
  });

  test('captures requests in tests of the application, and starts without HTTP', async () => {
    const running = await recipe.start(['dist/in-tests.js']);
    expect(await running.ended).toBe(0);
    expect(running.records()).toMatchObject([BLOCKED, BLOCKED]);
  });
});

// The installation has 340 MB, and the build takes half a minute.
describe.skipIf(quickOrNightly(true, false))('Next.js', () => {
  const recipe = new Recipe();
  const next = 'node_modules/next/dist/bin/next';
  const env = { NEXT_TELEMETRY_DISABLED: '1', NEXT_MANUAL_SIG_HANDLE: '1' };
  let hook: Awaited<ReturnType<typeof startReceiver>>;

  beforeAll(async () => {
    hook = await startReceiver({ secret: 'a', script: [{ status: 503 }] });
    const webhook = `{ url: '${hook.url}', secret: 'a', network: 'allow-private', schedule: { delaysMs: [1000] } }`;
    await recipe.install('next', (code) =>
      code.replace('  service:', `  webhook: ${webhook},\n  service:`),
    );
    const build = await recipe.start([next, 'build'], undefined, env);
    if ((await build.ended) !== 0) throw new Error(build.output());
  }, 300_000);
  afterAll(async () => {
    recipe.remove();
    await hook.close();
  });

  test('receives, reports, blocks, and delivers the last messages at shutdown', async () => {
    const port = await freePort();
    const running = await recipe.start([next, 'start', '-p', String(port)], port, env);
    const url = `http://127.0.0.1:${port}`;
    const body = JSON.stringify([sampleMessage()]);
    const post = (secret: string): Promise<string> => {
      const headers = { 'content-type': 'application/json', 'x-svc-integrity': sign(body, secret) };
      return request(`${url}/hooks/security`, { method: 'POST', headers, body });
    };
    expect(await post('a shared secret')).toMatch(/^204/);
    expect(await post('wrong')).toMatch(/^401/);
    expect(await request(`${url}/broken`)).toMatch(/^500/);
    expect(await request(`${url}/search/7?q=shoes`)).toBe('200 nothing found');
    expect(await request(`${url}/search/7?q=union+select`)).toBe('403 Forbidden');
    expect(await running.stop()).toBe(0);
    expect(running.output()).toContain('security_event');
    expect(running.records()).toMatchObject([
      {
        context: { http: { request: { path: '/broken' } } },
        payload: { options: { route: '/broken' } },
      },
      BLOCKED,
    ]);
    expect(hook.requests.map(({ step }) => step)).toEqual([{ status: 503 }, { status: 200 }]);
  });
});
