/**
 * Each example runs in its own process, from the built package, as plain JavaScript: the TypeScript loader of
 * `npm start` takes longer to start than most examples take to run.
 */
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ProgramRun, runProgram } from './helpers/child-programs.ts';
import { bundlePrograms, compilePrograms } from './helpers/compile-programs.ts';
import { filesBelow, root, textOf } from './helpers/package-files.ts';
import { quickOrNightly } from './helpers/quick-or-nightly.ts';
import { folderInPackage } from './helpers/temporary-files.ts';

const folderNames = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** test/examples-fleet.server.test.ts runs the fleet. */
const NAMES = folderNames.filter((name) => name !== 'fleet');

const programOf = (name: string): string =>
  name === 'validate-in-tests' ? `${name}/login-record.test` : `${name}/main`;

const folder = folderInPackage(afterAll);

const runs = new Map<string, ProgramRun>();

beforeAll(async () => {
  const programs = [...NAMES.map(programOf), 'shared-file/worker'];
  const sources = programs.map((program) => `examples/${program}.ts`);
  // At night Node follows the package's name itself, as it does for users.
  quickOrNightly(bundlePrograms, compilePrograms)(folder, sources);
  // main.ts starts it by this name.
  symlinkSync('worker.js', join(folder, 'examples/shared-file/worker.ts'));
  const run = async (name: string): Promise<void> => {
    const reporter = name === 'validate-in-tests' ? ['--test-reporter=tap'] : [];
    const program = join(folder, `examples/${programOf(name)}.js`);
    runs.set(name, await runProgram([...reporter, program], { cwd: root }));
  };
  await Promise.all(NAMES.map(run));
});

const linesOf = (name: string): string[] => runs.get(name)?.stdout.trimEnd().split('\n') ?? [];

/** Returns the lines of the tables, without the separators. */
const tableOf = (name: string): string[] => {
  const lines = linesOf(name);
  return lines.slice(lines.indexOf('') + 1).filter((line) => line !== '' && !line.startsWith('--'));
};

const storyOf = (name: string): string[] => linesOf(name).slice(0, linesOf(name).indexOf(''));

describe.each(folderNames)('the example %s', (name) => {
  test('has a README of five lines', () => {
    const readme = textOf(`examples/${name}/README.md`);
    expect(readme.trimEnd().split('\n')).toHaveLength(5);
    expect(textOf('examples/README.md')).toContain(`(${name}/README.md)`);
  });

  test.skipIf(name === 'fleet')('has at most 80 lines', () => {
    const files = filesBelow(`examples/${name}`).filter((file) => file.endsWith('.ts'));
    const texts = files.map((file) => textOf(`examples/${name}/${file}`));
    expect(texts.join('').trimEnd().split('\n').length).toBeLessThanOrEqual(80);
  });
});

test.each(NAMES)('the example %s succeeds, within 80 columns', (name) => {
  expect(runs.get(name)).toMatchObject({ exitCode: 0, stderr: '' });
  expect(linesOf(name).filter(({ length }) => length > 80)).toEqual([]);
});

test('the web application shows both channels, verified signatures and a retry', () => {
  const story = storyOf('web-application');
  expect(story.toSorted()).toEqual(
    [
      '192.0.2.44   200 for /products?search=shoes',
      '203.0.113.9  403 for /products?search=1 union select 2',
      '192.0.2.44   401 for /login {"email":"ada@example.com","password":"a guess"}',
      'receiver     500 for 2 messages; their signature is verified',
      'receiver     204 for 2 messages; their signature is verified',
      'shop         3 log records are written, 2 of 2 messages are delivered',
      'shop         the first log record begins:',
      '{"context":{"actor":{"identifiers":null,"ip":{"address":"203.0.113.9","geo":{},…',
    ].toSorted(),
  );
  expect(tableOf('web-application')).toEqual([
    'Log record                Client       Answer  Webhook message',
    'svc.ev0.threat.attack     203.0.113.9  403     delivered, retry_count 1',
    'svc.ev0.playbook_trigger  203.0.113.9  403     delivered, retry_count 1',
    'svc.ev0.user_event.login  192.0.2.44   401     log-only',
  ]);
});

const SEARCH = '203.0.113.9  403 for /search/7 {"search":"1 union select 2","token":"sesame"}';

test.each(['fastify', 'hono'])('%s blocks an attack, and its record has the request', (host) => {
  expect(storyOf(host).at(-1)).toBe(SEARCH);
  expect(tableOf(host)).toEqual([
    'Log record  svc.ev0.threat.attack',
    'payload     {"ruleset":"sql_injection"}',
    'client      203.0.113.9',
    'user        {"email":"ada@example.com"}',
    'request     POST /search/7',
    'json        {"search":"1 union select 2","token":"[redacted]"}',
    'other       {"params":{"shelf":"7"}}',
    'answer      403, blocked',
  ]);
});

test.each([
  ['koa', '{"search":"1 union select 2"}'],
  ['node-http', '{"page":"../../etc/passwd"}'],
])('%s blocks an attack', (name, query) => {
  expect(tableOf(name)).toContain(`query       ${query}`);
  expect(tableOf(name).at(-1)).toBe('answer      403, blocked');
});

test('a Lambda function delivers before it returns', () => {
  expect(storyOf('lambda')).toEqual([
    '203.0.113.9  200 for shoes; requests at the receiver: 0',
    '203.0.113.9  403 for 1 union select 2; requests at the receiver: 1',
    'receiver     every signature is verified',
  ]);
  expect(tableOf('lambda').at(-1)).toBe('answer      403, blocked');
});

test('node:http blocks deep below its listener', () => {
  expect(storyOf('node-http')).toEqual([
    '203.0.113.9  200 for /manuals?page=tea',
    '203.0.113.9  403 for /manuals?page=../../etc/passwd',
  ]);
});

test("Passport's logins are reported without passwords", () => {
  const table = tableOf('passport');
  expect(table.filter((line) => /^(payload|user|answer) /.test(line))).toEqual([
    'payload     {"success":false}',
    'user        {"username":"ada"}',
    'answer      401',
    'payload     {"success":true}',
    'user        {"id":7,"email":"ada@example.com"}',
    'answer      not yet',
  ]);
  expect(table.join()).not.toMatch(/a guess|open sesame/);
});

test('a batch is sent again after a 503', () => {
  expect(tableOf('send-batch').slice(1)).toEqual([
    '1        2         503     pause      0            verified',
    '2        2         200     delivered  1            verified',
  ]);
});

test('each of many applications gets what its settings select, in its format', () => {
  expect(storyOf('many-applications')).toEqual([
    'shop         its receiver gets format 2; signatures verified',
    'warehouse    its receiver gets format 1; signatures verified',
  ]);
  const skipped = tableOf('many-applications').filter((line) => line.includes('skipped'));
  expect(skipped).toEqual([
    'warehouse    an exploit                 skipped          module-not-selected',
    'warehouse    an update of the incident  skipped          v1-incident-update',
    'warehouse    a playbook                 skipped          playbook-not-selected',
  ]);
});

test('a shared file loses nothing when a worker is killed', () => {
  const story = storyOf('shared-file');
  const accepted = ['worker-1', 'worker-2', 'worker-3'].map(
    (name) => `${name}     100 messages are accepted: they are in the file`,
  );
  expect(story.slice(0, 3).toSorted()).toEqual(accepted);
  expect(story.slice(3)).toEqual([
    expect.stringMatching(/^worker-\d {5}is killed: it sent 10 messages and has no answer yet$/),
    expect.stringMatching(/^worker-\d {5}sends the messages of the killed worker again/),
  ]);
  expect(tableOf('shared-file').slice(2)).toEqual([
    'arrived                        300, 10 of them twice',
    'lost                           0',
  ]);
});

test('a unit test validates records', () => {
  expect(runs.get('validate-in-tests')?.stdout).toContain('\n# pass 2\n# fail 0\n');
});
