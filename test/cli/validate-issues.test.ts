/** How `validate` reports values that break the contract. */
import { describe, expect, it, test } from 'vitest';
import { sampleMessage, sampleRecord } from '../../src/testing/index.ts';
import { outcome, runCommand } from '../helpers/terminal.ts';

const validate = (input: string | Iterable<string | Uint8Array>, ...words: readonly string[]) =>
  runCommand(['validate', ...words], { input });
const ndjson = (...values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

const record = sampleRecord();
const event = sampleMessage('security_event');
const wrongRecord = { ...record, payload: { ruleset: 'own' } };
const RULESETS =
  'expected one of "java_injection", "security_scanner", "nosql_injection", "js_injection", "sql_injection", "php_eval", "rfi", "shell_injection", "crs", "lfi", "xss", "protocol", found "own"';

const unknown =
  'expected an object with one of the keys `svc_payload_type`, `message_type`, `event_name`, found';

const RECEIVED =
  'If you received these messages, use --reading received: it accepts what newer senders add.\n';

describe('issues', () => {
  it('are printed with line, shape, path, expected and found', async () => {
    const input = ndjson(record, wrongRecord, { ...event, retry_count: -1 });
    const issues =
      `standard input:2: record: payload.ruleset: ${RULESETS}\n` +
      'standard input:3: message: retry_count: expected at least 0, found -1\n';
    expect(await validate(input)).toEqual(
      outcome(1, issues, '2 records, 1 message: 2 issues in 2 of them\n'),
    );
  });

  it('have the line and the index of an element of an array', async () => {
    const input = JSON.stringify([event, { ...event, message_id: '' }], null, 1);
    expect((await validate(input)).stdout).toBe(
      'standard input:1[1]: message: message_id: expected a non-empty string, found an empty string\n',
    );
  });

  it('are printed as one line of JSON each with --json', async () => {
    const { stdout, exitCode } = await validate(ndjson([event, 5], wrongRecord, 'x'), '--json');
    const issues = stdout.split('\n').slice(0, -1);
    const file = 'standard input';
    expect(exitCode).toBe(1);
    expect(issues.map((text) => JSON.parse(text) as unknown)).toEqual([
      { file, line: 1, index: 1, path: [], message: `${unknown} a number` },
      { file, line: 2, as: 'record', path: ['payload', 'ruleset'], message: RULESETS },
      { file, line: 3, path: [], message: `${unknown} a string` },
    ]);
  });

  it.each([
    ['a number', '5', `${unknown} a number`],
    ['an array in an array', '[[]]', `${unknown} an array`],
    ['a foreign object', '{"a":"secret"}', `${unknown} an object without them`],
    ['no JSON', '{"a":secret}', 'not JSON: syntax error (column 6)'],
  ])('report %s without quoting the value', async (_, input, expected) => {
    const { exitCode, stdout, stderr } = await validate([input]);
    expect(exitCode).toBe(1);
    expect(stdout.replace(/^standard input:1(\[0\])?: /, '')).toBe(`${expected}\n`);
    expect(stderr).not.toContain('secret');
  });

  it.each([
    ['[]', 'body', 'expected at least 1 elements, found 0'],
    ['[]', 'body-v1', 'expected at least 1 elements, found 0'],
    ['{}', 'body', 'expected an array, found an object'],
  ])('report %s instead of a %s', async (input, as, issue) => {
    const { exitCode, stdout } = await validate(input, '--as', as);
    expect(exitCode).toBe(1);
    expect(stdout).toBe(`standard input:1: ${as}: ${issue}\n`);
  });

  it('report a body, but no other list, with more than 1000 messages', async () => {
    const many = JSON.stringify(Array(1001).fill(event));
    expect(await validate(many, '--as', 'message')).toMatchObject({ exitCode: 0, stdout: '' });
    const issue = 'standard input:1: body: expected at most 1000 elements, found 1001\n';
    expect(await validate(many, '--as', 'body')).toEqual(
      outcome(1, issue, '1,001 messages: 1 issue\n'),
    );
    const most = JSON.stringify(Array(1000).fill(event));
    expect(await validate(most, '--as', 'body')).toMatchObject({ exitCode: 0 });
  });

  it('do not show keys that are long, unusual or control a terminal', async () => {
    const input = ndjson({ ...record, '\u001b[2Jé\u202e': 1 });
    const { stdout } = await validate(input);
    expect(stdout).toContain('unknown key "\\u001b[2Jé\\u202e"');
    const custom = sampleRecord('svc.ev0.user_event.login', {});
    const actor = { identifiers: { 'jane doe': [] } };
    const odd = { ...custom, context: { ...custom.context, actor } };
    const { stdout: result } = await validate(ndjson(odd), '--json');
    expect(result).not.toContain('jane doe');
    expect(result).toContain('"path":["context","actor","identifiers","…"]');
  });
});

it('checks the next value after one with great depth or countless issues', async () => {
  const depth = 250_000;
  const deep = '['.repeat(depth) + ']'.repeat(depth);
  const many = JSON.stringify({
    ...event,
    message: { ips: Array(10_000).fill(1) },
  });
  const { exitCode, stdout, stderr } = await validate(
    `{"event_name":${deep}}\n${many}\n${ndjson(record)}`,
  );
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^standard input:1: record: [^\n]*\nstandard input:2: message: /);
  expect(stderr).toMatch(/^2 records, 1 message: 1,0\d\d issues in 2 of them/);
});

it('shows the first keys of a deep path', async () => {
  const deep = `${'{"a":'.repeat(501)}1${'}'.repeat(501)}`;
  const custom = sampleRecord('svc.ev0.custom_event');
  const text = JSON.stringify(custom).replace(/"options":\{[^}]*\}/, `"options":${deep}`);
  const { stdout } = await validate(text, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    path: ['payload', 'options', ...Array(10).fill('a'), '…'],
    message: 'expected at most 500 levels of nesting, found more',
  });
});

test.each<[string, object, readonly string[], string]>([
  ['unknown keys', { ...event, more: 1 }, [], RECEIVED],
  ['unknown keys, and a reading', { ...event, more: 1 }, ['--reading', 'emitted'], ''],
  ['other errors', { ...event, retry_count: -1 }, [], ''],
  ['unknown keys of a record', { ...record, context: { more: 1 } }, [], ''],
])('suggests the received reading for a message: %s', async (_, value, words, hint) => {
  const { stderr } = await validate(ndjson(value), ...words);
  expect(stderr.split('\n').slice(1).join('\n')).toBe(hint);
});
