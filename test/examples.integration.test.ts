/**
 * Each example is run as a process of its own, from the built package, as plain JavaScript, which a
 * bundler made of it: the TypeScript loader, with which `npm start` runs it, takes longer to start than
 * they take to run.
 */
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract } from '../src/contract/index.ts';
import { type ProgramRun, runProgram } from './helpers/child-programs.ts';
import { bundlePrograms, compilePrograms } from './helpers/compile-programs.ts';
import { root } from './helpers/package-files.ts';
import { quickOrNightly } from './helpers/quick-or-nightly.ts';

const WEB_APPLICATION = 'examples/web-application/main';
const RECEIVER = 'examples/web-application/receiver';
const BATCH = 'examples/send-batch';
const EXPRESS = 'examples/express';
const NODE_HTTP = 'examples/node-http';
const FASTIFY = 'examples/fastify';
const HONO = 'examples/hono';
const PASSPORT = 'examples/passport';
const SHARED_FILE = 'examples/shared-file';
const IN_TESTS = 'examples/validate-in-tests/login-record.test';

// Inside the package, since that is where its name leads to itself.
mkdirSync(join(root, 'reports'), { recursive: true });
const folder = mkdtempSync(join(root, 'reports/examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runCompiled = (
  program: string,
  options: { args?: string[]; env?: Record<string, string>; stdout?: number } = {},
): Promise<ProgramRun> =>
  runProgram([...(options.args ?? []), join(folder, `${program}.js`)], { cwd: root, ...options });

/** The lines of the summary: which table, what, expected, arrived. */
function summaryOf({ stderr }: ProgramRun): string[] {
  let table = '';
  return stderr.split('\n').flatMap((line) => {
    table = /^(.+?) +expected +arrived$/.exec(line)?.[1] ?? table;
    const [, what, expected, arrived] =
      /^ {2}(.+?) +(\d+) +(\d+)(?: {3}<- differs)?$/.exec(line) ?? [];
    return what === undefined ? [] : [`${table}: ${what}: ${expected}, ${arrived}`];
  });
}

/** Those of them that differ. */
const differences = (run: ProgramRun): string[] =>
  summaryOf({ ...run, stderr: run.stderr.replace(/^ {2}.*\d$\n/gm, '') });

// Many programs at once, on a machine that is busy with other tests.
const SLOW = { timeout: 60_000 };

function runOnFullDisk(): Promise<ProgramRun> {
  const fullDisk = openSync('/dev/full', 'w');
  const options = { env: { EXAMPLE_FAULT: 'lost-message' }, stdout: fullDisk };
  return runCompiled(WEB_APPLICATION, options).finally(() => closeSync(fullDisk));
}

const sourceOf = (program: string): string => `${program}.ts`;

/** All at the same time: they wait for each other's requests most of theirs. */
function runAll() {
  const hosts = [EXPRESS, NODE_HTTP, FASTIFY, HONO, PASSPORT];
  const once = [BATCH, ...hosts, IN_TESTS, SHARED_FILE].map(sourceOf);
  // Three runs of two processes each.
  const often = [WEB_APPLICATION, RECEIVER].map(sourceOf);
  // Node follows the package's name to its modules where that has time: half of the work of each.
  if (quickOrNightly(false, true)) compilePrograms(folder, once);
  bundlePrograms(folder, quickOrNightly([...often, ...once], often));
  // The application starts it by this name, which the compiler leaves as it is in a string.
  symlinkSync('receiver.js', join(folder, `${RECEIVER}.ts`));
  return {
    whole: runCompiled(WEB_APPLICATION),
    otherSecret: runCompiled(WEB_APPLICATION, { env: { EXAMPLE_FAULT: 'wrong-secret' } }),
    onFullDisk: runOnFullDisk(),
    batch: runCompiled(BATCH),
    express: runCompiled(EXPRESS),
    nodeHttp: runCompiled(NODE_HTTP),
    fastify: runCompiled(FASTIFY),
    hono: runCompiled(HONO),
    passport: runCompiled(PASSPORT),
    sharedFile: runCompiled(SHARED_FILE),
    inTests: runCompiled(IN_TESTS, { args: ['--test-reporter=tap'] }),
  };
}

let runs: ReturnType<typeof runAll>;
beforeAll(() => {
  runs = runAll();
});

const visits = ({ stderr }: ProgramRun): string[] =>
  stderr.split('\n').filter((line) => line.startsWith('visitor'));

/** What a program printed, one record a line. */
const recordsOf = ({ stdout }: ProgramRun) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => contract().LogRecord.parse(JSON.parse(line)));

/** What an application's receiver says. */
const storyOf = ({ stderr }: ProgramRun, application: string): string[] =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith(`receiver    ${application} `))
    .map((line) => line.slice(`receiver    ${application} `.length));

const SHOP_EVENTS = [
  'svc.ev0.threat.attack',
  'svc.ev0.incident',
  'svc.ev0.threat.attack',
  'svc.ev0.incident',
  'svc.ev0.playbook_trigger',
  'svc.ev0.threat.vulnerability_exploit',
  'svc.ev0.user_event.signup',
  'svc.ev0.user_event.login',
  'svc.ev0.custom_event',
];
const WAREHOUSE_EVENTS = ['svc.ev0.user_event.login', ...SHOP_EVENTS.slice(0, 6)];

describe('the web applications', SLOW, () => {
  it('end by themselves with exit code 0 and a summary without a difference', async () => {
    const run = await runs.whole;
    expect(run.stderr).toContain('\nEverything expected arrived.\n');
    expect(differences(run)).toEqual([]);
    expect(run.exitCode).toBe(0);
  });

  it('answer attacks and exploits with 403 and let everybody else through', async () => {
    expect(visits(await runs.whole)).toEqual([
      'visitor     shop 200: GET /products?search=shoes',
      "visitor     shop 403: GET /products?search=' OR 'a'='a",
      "visitor     shop 403: GET /products?search=x'; DROP TABLE users; --",
      'visitor     shop 403: GET /manuals?page=../../etc/passwd',
      'visitor     shop 201: POST /signup',
      'visitor     shop 401: POST /login',
      'visitor     shop 201: POST /orders',
      'visitor     warehouse 204: POST /login?badge=1815',
      'visitor     warehouse 200: GET /stock?item=shoes',
      "visitor     warehouse 403: GET /stock?item=' OR 'a'='a",
      "visitor     warehouse 403: GET /stock?item=x'; DROP TABLE users; --",
      'visitor     warehouse 403: GET /labels?file=../../etc/passwd',
    ]);
  });

  it('print nothing but valid log lines on standard output, one of each event', async () => {
    const { stdout } = await runs.whole;
    const lines = stdout.trimEnd().split('\n');
    const records = lines.map((line) => contract().LogLine.parse(JSON.parse(line)));
    const told = records.map(({ context, event_name }) => [context.service.svc_id, event_name]);
    expect(told).toEqual([
      ...SHOP_EVENTS.map((event) => ['shop-1', event]),
      ...WAREHOUSE_EVENTS.map((event) => ['warehouse-1', event]),
    ]);
    expect(stdout).toBe(`${lines.join('\n')}\n`);
  });

  it('take the context of a record from the request that caused it', async () => {
    const [attack] = recordsOf(await runs.whole);
    expect(attack?.context.actor?.ip).toMatchObject({
      address: '203.0.113.9',
      metadata: { loopback: false, version: 4 },
    });
    expect(attack?.context.http?.response).toEqual({ blocked: true, status: 403 });
    expect(attack?.context.http?.request).toMatchObject({
      host: '127.0.0.1',
      parameters: { query: { search: "' OR 'a'='a" } },
      path: '/products',
      remote_ip: '203.0.113.9',
      scheme: 'http',
      verb: 'GET',
    });
  });

  it('have in a record who it was and how the request was answered, by whatever host', async () => {
    const users = recordsOf(await runs.whole)
      .filter(({ event_name }) => event_name.startsWith('svc.ev0.user_event'))
      .map(({ context }) => [context.actor?.identifiers, context.http?.response?.status]);
    expect(users).toEqual([
      [{ email: 'ada@example.com' }, 201],
      [{ email: 'ada@example.com' }, 401],
      [{ badge: '1815' }, 204],
    ]);
  });

  it.each(['shop-1', 'warehouse-1'])(
    'have the incident of %s created, then updated',
    async (id) => {
      const incidents = recordsOf(await runs.whole).flatMap(({ context, event_name, payload }) =>
        context.service.svc_id === id && event_name === 'svc.ev0.incident' ? [payload] : [],
      );
      expect(incidents.map(({ event_type }) => event_type)).toEqual(['create', 'update']);
      expect(incidents[0]?.incident_id).toBe(incidents[1]?.incident_id);
    },
  );

  it('keep passwords out of the records', async () => {
    expect((await runs.whole).stdout).not.toContain('a guess');
    expect((await runs.whole).stdout).toContain('ada@example.com');
  });

  it('have the first request refused once, and its messages delivered with retry_count 1', async () => {
    const run = await runs.whole;
    const [first, ...others] = storyOf(run, 'shop');
    expect(first).toBe('500: the first request is refused, signature ok');
    // What else is in the first request, and what goes on meanwhile, is a question of milliseconds.
    expect(others).toContain('204: security_event, retry_count 1, signature ok');
    const told = others.map(
      (line) => /^204: (\w+), retry_count [01], signature ok$/.exec(line)?.[1] ?? line,
    );
    expect(told.toSorted()).toEqual([
      'injection_sql',
      'injection_sql',
      'security_event',
      'security_event',
      'security_event',
      'security_response',
    ]);
  });

  it('deliver in format 1 to the other receiver, by the secret that is its own', async () => {
    const [first, ...others] = storyOf(await runs.whole, 'warehouse');
    expect(first).toBe('500: the first request is refused, signature ok');
    expect(others.toSorted()).toEqual([
      '204: pulse, signature ok',
      '204: security_event, signature ok',
      '204: security_event, signature ok',
    ]);
  });

  it('count what is not to be sent, by the selection and by the format of each application', async () => {
    const skipped = summaryOf(await runs.whole).filter((line) => line.includes('not to be sent'));
    expect(skipped).toEqual([
      'shop: channel B, not to be sent: log-only: 3, 3',
      'warehouse: channel B, not to be sent: log-only: 1, 1',
      'warehouse: channel B, not to be sent: module-not-selected: 1, 1',
      'warehouse: channel B, not to be sent: playbook-not-selected: 1, 1',
      'warehouse: channel B, not to be sent: v1-incident-update: 1, 1',
    ]);
  });

  it('exit with 1 and name what is missing where the secrets of the two ends of one differ', async () => {
    const run = await runs.otherSecret;
    // Nothing of the other application is among them.
    expect(differences(run)).toEqual([
      'shop: channel B, messages: security_event: 3, 0',
      'shop: channel B, messages: injection_sql: 2, 0',
      'shop: channel B, messages: security_response: 1, 0',
      'shop: channel B, delivery: requests refused at first: 1, 0',
      'shop: channel B, delivery: messages undelivered: 0, 6',
      expect.stringMatching(/^shop: channel B, delivery: requests with a bad signature: 0, \d+$/),
    ]);
    expect(run.stderr).toContain('\nSomething expected did not arrive.\n');
    expect(run.exitCode).toBe(1);
  });

  // Two faults in one run, since each run costs seconds; every line of the summary is on its own.
  it('name each record that a full disk took and the one message that the receiver lost', async () => {
    const run = await runs.onFullDisk;
    expect(differences(run)).toEqual([
      'shop: channel A, records: svc.ev0.threat.attack: 2, 0',
      'shop: channel A, records: svc.ev0.threat.vulnerability_exploit: 1, 0',
      'shop: channel A, records: svc.ev0.incident create: 1, 0',
      'shop: channel A, records: svc.ev0.incident update: 1, 0',
      'shop: channel A, records: svc.ev0.playbook_trigger: 1, 0',
      'shop: channel A, records: svc.ev0.user_event.signup: 1, 0',
      'shop: channel A, records: svc.ev0.user_event.login: 1, 0',
      'shop: channel A, records: svc.ev0.custom_event: 1, 0',
      'shop: channel B, messages: security_response: 1, 0',
      'warehouse: channel A, records: svc.ev0.threat.attack: 2, 0',
      'warehouse: channel A, records: svc.ev0.threat.vulnerability_exploit: 1, 0',
      'warehouse: channel A, records: svc.ev0.incident create: 1, 0',
      'warehouse: channel A, records: svc.ev0.incident update: 1, 0',
      'warehouse: channel A, records: svc.ev0.playbook_trigger: 1, 0',
      'warehouse: channel A, records: svc.ev0.user_event.login: 1, 0',
    ]);
    expect(run.exitCode).toBe(1);
    // The visitors noticed nothing.
    expect(visits(run)).toEqual(visits(await runs.whole));
  });

  it('tell of every record that a full disk took', async () => {
    const { stderr } = await runs.onFullDisk;
    const told = stderr.split('\n').filter((line) => line.startsWith('reporter '));
    expect(told).toHaveLength(SHOP_EVENTS.length + WAREHOUSE_EVENTS.length);
    expect(told[0]).toBe('reporter    shop attack (log): ERR_WRITE_FAILED');
  });
});

describe('the examples of hosts', SLOW, () => {
  it('tell of logins and a blocked attack in Express', async () => {
    const run = await runs.express;
    expect(run.stderr.trimEnd().split('\n')).toEqual([
      '401 /login',
      '204 /login',
      '200 /products/tea',
      '403 /products/tea?q=1+UNION+SELECT+1',
    ]);
    const records = recordsOf(run);
    expect(records.map(({ payload }) => payload)).toEqual([
      { success: false },
      { success: true },
      { ruleset: 'sql_injection' },
    ]);
    expect(records.map(({ context }) => context.actor?.identifiers)).toEqual([
      { email: 'ada@example.com' },
      { email: 'ada@example.com' },
      null,
    ]);
    expect(records.map(({ context }) => context.http?.request.parameters)).toEqual([
      { json: { email: 'ada@example.com', password: '[redacted]' } },
      { json: { email: 'ada@example.com', password: '[redacted]' } },
      { query: { q: '1 UNION SELECT 1' }, other: { params: { kind: 'tea' } } },
    ]);
    const clients = records.map(({ context }) => context.http?.request.remote_ip);
    expect(new Set(clients)).toEqual(new Set(['203.0.113.9']));
    expect(records.at(-1)?.context.http?.response).toEqual({ blocked: true, status: 403 });
    expect(run.exitCode).toBe(0);
  });

  it.each(['fastify', 'hono'] as const)('block an attack in %s, with its body', async (host) => {
    const run = await runs[host];
    expect(run.stderr).toBe('200 nothing found\n403 Forbidden\n');
    const [record, ...others] = recordsOf(run);
    expect(others).toEqual([]);
    expect(record?.context.actor?.identifiers).toEqual({ email: 'ada@example.com' });
    expect(record?.context.http).toMatchObject({
      request: {
        parameters: {
          json: { search: '1 UNION SELECT 1', token: '[redacted]' },
          other: { params: { shelf: '7' } },
        },
        path: '/search/7',
        remote_ip: '203.0.113.9',
        verb: 'POST',
      },
      response: { blocked: true, status: 403 },
    });
    expect(run.exitCode).toBe(0);
  });

  it('tell of the logins that Passport decides', async () => {
    const run = await runs.passport;
    expect(run.stderr).toBe('401 Unauthorized\n200 welcome\n');
    expect(recordsOf(run)).toMatchObject([
      {
        payload: { success: false },
        context: {
          actor: { identifiers: { username: 'ada' } },
          http: { response: { status: 401 } },
        },
      },
      {
        payload: { success: true },
        context: { actor: { identifiers: { id: 7, email: 'ada@example.com' } } },
      },
    ]);
    expect(run.stdout).not.toMatch(/a guess|open sesame/);
    expect(run.exitCode).toBe(0);
  });

  it('block a request deep below a listener of node:http', async () => {
    const run = await runs.nodeHttp;
    expect(run.stderr.trimEnd().split('\n')).toEqual([
      '200 the page: /manuals?page=tea',
      '403 Forbidden: /manuals?page=../../etc/passwd',
    ]);
    const records = recordsOf(run);
    expect(records).toMatchObject([
      {
        payload: { ruleset: 'lfi' },
        context: {
          http: {
            request: { path: '/manuals', user_agent: 'a visitor', remote_ip: '127.0.0.1' },
            response: { blocked: true, status: 403 },
          },
        },
      },
    ]);
    expect(run.exitCode).toBe(0);
  });
});

describe('the other examples', SLOW, () => {
  it('send a batch in one request', async () => {
    const run = await runs.batch;
    expect(run).toEqual({ exitCode: 0, stdout: 'delivered 2 of 2 in 1 request\n', stderr: '' });
  });

  it('share a queue in a file, and lose nothing when a worker is killed', async () => {
    const { exitCode, stdout, stderr } = await runs.sharedFile;
    const lines = stdout.trimEnd().split('\n');
    const accepted = ['worker-1', 'worker-2', 'worker-3'].map(
      (name) => `${name}  accepted 100 messages: they are in the file`,
    );
    expect(lines.slice(0, 3).toSorted()).toEqual(accepted);
    expect(lines.slice(3)).toEqual([
      expect.stringMatching(/^worker-\d {2}killed: it sent 10 messages and has no answer yet$/),
      expect.stringMatching(/^worker-\d {2}sent these 10 again, after the lease$/),
      'receiver  has 300 of 300 messages, 10 of them came twice',
      'main      Nothing was lost.',
    ]);
    expect(lines.filter(({ length }) => length > 80)).toEqual([]);
    expect([exitCode, stderr]).toEqual([0, '']);
  });

  it('validate records in a unit test', async () => {
    const run = await runs.inTests;
    expect(run.stdout).toContain('\n# pass 2\n# fail 0\n');
    expect(run.exitCode).toBe(0);
  });
});
