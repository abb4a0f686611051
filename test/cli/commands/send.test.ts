import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { sampleMessage, sampleMessageToSend, sampleMessageV1 } from '../../../src/testing/index.ts';
import { verify } from '../../../src/webhook/signature.ts';
import { deferred } from '../../helpers/promises.ts';
import {
  hang,
  type ReceivedRequest,
  type Receiver,
  respond,
  type Step,
  startReceiver,
} from '../../helpers/receiver.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';
import {
  type FakeTerminalOptions,
  fakeTerminal,
  runCommand,
  startCommand,
} from '../../helpers/terminal.ts';

const SECRET = 'secret-of-the-test';
const ENVIRONMENT = { SECURITY_EVENTS_SECRET: SECRET };
const NO_RETRY = ['--schedule', 'none'];

const send = (words: readonly string[], options: FakeTerminalOptions = {}) =>
  runCommand(['send', ...words], { environment: ENVIRONMENT, ...options });

/** With ids that tell which one it is. */
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

function fileWith(text: string, name = 'messages.ndjson'): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

const elementsOf = ({ body }: ReceivedRequest): Record<string, unknown>[] =>
  JSON.parse(body.toString()) as Record<string, unknown>[];

const idsOf = ({ requests }: Receiver): unknown[] =>
  requests.flatMap((request) => elementsOf(request).map(({ message_id }) => message_id));

const ids = (count: number): string[] => messages(count).map((_, index) => `id-${index}`);

describe('send', () => {
  it.each([
    ['a JSON array', JSON.stringify(messages(3), null, 2)],
    ['one on each line', ndjson(messages(3))],
    ['one on each line, the last without its end', ndjson(messages(3)).trimEnd()],
    ['one object', JSON.stringify(messages(1)[0])],
  ])('sends %s from a file, signed', async (_, text) => {
    await using receiver = await startReceiver();
    const { exitCode, stdout, stderr } = await send([receiver.url, fileWith(text)]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const count = text.includes('id-2') ? 3 : 1;
    expect(idsOf(receiver)).toEqual(ids(count));
    expect(stdout).toMatch(
      new RegExp(`^Delivered ${count} messages? in 1 request, \\d+(\\.\\d)? m?s\\.\\n$`),
    );
    const [request] = receiver.requests;
    expect(verify(request?.body ?? '', request?.headers['x-svc-integrity'], SECRET)).toBe(true);
  });

  it('sends standard input, in chunks of any size', async () => {
    await using receiver = await startReceiver();
    const bytes = Buffer.from(ndjson(messages(2)));
    const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) =>
      bytes.subarray(index * 7, index * 7 + 7),
    );
    for (const words of [[receiver.url], [receiver.url, '-']]) {
      expect(await send(words, { input: chunks })).toMatchObject({ exitCode: 0 });
    }
    expect(idsOf(receiver)).toEqual([...ids(2), ...ids(2)]);
  });

  it('sends nothing of an input without messages', async () => {
    await using receiver = await startReceiver();
    for (const input of ['', '\n\n', '[]']) {
      const told = await send([receiver.url], { input });
      expect(told).toEqual({ exitCode: 0, stdout: 'There was nothing to send.\n', stderr: '' });
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

  it('sends format 1 as it is', async () => {
    await using receiver = await startReceiver();
    const element = sampleMessageV1('pulse');
    const told = await send([receiver.url, '--format', '1'], { input: ndjson([element]) });
    expect(told).toMatchObject({ exitCode: 0 });
    expect(elementsOf(receiver.requests[0] as ReceivedRequest)).toEqual([element]);
  });

  it('takes words that are not in the vocabularies where it is told to', async () => {
    await using receiver = await startReceiver();
    const input = ndjson([{ ...sampleMessageToSend('http_scan'), message_type: 'of_tomorrow' }]);
    expect(await send([receiver.url], { input })).toMatchObject({ exitCode: 1 });
    expect(await send([receiver.url, '--dialect', 'open'], { input })).toMatchObject({
      exitCode: 0,
    });
  });

  it('sends a thousand at a time, and tells programs what came of them on one line', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 503 }), respond()] });
    const words = [receiver.url, fileWith(ndjson(messages(1500))), '--json', '--schedule', '1ms'];
    const { exitCode, stdout } = await send(words);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      end: 'input-over',
      delivered: 1500,
      undelivered: 0,
      notTried: 0,
      isCutShort: false,
      requests: 3,
      resent: 1,
      bytes: receiver.requests.reduce((sum, { body }) => sum + body.length, 0),
      durationMs: expect.any(Number),
      undeliveredMessages: [],
      faultCount: 0,
      faults: [],
    });
    expect(stdout.indexOf('\n')).toBe(stdout.length - 1);
    expect(new Set(idsOf(receiver))).toEqual(new Set(ids(1500)));
  });

  it('shows how far it is where somebody looks on', async () => {
    const held = deferred();
    const shown = deferred();
    await using receiver = await startReceiver({
      script: [
        ({ write }) => void held.promise.then(() => write('HTTP/1.1 204 No Content\r\n\r\n')),
      ],
    });
    const command = startCommand(['send', receiver.url, fileWith(ndjson(messages(2)))], {
      environment: ENVIRONMENT,
      isTerminal: true,
      clock: {
        ...systemClock,
        sleep: async (_ms, signal) => {
          shown.resolve();
          await systemClock.sleep(1000, signal);
        },
      },
    });
    await shown.promise;
    await command.errors(/\[-{24}\] 0 messages of 2 delivered, /);
    held.resolve();
    expect(await command.ended).toBe(0);
    expect(command.terminal.stderr().endsWith('\r\u001B[K')).toBe(true);
    expect(command.terminal.stdout()).toMatch(/^Delivered 2 messages in 1 request, /);
  });
});

describe('an input that is at fault', () => {
  const good = sampleMessageToSend('test');
  const FAULTS: readonly (readonly [string, string, string])[] = [
    [
      'a field of another type',
      ndjson([good, { ...good, message: { ...good.message, ips: 1 } }]),
      ':2: message.ips: expected an array, found a number',
    ],
    [
      'an element of an array',
      JSON.stringify([good, 7]),
      ':1[1]: expected an object, found a number',
    ],
    ['what is no JSON', `${ndjson([good])}{"a" 1}\n`, ':2: expected `:`, found other text'],
    [
      'an array without its end',
      `[${JSON.stringify(good)},\n`,
      'expected `]` at the end of the array, found the end',
    ],
    [
      'bytes that are no UTF-8',
      '{"a":"\u00ff"}',
      ':1: expected JSON in UTF-8, found bytes that are not',
    ],
    ['a key of another format', ndjson([sampleMessageV1('test')]), ':1: message_type: expected'],
    [
      'an envelope with a fault',
      ndjson([sampleMessage('test', { message: { id: 5 as never } })]),
      ':1: message.id: expected a string, found a number',
    ],
  ];

  it.each(FAULTS)('has nothing sent, and is told: %s', async (_, text, told) => {
    await using receiver = await startReceiver();
    const file = fileWith('');
    writeFileSync(file, text, 'latin1');
    for (const words of [[receiver.url, file], [receiver.url]]) {
      const { exitCode, stdout } = await send(words, { input: [Buffer.from(text, 'latin1')] });
      expect(exitCode).toBe(1);
      expect(stdout).toContain(told);
      expect(stdout.startsWith(words.length === 1 ? 'standard input:' : `${file}:`)).toBe(true);
      expect(stdout.endsWith('\nNothing was sent.\n')).toBe(true);
    }
    expect(receiver.requests).toHaveLength(0);
  });

  it('is looked at to its end in a file, and twenty faults are shown', async () => {
    await using receiver = await startReceiver();
    const file = fileWith(ndjson([...messages(2500), ...Array.from({ length: 130 }, () => ({}))]));
    const { stdout } = await send([receiver.url, file]);
    expect(stdout.split('\n')).toHaveLength(23);
    expect(stdout).toContain('\n… and 110 more\nNothing was sent.\n');
    const json = JSON.parse((await send([receiver.url, file, '--json'])).stdout) as object;
    expect(json).toMatchObject({ ok: false, end: 'faults', faultCount: 130, notTried: 2500 });
    expect(json).toHaveProperty('faults.length', 100);
    expect(json).toHaveProperty('faults.0', {
      line: 2501,
      path: ['message_type'],
      message: expect.stringMatching(/^expected/),
    });
    expect(receiver.requests).toHaveLength(0);
  });

  it('ends what is sent of standard input where it comes, and the rest is told', async () => {
    await using receiver = await startReceiver();
    const input = ndjson([...messages(2500), {}, ...messages(1000)]);
    const left = join(temporaryFolder(), 'left.ndjson');
    const { exitCode, stdout } = await send([receiver.url, '--undelivered', left], { input });
    expect(exitCode).toBe(1);
    expect(idsOf(receiver)).toEqual(ids(1000));
    expect(stdout).toMatch(/^standard input:2501: message_type: expected/);
    expect(stdout).toContain(`\n2,000 messages to be sent again: ${left}\nWhat follows line 3001 `);
    expect(stdout).toContain(
      '\nNot tried: 2,000 messages and the rest of the input, from line 1001 on: the input has a fault.\n',
    );
  });

  it('never shows what it holds', async () => {
    const { stdout } = await send(['http://127.0.0.1:9/'], {
      input: ndjson([{ ...good, message: { ...good.message, environment: 5, 'ada lovelace': 1 } }]),
    });
    expect(stdout).toContain('Nothing was sent.');
    expect(stdout).not.toContain('A test');
  });
});

/** Refuses the request that holds it. */
const refusing =
  (id: string, status: number): Step =>
  (exchange) =>
    respond({ status: exchange.request.body.includes(`"${id}"`) ? status : 204 })(exchange);

describe('what is not delivered', () => {
  it('is told by its cause, and kept in a file that can be sent', async () => {
    await using receiver = await startReceiver({ script: [refusing('id-1500', 500)] });
    const folder = temporaryFolder();
    const left = join(folder, 'left.ndjson');
    const file = fileWith(ndjson(messages(2500)));
    const { exitCode, stdout } = await send([
      receiver.url,
      file,
      ...NO_RETRY,
      '--undelivered',
      left,
    ]);
    expect(exitCode).toBe(1);
    expect(stdout.split('\n').slice(1)).toEqual([
      'Not delivered: 125 messages',
      '  125  status 500, after every attempt; the first is of line 1501, id-1500',
      `125 messages to be sent again: ${left}`,
      '',
    ]);
    expect(statSync(left).mode & 0o777).toBe(0o600);
    expect(valuesOf(readFileSync(left, 'utf8')).map(({ message_id }) => message_id)).toEqual(
      ids(1625).slice(1500),
    );

    await using mended = await startReceiver();
    expect(await send([mended.url, left])).toMatchObject({ exitCode: 0 });
    expect(idsOf(mended)).toEqual(ids(1625).slice(1500));
  });

  it('is kept under the id by which it was sent', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 400 })] });
    const left = join(temporaryFolder(), 'left.ndjson');
    const { message_id: _, ...message } = sampleMessageToSend('test');
    await send([receiver.url, ...NO_RETRY, '--undelivered', left], { input: ndjson([message]) });
    const [kept] = valuesOf(readFileSync(left, 'utf8'));
    expect(kept).toEqual({ ...message, message_id: idsOf(receiver)[0] });
  });

  it('keeps what a pipe gave before its fault, since that is nowhere else', async () => {
    await using receiver = await startReceiver();
    const left = join(temporaryFolder(), 'left');
    const input = `${ndjson(messages(2))}not json\n`;
    const { exitCode } = await send([receiver.url, '--undelivered', left], { input });
    expect([exitCode, receiver.requests]).toEqual([1, []]);
    expect(valuesOf(readFileSync(left, 'utf8')).map(({ message_id }) => message_id)).toEqual(
      ids(2),
    );
  });

  it('leaves no file behind where all was delivered', async () => {
    await using receiver = await startReceiver();
    const left = join(temporaryFolder(), 'left.ndjson');
    writeFileSync(left, 'of an earlier run\n');
    const told = await send([receiver.url, '--undelivered', left], { input: ndjson(messages(1)) });
    expect(told.exitCode).toBe(0);
    expect(existsSync(left)).toBe(false);
  });

  it('is readable for its owner alone, also where the file was there', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 400 })] });
    const left = join(temporaryFolder(), 'left.ndjson');
    writeFileSync(left, 'of an earlier run, and longer\n'.repeat(99), { mode: 0o644 });
    const input = ndjson(messages(1));
    await send([receiver.url, ...NO_RETRY, '--undelivered', left], { input });
    expect(statSync(left).mode & 0o777).toBe(0o600);
    expect(valuesOf(readFileSync(left, 'utf8'))).toHaveLength(1);
  });

  it('has the rest not tried where the receiver is down, and kept all the same', async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const left = join(temporaryFolder(), 'left.ndjson');
    const input = ndjson(messages(2500));
    const words = [receiver.url, ...NO_RETRY];
    for (const file of [fileWith(input), undefined]) {
      const where = file === undefined ? [] : [file];
      const kept = [...words, ...where, '--undelivered', left];
      const { exitCode, stdout } = await send(kept, { input });
      expect(exitCode).toBe(1);
      expect(stdout).toContain('Delivered 0 messages in 1 request,');
      expect(stdout).toContain('  1,000  connection-refused, after every attempt;');
      expect(stdout).toContain(
        '\nNot tried: 1,500 messages, from line 1001 on: the receiver took nothing of what was sent before.\n',
      );
      expect(valuesOf(readFileSync(left, 'utf8')).map(({ message_id }) => message_id)).toEqual(
        ids(2500),
      );
    }
    const { stdout } = await send(words, { input });
    expect(stdout).toContain(
      'Not tried: 1,000 messages and the rest of the input, from line 1001 on',
    );
  });

  it('is told all the same where it cannot be kept', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 400 })] });
    const words = [receiver.url, ...NO_RETRY, '--undelivered', '/dev/full'];
    const { exitCode, stdout, stderr } = await send(words, { input: ndjson(messages(200)) });
    expect({ exitCode, stderr }).toEqual({
      exitCode: 3,
      stderr: 'security-events: the disk is full\n',
    });
    expect(stdout).toContain(
      '\nNot delivered: 200 messages\n  200  status 400, after every attempt;',
    );
    expect(stdout).not.toContain('to be sent again');
  });

  it('never has a device removed', async () => {
    await using receiver = await startReceiver();
    const words = [receiver.url, '--undelivered', '/dev/null'];
    expect(await send(words, { input: ndjson(messages(1)) })).toMatchObject({ exitCode: 0 });
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  it('does not hold up the others where it is too large for a request', async () => {
    await using receiver = await startReceiver();
    const [first, second, third] = messages(3) as { message: object }[];
    const large = {
      ...second,
      message: { ...second?.message, humanized_description: 'x'.repeat(1_100_000) },
    };
    const left = join(temporaryFolder(), 'left.ndjson');
    const { exitCode, stdout } = await send([receiver.url, '--undelivered', left], {
      input: ndjson([first, large, third]),
    });
    expect(exitCode).toBe(1);
    expect(idsOf(receiver)).toEqual(['id-0', 'id-2']);
    expect(stdout).toContain('  1  too large for a request; it is of line 2\n');
    expect(valuesOf(readFileSync(left, 'utf8'))).toEqual([large]);
  });

  it('is told whole up to a thousand to programs', async () => {
    await using receiver = await startReceiver({ script: [respond({ status: 422 })] });
    const { stdout } = await send([receiver.url, '--json', ...NO_RETRY], {
      input: JSON.stringify(messages(1200)),
    });
    const report = JSON.parse(stdout) as { undeliveredMessages: object[] };
    expect(report).toMatchObject({ ok: false, delivered: 0, undelivered: 1200, notTried: 0 });
    expect(report.undeliveredMessages).toHaveLength(1000);
    expect(report.undeliveredMessages[1]).toEqual({
      line: 1,
      index: 1,
      message_id: 'id-1',
      reason: 'attempts-exhausted',
      status: 422,
    });
  });
});

describe('Ctrl-C', () => {
  it('ends a request, and what was not sent is told and kept', async () => {
    await using receiver = await startReceiver({ script: [respond(), hang()] });
    const left = join(temporaryFolder(), 'left.ndjson');
    const file = fileWith(ndjson(messages(2500)));
    const command = startCommand(['send', receiver.url, file, '--undelivered', left], {
      environment: ENVIRONMENT,
    });
    await receiver.received(2);
    command.terminal.interrupt();
    expect(await command.ended).toBe(130);
    const stdout = command.terminal.stdout();
    expect(stdout).toMatch(/^Delivered 1,000 messages in 2 requests, /);
    expect(stdout).toContain('  1,000  aborted, interrupted; the first is of line 1001, id-1000\n');
    expect(stdout).toContain('\nNot tried: 500 messages, from line 2001 on: it was interrupted.\n');
    expect(stdout).toContain(`\n1,500 messages to be sent again: ${left}\n`);
    expect(valuesOf(readFileSync(left, 'utf8')).map(({ message_id }) => message_id)).toEqual(
      ids(2500).slice(1000),
    );
  });

  it('ends the wait for standard input', async () => {
    await using receiver = await startReceiver();
    const asked = deferred();
    async function* never(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(ndjson(messages(1)));
      asked.resolve();
      await new Promise(() => undefined);
    }
    const command = startCommand(['send', receiver.url], {
      environment: ENVIRONMENT,
      input: never(),
    });
    await asked.promise;
    command.terminal.interrupt();
    expect(await command.ended).toBe(130);
    expect(receiver.requests).toHaveLength(0);
  });
});

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from(ndjson(messages(2500)));
  throw Object.assign(new Error('read'), { code: 'EIO', syscall: 'read' });
}

it('an input that breaks off is told after what was sent of it', async () => {
  await using receiver = await startReceiver();
  const { exitCode, stdout, stderr } = await send([receiver.url], { input: broken() });
  expect(exitCode).toBe(3);
  expect(stdout).toMatch(/^Delivered 1,000 messages in 1 request, /);
  expect(stdout).toContain('from line 1001 on: the input could not be read on.\n');
  expect(stderr).toBe('security-events: EIO\n');
});

it.each([
  [[], 2, 'URL is missing'],
  [['localhost'], 2, 'The webhook URL is not usable'],
  [['http://localhost/', '--schedule', '5'], 2, '--schedule must be a time with its unit'],
  [
    ['http://localhost/', '--schedule='],
    2,
    '--schedule must be times with commas between, or none',
  ],
  [['http://localhost/', '--deadline', '0s'], 2, 'deadlineMs'],
  [['http://localhost/', '--format', 'v2'], 2, '--format must be one of 2, 1'],
  [['http://localhost/', 'gone.ndjson'], 3, 'gone.ndjson: no such file or folder'],
  [['http://localhost/', '--undelivered', 'gone/left'], 3, 'gone/left: no such file or folder'],
])('send %j ends with %d: %s', async (words, exitCode, message) => {
  const told = await send(words);
  expect(told).toMatchObject({ exitCode, stdout: '' });
  expect(told.stderr).toContain(message);
});

it('send does not write over the file that it sends', async () => {
  const file = fileWith(ndjson(messages(1)));
  const told = await send(['http://127.0.0.1:9/', file, '--undelivered', file]);
  expect(told).toMatchObject({ exitCode: 2, stdout: '' });
  expect(told.stderr).toContain('--undelivered must be another file');
  expect(readFileSync(file, 'utf8')).toBe(ndjson(messages(1)));
});

it.each([[[]], [['-']]])('nor where that is standard input, as %j', async (name) => {
  const file = fileWith(ndjson(messages(1)));
  const told = await send(['http://127.0.0.1:9/', ...name, '--undelivered', file], {
    input: ndjson(messages(1)),
    inputFile: statSync(file, { bigint: true }),
  });
  expect(told).toMatchObject({ exitCode: 2, stdout: '' });
  expect(told.stderr).toContain('--undelivered must be another file');
  expect(readFileSync(file, 'utf8')).toBe(ndjson(messages(1)));
});

it('send that is ended while it reads does not say that there was nothing to send', async () => {
  const read = deferred();
  const terminal = fakeTerminal({
    environment: ENVIRONMENT,
    input: (async function* () {
      yield Buffer.from(ndjson(messages(1)));
      read.resolve();
      await new Promise(() => undefined);
    })(),
  });
  const ended = runCommandLine(['send', 'http://127.0.0.1:9/'], terminal);
  await read.promise;
  terminal.interrupt();
  expect(await ended).toBe(130);
  expect(terminal.stdout()).toContain('Nothing was sent.');
});

it('send of a file that grows meanwhile delivers what came to it', async () => {
  await using receiver = await startReceiver();
  const file = fileWith(ndjson(messages(1)));
  let isChecked = false;
  const report = await send([receiver.url, file, '--json'], {
    isTerminal: true,
    onErrors: (text) => {
      if (isChecked || text.trim() !== '\u001B[K') return;
      isChecked = true;
      writeFileSync(file, ndjson(messages(3)));
    },
  });
  expect(isChecked).toBe(true);
  expect(report.exitCode).toBe(0);
  expect(JSON.parse(report.stdout)).toMatchObject({ ok: true, delivered: 3, notTried: 0 });
});
