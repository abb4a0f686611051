import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sampleMessage, sampleMessageToSend, sampleMessageV1 } from '../../src/testing/index.ts';
import { verify } from '../../src/webhook/signature.ts';
import { deferred } from '../helpers/promises.ts';
import {
  hang,
  type ReceivedRequest,
  type Receiver,
  respond,
  type Step,
  startReceiver,
} from '../helpers/receiver.ts';
import { temporaryFile, temporaryFolder } from '../helpers/temporary-files.ts';
import {
  type FakeTerminalOptions,
  outcome,
  runCommand,
  startCommand,
} from '../helpers/terminal.ts';

const SECRET = 'secret-of-the-test';
const ENVIRONMENT = { SECURITY_EVENTS_SECRET: SECRET };
const NO_RETRY = ['--retries', 'none'];

const send = (words: readonly string[], options: FakeTerminalOptions = {}) =>
  runCommand(['send', ...words], { environment: ENVIRONMENT, ...options });

/** With ids that contain their number. */
const messages = (count: number): object[] =>
  Array.from({ length: count }, (_, index) => ({
    ...sampleMessageToSend('test'),
    message_id: `id-${index}`,
  }));

const ndjson = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

const valuesOf = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const elementsOf = ({ body }: ReceivedRequest): Record<string, unknown>[] =>
  JSON.parse(body.toString()) as Record<string, unknown>[];

const idsOf = ({ requests }: Receiver): unknown[] =>
  requests.flatMap((request) => elementsOf(request).map(({ message_id }) => message_id));

const idsIn = (file: string): unknown[] =>
  valuesOf(readFileSync(file, 'utf8')).map(({ message_id }) => message_id);

/** The ids of `messages`. */
const ids = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => `id-${from + index}`);

/** A path for undelivered messages. */
const newPath = (): string => join(temporaryFolder(), 'left.ndjson');

describe('send', () => {
  it.each([
    ['a JSON array', JSON.stringify(messages(3), null, 2)],
    ['one on each line', ndjson(messages(3))],
    ['one object', JSON.stringify(messages(1)[0])],
  ])('sends %s from a file, signed', async (_, text) => {
    await using receiver = await startReceiver();
    const { exitCode, stdout, stderr } = await send([receiver.url, temporaryFile(text)]);
    expect([exitCode, stderr]).toEqual([0, '']);
    const count = text.includes('id-2') ? 3 : 1;
    expect(idsOf(receiver)).toEqual(ids(0, count));
    expect(stdout).toMatch(
      new RegExp(`^Delivered ${count} messages? in 1 request, \\d+(\\.\\d)? m?s\\.\\n$`),
    );
    const [request] = receiver.requests;
    expect(verify(request?.body ?? '', request?.headers['x-svc-integrity'], SECRET)).toBe(true);
  });

  it('sends standard input', async () => {
    await using receiver = await startReceiver();
    for (const words of [[receiver.url], [receiver.url, '-']]) {
      expect(await send(words, { input: ndjson(messages(2)) })).toMatchObject({ exitCode: 0 });
    }
    expect(idsOf(receiver)).toEqual(['id-0', 'id-1', 'id-0', 'id-1']);
  });

  it('sends nothing when the input has no messages', async () => {
    await using receiver = await startReceiver();
    for (const input of ['', '\n\n', '[]']) {
      const result = await send([receiver.url], { input });
      expect(result).toEqual(outcome(0, 'Empty input: nothing to send.\n'));
    }
    expect(receiver.requests).toHaveLength(0);
  });

  it('sends again what was received, under its id and as new', async () => {
    await using receiver = await startReceiver();
    const message = sampleMessage('http_scan', { message_id: 'kept', retry_count: 4 });
    expect(await send([receiver.url], { input: ndjson([message]) })).toMatchObject({ exitCode: 0 });
    const [element] = elementsOf(receiver.requests[0] as ReceivedRequest);
    expect(element).toMatchObject({ message_id: 'kept', retry_count: 0, message: message.message });
    expect(element?.['date_created']).not.toBe(message.date_created);
  });

  it('sends format 1 unchanged', async () => {
    await using receiver = await startReceiver();
    const element = sampleMessageV1('pulse');
    await send([receiver.url, '--format', '1'], { input: ndjson([element]) });
    expect(elementsOf(receiver.requests[0] as ReceivedRequest)).toEqual([element]);
  });

  it('accepts unknown words with --dialect open', async () => {
    await using receiver = await startReceiver();
    const input = ndjson([{ ...sampleMessageToSend('http_scan'), message_type: 'of_tomorrow' }]);
    expect(await send([receiver.url], { input })).toMatchObject({ exitCode: 1 });
    expect(await send([receiver.url, '--dialect', 'open'], { input })).toMatchObject({
      exitCode: 0,
    });
  });

  it('sends a thousand at a time, and prints the result as one line of JSON', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 503 }), respond()] });
    const file = temporaryFile(ndjson(messages(1500)));
    const { stdout } = await send([receiver.url, file, '--json', '--retries', '1ms']);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      end: 'complete',
      delivered: 1500,
      undelivered: 0,
      requests: 3,
      retries: 1,
      durationMs: expect.any(Number),
      causes: [],
      sentTo: { line: 1500 },
      readTo: { line: 1500 },
    });
    expect(new Set(idsOf(receiver))).toEqual(new Set(ids(0, 1500)));
  });

  it('shows its progress on a terminal, and clears it', async () => {
    await using receiver = await startReceiver();
    const file = temporaryFile(ndjson(messages(1500)));
    const { stdout, stderr } = await send([receiver.url, file], { isTerminal: true });
    const lines = ['1,000 messages delivered', '1,500 messages delivered', ''];
    expect(stderr).toBe(lines.map((line) => `\r\u001B[K${line}`).join(''));
    expect(stdout).toMatch(/^Delivered 1,500 messages in 2 requests, /);
  });
});

describe('an invalid input', () => {
  const good = sampleMessageToSend('test');
  it.each<[string, string, string]>([
    [
      'a field of another type',
      ndjson([good, { ...good, message: { ...good.message, ips: 1 } }]),
      ':2: message.ips: expected an array, found a number',
    ],
    ['an array’s element', JSON.stringify([good, 7]), ':1[1]: expected an object, found a number'],
    ['a syntax error', `${ndjson([good])}{"a" 1}\n`, ':2: not JSON: syntax error (column 6)'],
    [
      'a captured message of a newer sender',
      ndjson([{ ...sampleMessage('test'), added_later: 1 }]),
      'change the message.\n',
    ],
  ])('is reported, and nothing is sent: %s', async (_, text, expected) => {
    await using receiver = await startReceiver();
    const file = temporaryFile('');
    writeFileSync(file, text, 'latin1');
    for (const words of [[receiver.url, file], [receiver.url]]) {
      const input = [Buffer.from(text, 'latin1')];
      const { exitCode, stdout, stderr } = await send(words, { input });
      expect([exitCode, stdout]).toEqual([1, 'Nothing was sent.\n']);
      expect(stderr).toContain(expected);
      expect(stderr.startsWith(words.length === 1 ? 'standard input:' : `${file}:`)).toBe(true);
    }
    expect(receiver.requests).toHaveLength(0);
  });

  it('is found anywhere in a file before a message is sent', async () => {
    await using receiver = await startReceiver();
    const file = temporaryFile(ndjson([...messages(2500), {}]));
    const left = newPath();
    const { stdout, stderr } = await send([receiver.url, file, '--json', '--undelivered', left]);
    const facts = { ok: false, end: 'invalid-input', delivered: 0 };
    expect(JSON.parse(stdout)).toMatchObject(facts);
    expect(stderr).toMatch(/:2501: message_type: expected [^\n]+\n$/);
    expect([receiver.requests, existsSync(left)]).toEqual([[], false]);
  });

  it('ends a pipe at the error, and saves the messages before it', async () => {
    await using receiver = await startReceiver();
    const input = ndjson([...messages(2500), {}, ...messages(1000)]);
    const left = newPath();
    const words = [receiver.url, '--undelivered', left];
    const { exitCode, stdout, stderr } = await send(words, { input });
    expect(exitCode).toBe(1);
    expect(idsOf(receiver)).toEqual(ids(0, 2000));
    expect(stderr).toMatch(/^standard input:2501: message_type: expected/);
    expect(stdout.split('\n').slice(1)).toEqual([
      'Not sent: everything after line 2,000 (the input is invalid)',
      `Saved 500 messages to ${left}, up to line 2,500`,
      '',
    ]);
    expect(idsIn(left)).toEqual(ids(2000, 2500));
  });
});

/** Refuses the request that holds it. */
const refusing =
  (id: string, status: number): Step =>
  (exchange) =>
    respond({ status: exchange.request.body.includes(`"${id}"`) ? status : 204 })(exchange);

describe('an undelivered message', () => {
  it('is grouped by cause, and saved in a file that can be sent again', async () => {
    await using receiver = await startReceiver({ script: [refusing('id-1500', 500)] });
    const left = newPath();
    const file = temporaryFile(ndjson(messages(2500)));
    const words = [receiver.url, file, ...NO_RETRY, '--undelivered', left];
    const { exitCode, stdout } = await send(words);
    expect(exitCode).toBe(1);
    expect(stdout.split('\n').slice(1)).toEqual([
      'Not delivered: 116 messages',
      '  116  status 500, after all attempts; first: line 1,490, id-1489',
      `Saved 116 messages to ${left}`,
      '',
    ]);
    expect(statSync(left).mode & 0o777).toBe(0o600);
    expect(idsIn(left)).toEqual(ids(1489, 1605));

    await using mended = await startReceiver();
    expect(await send([mended.url, left])).toMatchObject({ exitCode: 0 });
    expect(idsOf(mended)).toEqual(ids(1489, 1605));
  });

  it('is saved under the id that was sent', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 400 })] });
    const left = newPath();
    const { message_id: _, ...message } = sampleMessageToSend('test');
    await send([receiver.url, ...NO_RETRY, '--undelivered', left], { input: ndjson([message]) });
    const [kept] = valuesOf(readFileSync(left, 'utf8'));
    expect(kept).toEqual({ ...message, message_id: idsOf(receiver)[0] });
  });

  it('leaves no file behind if everything was delivered', async () => {
    await using receiver = await startReceiver();
    const left = newPath();
    const input = ndjson(messages(1));
    const { exitCode } = await send([receiver.url, '--undelivered', left], { input });
    expect([exitCode, existsSync(left)]).toEqual([0, false]);
  });

  it.each(['an earlier run', 'the input'])('never overwrites the file of %s', async (what) => {
    await using receiver = await startReceiver();
    const left = temporaryFile(ndjson(messages(1)));
    const file = what === 'the input' ? left : temporaryFile(ndjson(messages(2)));
    expect(await send([receiver.url, file, '--undelivered', left])).toEqual(
      outcome(3, '', `security-events: ${left}: file already exists\n`),
    );
    expect([receiver.requests, idsIn(left)]).toEqual([[], ids(0, 1)]);
  });

  it('has the rest saved, and not sent, if the receiver is down', async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const input = ndjson(messages(2500));
    const words = [receiver.url, ...NO_RETRY];
    const down =
      'Not sent: everything after line 1,000 (the receiver accepted none of the last messages)';
    for (const file of [temporaryFile(input), '-']) {
      const left = newPath();
      const saving = [...words, file, '--undelivered', left];
      const { exitCode, stdout } = await send(saving, { input });
      expect(exitCode).toBe(1);
      expect(stdout).toContain('Delivered 0 messages in 1 request,');
      expect(stdout).toContain('  1,000  connection-refused, after all attempts;');
      expect(stdout).toContain(`\n${down}\nSaved 2,500 messages to ${left}\n`);
      expect(idsIn(left)).toEqual(ids(0, 2500));
    }
    const { stdout } = await send(words, { input });
    expect(stdout).toContain(`\n${down}\n`);
    const { stdout: whole } = await send(words, { input: ndjson(messages(1000)) });
    expect(whole).not.toContain('Not sent');
  });

  it('does not delay the others when it is too large for a request', async () => {
    await using receiver = await startReceiver();
    const [first, , third] = messages(3);
    const content = { humanized_description: 'x'.repeat(1_100_000) };
    const large = sampleMessageToSend('test', { message: content });
    const left = newPath();
    const input = ndjson([first, large, third]);
    const { stdout } = await send([receiver.url, '--undelivered', left], { input });
    expect(idsOf(receiver)).toEqual(['id-0', 'id-2']);
    expect(stdout).toContain('  1  too large for a request; line 2\n');
    // The hints of the library name its options.
    expect(stdout).not.toContain('`');
    expect(valuesOf(readFileSync(left, 'utf8'))).toEqual([large]);
  });

  it('is grouped by cause for programs', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 422 })] });
    const input = JSON.stringify(messages(1200));
    const { stdout } = await send([receiver.url, '--json', ...NO_RETRY], { input });
    const first = { line: 1, index: 0, message_id: 'id-0' };
    const causes = [{ count: 1200, first, reason: 'attempts-exhausted', status: 422 }];
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      delivered: 0,
      undelivered: 1200,
      causes,
    });
  });
});

describe('Ctrl-C', () => {
  it('ends a request, reports the unsent messages and saves them', async () => {
    await using receiver = await startReceiver({ script: [respond(), hang()] });
    const left = newPath();
    const file = temporaryFile(ndjson(messages(2500)));
    const words = ['send', receiver.url, file, '--undelivered', left];
    const command = startCommand(words, { environment: ENVIRONMENT });
    await receiver.received(2);
    command.terminal.interrupt();
    expect(await command.ended).toBe(130);
    const stdout = command.terminal.stdout();
    expect(stdout).toMatch(/^Delivered 1,000 messages in 2 requests, /);
    expect(stdout).toContain('  1,000  aborted, interrupted; first: line 1,001, id-1000\n');
    expect(stdout).toContain('\nNot sent: everything after line 2,000 (interrupted)\n');
    expect(stdout).toContain(`\nSaved 1,000 messages to ${left}, up to line 2,000\n`);
    expect(idsIn(left)).toEqual(ids(1000, 2000));
  });

  it('ends the wait for standard input', async () => {
    await using receiver = await startReceiver();
    const asked = deferred();
    async function* never(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(ndjson(messages(1)));
      asked.resolve();
      await new Promise(() => undefined);
    }
    const options = { environment: ENVIRONMENT, input: never() };
    const command = startCommand(['send', receiver.url], options);
    await asked.promise;
    command.terminal.interrupt();
    expect(await command.ended).toBe(130);
    expect(command.terminal.stdout()).toBe('Nothing was sent.\n');
    expect(receiver.requests).toHaveLength(0);
  });
});

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from(ndjson(messages(2500)));
  throw Object.assign(new Error('read'), { code: 'EIO', syscall: 'read' });
}

it('reports what was sent before the input failed', async () => {
  await using receiver = await startReceiver();
  const { exitCode, stdout, stderr } = await send([receiver.url], { input: broken() });
  expect(exitCode).toBe(3);
  expect(stdout).toMatch(/^Delivered 2,000 messages in 2 requests, /);
  expect(stdout).toContain('after line 2,000 (the input could not be read)\n');
  expect(stderr).toBe('security-events: i/o error\n');
});

it.each([
  [['http://localhost/', 'gone.ndjson'], 'gone.ndjson: no such file or directory'],
  [['http://localhost/', '--undelivered', 'gone/left'], 'gone/left: no such file or directory'],
])('send %j exits with 3: %s', async (words, message) => {
  expect(await send(words)).toEqual(outcome(3, '', `security-events: ${message}\n`));
});
