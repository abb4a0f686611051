import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { sampleMessage, sampleMessageV1, sampleRecord } from '../../src/testing/index.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-files.ts';
import { type FakeTerminal, fakeTerminal, outcome, runCommand } from '../helpers/terminal.ts';

const validate = (input: string | Iterable<string | Uint8Array>, ...words: readonly string[]) =>
  runCommand(['validate', ...words], { input });
const ndjson = (...values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

const record = sampleRecord();
const logLine = { ...record, trace_id: '0'.repeat(32) };
const event = sampleMessage('security_event');
const messageV1 = sampleMessageV1('pulse');

describe('a valid input', () => {
  it.each([
    ['a record', ndjson(record), '1 record: valid'],
    ['a line', ndjson(logLine), '1 log line: valid'],
    [
      'all of them, line by line',
      ndjson(record, event, logLine, record, messageV1),
      '2 records, 1 message, 1 log line, 1 format 1 message: valid',
    ],
    ['a body', ndjson([event, event]), '2 messages: valid'],
    ['a body over many lines', JSON.stringify([messageV1], null, 2), '1 format 1 message: valid'],
  ])('is %s, recognised by itself', async (_, input, summary) => {
    expect(await validate(input)).toEqual(outcome(0, '', `${summary}\n`));
  });

  it.each([
    ['record', ndjson(record), '1 record'],
    ['line', ndjson(logLine, record), '2 log lines'],
    ['message', ndjson(event, [event]), '2 messages'],
    ['message-v1', ndjson(messageV1), '1 format 1 message'],
    ['body', ndjson([event], [event]), '2 messages'],
    ['body-v1', ndjson([messageV1]), '1 format 1 message'],
  ])('is checked as a %s with --as', async (as, input, what) => {
    expect(await validate(input, '--as', as)).toEqual(outcome(0, '', `${what}: valid\n`));
  });
});

it.each(['', '\n \n', '[]'])('an empty input is not valid: %j', async (input) => {
  expect(await validate(input)).toEqual(outcome(1, '', 'empty input: nothing to check\n'));
});

describe('options', () => {
  const open = { ...record, context: { ...record.context }, payload: { ruleset: 'own' } };

  it.each([
    [[], 1],
    [['--dialect', 'open'], 0],
    [['--dialect', 'strict', '--reading', 'received'], 1],
  ])('%j choose the dialect', async (words, exitCode) => {
    expect(await validate(ndjson(open), ...words)).toMatchObject({ exitCode });
  });

  it.each([
    [[], 1],
    [['--reading', 'received'], 0],
  ])('%j choose the reading', async (words, exitCode) => {
    expect(await validate(ndjson({ ...event, more: 1 }), ...words)).toMatchObject({ exitCode });
  });
});

describe('several inputs', () => {
  it('are read in order, standard input too', async () => {
    const first = temporaryFile(ndjson(record), 'first.ndjson');
    const second = temporaryFile(JSON.stringify([5]), 'second.json');
    const { exitCode, stdout, stderr } = await validate(ndjson(6), first, '-', second);
    expect(exitCode).toBe(1);
    expect(stdout.split('\n').map((text) => text.split(': ')[0])).toEqual([
      'standard input:1',
      `${second}:1[0]`,
      '',
    ]);
    expect(stderr).toBe('1 record, 2 unknown values: 2 issues in 2 of them\n');
  });

  it('end with exit code 3 at an unreadable one', async () => {
    const path = join(temporaryFolder(), 'gone');
    const right = temporaryFile(ndjson(record), 'right.ndjson');
    expect(await validate('', right, path)).toEqual(
      outcome(3, '', `security-events: ${path}: no such file or directory\n`),
    );
  });
});

describe('an ended command', () => {
  it.each([
    ['interrupted', 130, (terminal: FakeTerminal) => terminal.interrupt()],
    ['without a reader', 1, (terminal: FakeTerminal) => terminal.closeOutput()],
  ])('reads no more when it is %s', async (_, expected, end) => {
    let asked = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; asked < 100; asked += 1) {
        if (asked === 2) end(terminal);
        yield Buffer.from('1\n');
      }
    }
    const terminal = fakeTerminal({ input: endless() });
    expect(await runCommandLine(['validate'], terminal)).toBe(expected);
    expect(asked).toBe(2);
    expect(terminal.stdout().split('\n')).toHaveLength(3);
  });
});

it('paints only on terminals', async () => {
  const terminal = fakeTerminal({ input: '5\n', hasColours: true });
  await runCommandLine(['validate'], terminal);
  expect(terminal.stdout()).toContain('\u001b[1mstandard input:1\u001b[22m: expected');
  expect(terminal.stderr()).toContain('\u001b[31m1 unknown value: 1 issue in 1 of them');
});
