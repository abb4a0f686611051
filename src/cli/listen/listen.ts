/** `listen`: a webhook receiver in a terminal. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSecret } from '../../index.ts';
import { defineCommand, flag, option } from '../command.ts';
import { describeError, environmentError, usageError } from '../errors.ts';
import { requestEntry } from '../inspector/entries.ts';
import { Inspector } from '../inspector.ts';
import { firstSecretArguments, readSecrets, SECRETS_OPTIONS } from '../secrets.ts';
import { jsonLine, paint, printable, type Terminal } from '../terminal.ts';
import { durationOf, integerOf } from '../values.ts';
import { deliveryJson, deliveryText } from './delivery-text.ts';
import { createListener, type ListenerOptions } from './listener.ts';

/** 1xx would leave the sender waiting. */
const STATUSES = /^[2-5]\d\d(?:,[2-5]\d\d)*\+?$/;

/** `503,503,200`, or `503+` to repeat the last one. */
function* statusesOf(given: string): Generator<number, undefined> {
  const statuses = given.replace('+', '').split(',').map(Number);
  yield* statuses;
  while (given.endsWith('+')) yield statuses.at(-1) as number;
}

/** The URL is not quoted: it may contain a password. */
function targetOf(given: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError('--forward needs an http or https URL');
  }
  if (url.username === '' && url.password === '') return url;
  throw usageError('--forward must not contain credentials');
}

/**
 * Runs `work` with a new secret in a file that only its owner can read. On the screen it would stay in
 * the scrollback and in CI logs.
 */
async function withTemporarySecret<T>(
  work: (secret: string, path: string) => Promise<T>,
): Promise<T> {
  const secret = generateSecret();
  const folder = await mkdtemp(join(tmpdir(), 'security-events-'));
  const cleanUp = (): void => rmSync(folder, { recursive: true, force: true });
  // A second Ctrl-C ends the process at once.
  process.once('exit', cleanUp);
  try {
    const path = join(folder, 'secret');
    await writeFile(path, secret, { mode: 0o600 });
    return await work(secret, path);
  } finally {
    cleanUp();
    process.off('exit', cleanUp);
  }
}

export const PORT_HINT = 'Use --port N for another port (0 picks a free one).';

interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** What to do if the server cannot listen there. Default: use another port. */
  readonly hint?: string;
}

/** The printed address of servers that listen on all addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Starts the server and returns its URL. @throws CommandError with exit code 3 and the hint */
export async function openServer(
  server: Server,
  { host, port, hint = PORT_HINT }: ServerAddress,
): Promise<string> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw environmentError(
      `cannot listen on ${printable(host)} port ${port}: ${describeError(error).message}`,
      hint,
    );
  }
  const address = LOOPBACK[host] ?? host;
  const name = address.includes(':') ? `[${address}]` : address;
  return `http://${name}:${(server.address() as AddressInfo).port}/`;
}

const quoteForShell = (arg: string): string =>
  /^[\w./:@%+=,-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;

interface Listening {
  readonly host: string;
  readonly port: number;
  readonly settings: Pick<ListenerOptions, 'statuses' | 'delayMs' | 'forwardTo'>;
  readonly secrets: readonly string[];
  /** The options that name a secret, for the printed command. */
  readonly secretArguments: readonly string[];
  /** Number of POST requests after which the command ends; 0 for no end. */
  readonly count: number;
  readonly isJson: boolean;
  readonly hasPage: boolean;
}

function hintOf(url: string, { secretArguments }: Listening, { environment }: Terminal): string {
  // npx finds the program where a shell does not.
  const program = environment['npm_command'] === 'exec' ? 'npx security-events' : 'security-events';
  const args = [url, ...secretArguments].map(quoteForShell).join(' ');
  return `Send a test message from another terminal:\n  ${program} test ${args}`;
}

async function listen(listening: Listening, terminal: Terminal): Promise<0 | 1> {
  const { host, settings, secrets, count, isJson, hasPage } = listening;
  const { output, errors, clock } = terminal;
  const ending = new AbortController();
  const signal = AbortSignal.any([terminal.signal, ending.signal]);
  let [answered, refused] = [0, 0];
  const name = `security-events-${generateSecret().slice(0, 16)}`;
  const { forwardTo } = settings;
  const forwarding = forwardTo && { to: forwardTo, name, signal, clock };
  const inspector = hasPage ? new Inspector({ clock, secrets, forwarding }) : undefined;
  const server = createListener({
    ...settings,
    secrets,
    name,
    clock,
    ...(inspector && { intercept: inspector.handle.bind(inspector) }),
    onDelivery: async (delivery) => {
      // A request interrupted by the end of the command gets no answer, so it is not shown.
      if (signal.aborted) return;
      inspector?.add(requestEntry(delivery), delivery);
      await output.write(isJson ? deliveryJson(delivery) : deliveryText(delivery, output));
    },
    onAnswered: ({ refusal }) => {
      answered += 1;
      if (refusal !== undefined) refused += 1;
      if (answered === count) ending.abort();
    },
  });
  const { port } = listening;
  const url = await openServer(server, { host, port, hint: `${PORT_HINT} Or use --host.` });
  try {
    const hint = hintOf(url, listening, terminal);
    const page = inspector?.publishAt(url, { source: url, hint });
    const line = page === undefined ? '' : `Inspect requests at ${page}\n`;
    await output.write(
      isJson ? jsonLine({ event: 'listening', url, page }) : `Listening on ${url}\n${line}`,
    );
    await errors.write(`${paint(errors, 'dim', hint)}\n\n`);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    ending.abort();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }
  // Interrupted before the requests that a script waits for.
  if (answered < count) terminal.signal.throwIfAborted();
  // More than `count` requests may have been in progress.
  return count > 0 && answered >= count && refused > 0 ? 1 : 0;
}

/** Hosts that accept loopback connections. The page refuses other connections. */
const PAGE_HOSTS = ['127.0.0.1', 'localhost', '::1', '0.0.0.0', '::'];

const MAX_DELAY_MS = 3_600_000;

const command = defineCommand({
  summary: 'Receives webhooks on this machine, verifies them and prints their messages.',
  usage: '',
  options: {
    port: option('N', 'Port to listen on; 0 picks a free one. Default 8080.'),
    host: option('HOST', 'Address to listen on. Default 127.0.0.1: this machine only.'),
    ...SECRETS_OPTIONS,
    forward: option('URL', "Forward verified bodies unchanged, and answer with URL's status."),
    fail: option(
      'STATUS,…',
      'Statuses for the next verified requests. In 500,503+ the plus repeats 503.',
    ),
    delay: option('TIME', 'Wait before answering verified requests. Default 0.'),
    count: option('N', 'Exit after N POST requests, with 1 if one was refused.'),
    json: flag('Print JSON lines.'),
    ui: flag('Also serve a page that shows requests as they arrive, to this machine only.'),
  },
  notes: [
    'Without a secret, generates one, keeps it until exit in a file that only you can read, and prints ' +
      'the command that sends a test message with it.',
    'With --ui, open the printed address in a browser. Do not share the address: its random ' +
      'part keeps others out. The last 1,000 requests are kept for the page, which can send verified ones again to the URL of --forward.',
    'With --json, each line has an event: listening (url, page), message (request, status, format, id, ' +
      'isRepeated, message…) or refused (request, status, reason, explanation…).',
  ],
  examples: [
    'security-events listen',
    'security-events listen --ui',
    'security-events listen --forward http://127.0.0.1:3000/hooks --secret-file hook.secret',
    '# A receiver that is slow and fails twice',
    'security-events listen --fail 503,503,200 --delay 2s',
    '# In a script: wait for one request',
    'security-events listen --count 1 --json --secret-file hook.secret',
  ],
  async run({ options, terminal }) {
    const { port = '8080', host = '127.0.0.1', count, fail, forward, delay = '0' } = options;
    if (host === '') throw usageError('--host needs an address or a name');
    if (options.ui === true && !PAGE_HOSTS.includes(host)) {
      throw usageError(
        '--ui is for this machine only',
        `Use --host ${PAGE_HOSTS.slice(0, -1).join(', ')} or ${PAGE_HOSTS.at(-1)}.`,
      );
    }
    if (fail !== undefined && forward !== undefined) {
      throw usageError('give --fail or --forward, not both: each decides the answer');
    }
    if (fail !== undefined && !STATUSES.test(fail)) {
      throw usageError('--fail needs statuses from 200 to 599, such as 503,503,200 or 503+');
    }
    const delayMs = durationOf('delay', delay);
    if (delayMs > MAX_DELAY_MS) throw usageError('--delay must be at most 1h');
    const listening = {
      host,
      port: integerOf('--port', port, [0, 65_535]),
      settings: {
        delayMs,
        statuses: fail === undefined ? undefined : statusesOf(fail),
        forwardTo: forward === undefined ? undefined : targetOf(forward),
      },
      count: count === undefined ? 0 : integerOf('--count', count, [1, 1_000_000_000]),
      isJson: options.json === true,
      hasPage: options.ui === true,
    };
    const secrets = await readSecrets(options, terminal);
    if (secrets.length > 0) {
      const secretArguments = firstSecretArguments(options);
      return listen({ ...listening, secrets, secretArguments }, terminal);
    }
    return withTemporarySecret((secret, secretFile) => {
      const secretArguments = ['--secret-file', secretFile];
      return listen({ ...listening, secrets: [secret], secretArguments }, terminal);
    });
  },
});

export const commands = { listen: command };
