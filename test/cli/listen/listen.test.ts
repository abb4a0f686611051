import { existsSync, readFileSync, statSync } from 'node:fs';
import type http from 'node:http';
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { printable } from '../../../src/cli/terminal.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { sampleMessage, sampleMessageV1 } from '../../../src/testing/index.ts';
import { sign } from '../../../src/webhook/signature.ts';
import { type Posted, post, postSigned } from '../../helpers/http.ts';
import { deferred } from '../../helpers/promises.ts';
import { respond, startReceiver } from '../../helpers/receiver.ts';
import { listenOn } from '../../helpers/servers.ts';
import { temporaryFile } from '../../helpers/temporary-files.ts';
import {
  type FakeTerminalOptions,
  runCommand,
  type StartedCommand,
  startCommand,
} from '../../helpers/terminal.ts';

const SECRET = 'secret-of-the-test';
const ENVIRONMENT = { SECURITY_EVENTS_SECRET: SECRET };
/** Two seconds after the time of the samples. */
const NOW = Date.parse('2026-11-21T10:00:02.000Z');
const CLOCK = { ...systemClock, now: () => NOW };

interface Listening extends StartedCommand {
  readonly url: string;
}

async function listen(
  words: readonly string[] = [],
  options: FakeTerminalOptions = {},
): Promise<Listening> {
  const command = startCommand(['listen', '--port', '0', ...words], {
    environment: ENVIRONMENT,
    clock: CLOCK,
    ...options,
  });
  const [, url = ''] = await command.output(/(http:\/\/[^"\s]+)/);
  return { ...command, url };
}

const bodyOf = (...messages: readonly object[]): string => JSON.stringify(messages);

/** The printed blocks after the line with the address. */
const blocksOf = ({ terminal }: StartedCommand): string[] =>
  terminal.stdout().split('\n').slice(1).join('\n').split('\n\n').slice(0, -1);

const jsonOf = ({ terminal }: StartedCommand): Record<string, unknown>[] =>
  terminal
    .stdout()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('listen', () => {
  it('shows a verified message, and answers 204', async () => {
    const command = await listen();
    const body = bodyOf(sampleMessage());
    const url = `${command.url}?a=1&access_token=hunter2`;
    expect(await postSigned(url, body, SECRET)).toMatchObject({ status: 204, text: '' });
    expect(command.terminal.stdout()).toBe(
      [
        `Listening on ${command.url}`,
        `#1  10:00:02  POST /?a=1&access_token=…  ${body.length} bytes  verified, 1 message -> 204`,
        '  security_event  01a1fd8c-6900-7000-8000-e13405d532e0',
        '    application  shop-1, shop, production',
        '    event        injection / sql_injection',
        '    event id     event-1',
        '    occurred     2026-11-21T10:00:00.000+00:00',
        '    description  SQL injection from 203.0.113.9',
        '    url          https://dashboard.example/events/event-1',
        '    addresses    203.0.113.9',
        '    sent         2026-11-21T10:00:00.000+00:00 (2 s ago), first attempt',
        '',
        '',
      ].join('\n'),
    );
  });

  it('prints its address and each message as a line of JSON with --json', async () => {
    const command = await listen(['--json']);
    const message = sampleMessage('security_event', { message: { event_kind: 'of_tomorrow' } });
    const element = sampleMessageV1('pulse');
    await postSigned(command.url, bodyOf(message), SECRET);
    await postSigned(command.url, bodyOf(element), SECRET);
    const receivedAt = '2026-11-21T10:00:02.000Z';
    const facts = { event: 'message', receivedAt, status: 204, index: 0, isRepeated: false };
    const [isKnownType, unknown] = [true, ['event_kind']];
    expect(jsonOf(command)).toEqual([
      { event: 'listening', url: command.url },
      { ...facts, isKnownType, request: 1, format: 2, id: message.message_id, unknown, message },
      {
        ...facts,
        isKnownType,
        request: 2,
        format: 1,
        id: 'pulse/shop-1/incident-1',
        unknown: [],
        message: element,
      },
    ]);
  });

  it('marks messages that were accepted before', async () => {
    const command = await listen(['--fail', '503', '--json']);
    const body = bodyOf(sampleMessage());
    for (const status of [503, 204, 204]) {
      expect(await postSigned(command.url, body, SECRET)).toMatchObject({ status });
    }
    expect(jsonOf(command).slice(1)).toMatchObject([
      { status: 503, isRepeated: false },
      { status: 204, isRepeated: false },
      { status: 204, isRepeated: true },
    ]);
  });

  it('prints a message with a hundred thousand levels, at least its facts', async () => {
    const command = await listen(['--json']);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = BODY.replace('[{', `[{"x":${deep},`);
    expect(await postSigned(command.url, body, SECRET)).toMatchObject({ status: 204 });
    expect(jsonOf(command).map(({ event }) => event)).toEqual(['listening', 'message']);
  });

  it('shows twenty of a thousand messages and counts the others, but prints all with --json', async () => {
    const command = await listen();
    const messages = Array.from({ length: 1000 }, (_, index) =>
      sampleMessage(index % 2 === 0 ? 'test' : 'http_scan', { message_id: `id-${index}` }),
    );
    await postSigned(command.url, bodyOf(...messages), SECRET);
    const [block = ''] = blocksOf(command);
    expect(block.match(/^ {2}(?:test|http_scan) {2}id-\d+$/gm)).toHaveLength(20);
    expect(block.split('\n').at(-1)).toBe('  … and 980 more messages');
    const program = await listen(['--json']);
    await postSigned(program.url, bodyOf(...messages), SECRET);
    expect(jsonOf(program).slice(1)).toHaveLength(1000);
  });

  it('escapes characters that control a terminal', async () => {
    const hostile = '\u001B[2Jgone\u0007\u009B31m\u202Eevil\nnew line';
    for (const words of [[], ['--json']]) {
      const command = await listen(words);
      const message = sampleMessage('test', { message: { humanized_description: hostile } });
      await postSigned(command.url, bodyOf(message), SECRET);
      const line = command.terminal.stdout().replaceAll('\n', '');
      expect(line).toBe(printable(line));
      expect(line).toContain('\\u001b[2Jgone\\u0007\\u009b31m\\u202eevil\\');
    }
  });
});

const BODY = bodyOf(sampleMessage());
const JSON_TYPE = { 'content-type': 'application/json' };

const posting =
  (body: string | Buffer, secret = SECRET, headers: http.OutgoingHttpHeaders = {}) =>
  (url: string) =>
    postSigned(url, body, secret, headers);

/** Requests, their answers, and the beginning of the line below. */
const REFUSED: readonly (readonly [
  what: string,
  request: (url: string) => Promise<Posted>,
  status: number,
  reason: string,
  advice: string,
])[] = [
  [
    'another secret',
    posting(BODY, 'other'),
    401,
    'signature-wrong',
    'Probable cause: The body seems unchanged, so the secret is wrong',
  ],
  [
    'a signature in upper case',
    posting(BODY, SECRET, { 'x-svc-integrity': sign(BODY, SECRET).toUpperCase() }),
    401,
    'signature-wrong',
    'Cause: The header is in upper case. Convert it to lower case',
  ],
  [
    'no signature',
    (url) => post(url, BODY, { headers: JSON_TYPE }),
    401,
    'signature-missing',
    'Probable cause: The request has no X-Svc-Integrity header',
  ],
  ['a GET', (url) => post(url, '', { method: 'GET' }), 405, 'method', 'Webhooks use POST.'],
  [
    'another content type',
    posting(BODY, SECRET, { 'content-type': 'text/plain' }),
    415,
    'content-type',
    'Expected Content-Type: application/json in UTF-8',
  ],
  [
    'a body that is no array',
    posting('{}'),
    400,
    'body-invalid',
    'Expected a JSON array of 1 to 1000 messages in UTF-8.',
  ],
  [
    'a message that breaks the contract',
    posting(bodyOf(sampleMessage(), { message_type: 'test' })),
    400,
    'message-invalid',
    '1.message_id: expected',
  ],
  [
    'a body of more than 2 MiB',
    posting(Buffer.alloc(2 ** 21 + 1, ' ')),
    413,
    'body-too-large',
    'The body exceeds 2 MiB.',
  ],
];

describe('listen refuses', () => {
  it.each(REFUSED)('%s, and says why', async (_, request, status, reason, advice) => {
    const command = await listen();
    expect(await request(command.url)).toMatchObject({ status, text: `${reason}\n` });
    const [block = ''] = blocksOf(command);
    const [headline = '', line = ''] = block.split('\n');
    expect(headline).toMatch(new RegExp(` refused: ${reason} -> ${status}$`));
    expect(line.slice(0, 2 + advice.length)).toBe(`  ${advice}`);
    // Neither the secret nor the sender's text is printed.
    expect(command.terminal.stdout()).not.toMatch(/secret-of-the-test|SQL injection/);
    const program = await listen(['--json']);
    await request(program.url);
    expect(jsonOf(program).slice(1)).toMatchObject([
      { event: 'refused', request: 1, status, reason },
    ]);
  });

  it('a message that breaks the contract, and shows at most twenty errors', async () => {
    const command = await listen();
    const wrong = Array.from({ length: 30 }, () => ({ svc_payload_type: 'nothing' }));
    await postSigned(command.url, bodyOf(...wrong), SECRET);
    const [block = ''] = blocksOf(command);
    expect(block.split('\n')).toHaveLength(22);
    expect(block.split('\n').at(-1)).toBe('  … and 10 more');
  });

  it('a sender that leaves in the middle of its body, and continues', async () => {
    const command = await listen();
    const { hostname, port } = new URL(command.url);
    const socket = net.connect(Number(port), hostname);
    const lines = [
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n',
      `X-Svc-Integrity: ${'a'.repeat(64)}\r\n\r\n[`,
    ];
    socket.write(lines.join(''), () => socket.resetAndDestroy());
    await command.output(
      /not read: the sender disconnected {2}refused: incomplete -> 400 \(the sender had disconnected\)\n/,
    );
    expect(await postSigned(command.url, BODY, SECRET)).toMatchObject({ status: 204 });
  });
});

describe('listen --fail', () => {
  it.each([
    ['503,500,200', [SECRET, 'other', SECRET, SECRET, SECRET], [503, 401, 500, 200, 204]],
    ['503,500+', [SECRET, SECRET, SECRET, SECRET], [503, 500, 500, 500]],
  ])(
    '%s answers verified requests with these statuses in turn',
    async (fail, secrets, expected) => {
      const command = await listen(['--fail', fail]);
      const statuses: unknown[] = [];
      for (const secret of secrets) {
        statuses.push((await postSigned(command.url, BODY, secret)).status);
      }
      expect(statuses).toEqual(expected);
      expect(command.terminal.stdout()).toContain('verified, 1 message -> 503 (--fail)\n');
    },
  );

  it('waits for --delay before it fails', async () => {
    const waits: number[] = [];
    const held = deferred();
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms);
      await held.promise;
    };
    const command = await listen(['--delay', '2s', '--fail', '503'], {
      clock: { ...CLOCK, sleep },
    });
    const posted = postSigned(command.url, BODY, SECRET);
    const refused = await postSigned(command.url, BODY, 'other');
    expect({ status: refused.status, waits }).toEqual({ status: 401, waits: [2000] });
    held.resolve();
    expect(await posted).toMatchObject({ status: 503 });
  });
});

describe('listen --forward', () => {
  it('forwards a verified request unchanged, and answers what the target answers', async () => {
    await using target = await startReceiver({
      script: [
        respond({ status: 429, headers: { 'retry-after': '7', 'x-other': '1' }, body: 'no' }),
      ],
    });
    const command = await listen(['--forward', target.url]);
    // Spaces, which serialising the body again would lose.
    const body = ` ${BODY}\n`;
    const headers = { 'user-agent': 'a-sender/1', cookie: 'no-business-of-the-target' };
    const answer = await postSigned(command.url, body, SECRET, headers);
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '7' }, text: '' });
    expect(answer.headers['x-other']).toBeUndefined();
    const [request] = target.requests;
    expect(request?.body.toString()).toBe(body);
    expect(request?.headers).toEqual({
      'content-type': 'application/json',
      'content-length': String(body.length),
      'user-agent': 'a-sender/1',
      'x-svc-integrity': sign(body, SECRET),
      host: new URL(target.url).host,
      via: expect.stringMatching(/^1\.1 security-events-[0-9a-f]{16}$/) as string,
      connection: 'close',
    });
    expect(command.terminal.stdout()).toContain(' -> 429 (forwarded)\n');
  });

  it('does not forward a request that is not verified', async () => {
    await using target = await startReceiver();
    const careful = await listen(['--forward', target.url]);
    expect(await postSigned(careful.url, BODY, 'other')).toMatchObject({ status: 401 });
    expect(target.requests).toHaveLength(0);
  });

  it('continues after the target answers an invalid status', async () => {
    const target = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'));
    });
    const port = await listenOn(target);
    const command = await listen(['--forward', `http://127.0.0.1:${port}/`]);
    expect(await postSigned(command.url, BODY, SECRET)).toMatchObject({ status: 502 });
    expect(command.terminal.stdout()).toContain(' -> 502 (not forwarded: status 99)\n');
  });

  it('answers 502 and says so when the target is down', async () => {
    const target = await startReceiver();
    await target.close();
    const command = await listen(['--forward', target.url]);
    expect(await postSigned(command.url, BODY, SECRET)).toMatchObject({
      status: 502,
      text: 'not-forwarded\n',
    });
    expect(command.terminal.stdout()).toContain(' -> 502 (not forwarded: ECONNREFUSED)\n');
  });
});

describe('the end of listen', () => {
  it.each([
    [0, 'all were verified', SECRET],
    [1, 'one was refused', 'other'],
  ])('comes after --count POST requests, with exit code %i if %s', async (exitCode, _, secret) => {
    const command = await listen(['--count', '2']);
    await post(command.url, '', { method: 'GET' });
    await postSigned(command.url, BODY, secret);
    await postSigned(command.url, BODY, SECRET);
    expect(await command.ended).toBe(exitCode);
    expect(blocksOf(command)).toHaveLength(3);
    await expect(postSigned(command.url, BODY, SECRET)).rejects.toThrow('ECONNREFUSED');
  });

  it('is an interruption before --count requests, with exit code 130', async () => {
    const command = await listen(['--count', '2']);
    await postSigned(command.url, BODY, SECRET);
    command.terminal.interrupt();
    expect(await command.ended).toBe(130);
  });

  it.each([
    ['Ctrl-C', (command: Listening) => command.terminal.interrupt()],
    ['a reader that has left', (command: Listening) => command.terminal.closeOutput()],
  ])('exits with 0 on %s, even with a request in progress', async (_, end) => {
    const waiting = deferred();
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
      waiting.resolve();
      return systemClock.sleep(ms, signal);
    };
    const command = await listen(['--delay', '1h'], { clock: { ...CLOCK, sleep } });
    const posted = postSigned(command.url, BODY, SECRET).catch(
      ({ code }: { code: unknown }) => code,
    );
    await waiting.promise;
    end(command);
    expect(await command.ended).toBe(0);
    expect(await posted).toBe('ECONNRESET');
    // An answer that was never sent is not printed.
    expect(blocksOf(command)).toEqual([]);
  });
});

describe('the secret of listen', () => {
  it('is generated if none is given, in a private file that is removed at the end', async () => {
    const command = await listen([], { environment: {} });
    const [, url, path = ''] = await command.errors(
      /security-events test (\S+) --secret-file (\S+)\n/,
    );
    expect(url).toBe(command.url);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const secret = readFileSync(path, 'utf8');
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(await postSigned(command.url, BODY, secret)).toMatchObject({ status: 204 });
    command.terminal.interrupt();
    expect(await command.ended).toBe(0);
    expect(existsSync(path)).toBe(false);
    expect(command.terminal.stdout() + command.terminal.stderr()).not.toContain(secret);
  });

  it('is not printed when it is given', async () => {
    const command = await listen();
    await command.errors(/\n\n$/);
    expect(command.terminal.stderr()).toBe(
      `Send a test message from another terminal:\n  security-events test ${command.url}\n\n`,
    );
    expect(command.terminal.stdout()).not.toContain(SECRET);
  });

  it('is named as it was given, for the sender to use the same', async () => {
    const named = ['--secret-env', 'HOOK_SECRET', '--secret-env', 'OLD_SECRET'];
    const environment = { HOOK_SECRET: SECRET, OLD_SECRET: 'old' };
    const byVariable = await listen(named, { environment });
    expect((await byVariable.errors(/test http\S+(.*)\n/))[1]).toBe(' --secret-env HOOK_SECRET');
    const file = temporaryFile(SECRET, 'the secret');
    const byFile = await listen(['--secret-file', file], { environment: {} });
    expect((await byFile.errors(/test http\S+(.*)\n/))[1]).toBe(` --secret-file '${file}'`);
  });

  it('is named with npx when npx started the program', async () => {
    const command = await listen([], { environment: { ...ENVIRONMENT, npm_command: 'exec' } });
    const [hint] = await command.errors(/ {2}.* test http/);
    expect(hint).toBe('  npx security-events test http');
  });
});

describe('the address of listen', () => {
  it.each([
    ['::1', '[::1]'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '[::1]'],
  ])('can be used as it is printed when it is %s', async (host, printed) => {
    const { url } = await listen(['--host', host]);
    expect(new URL(url).hostname).toBe(printed);
    expect(await postSigned(url, BODY, SECRET)).toMatchObject({ status: 204 });
  });

  it('must be a free port', async () => {
    const { port } = new URL((await listen()).url);
    const { stderr } = await runCommand(['listen', '--port', port], { environment: ENVIRONMENT });
    expect(stderr).toMatch(
      /Use --port N for another port \(0 picks a free one\)\. Or use --host\.\n$/,
    );
  });
});
