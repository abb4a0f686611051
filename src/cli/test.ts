/** `test`: sends one test message, and advice for every way it can fail. */
import { createWebhookSender, type FailureCode, type SendReport } from '../index.ts';
import { defineCommand, flag, JSON_OPTION, option } from './command.ts';
import { requireSecrets, SECRET_OPTIONS } from './secrets.ts';
import { REQUEST_OPTIONS } from './send/send.ts';
import { jsonLine, paint, printable, type TerminalOutput } from './terminal.ts';
import { durationOf, durationText, formatOf, networkOf } from './values.ts';

const SECRET =
  'Use the same secret at both ends, and verify the raw body. `security-events listen` in place of ' +
  'the receiver shows the cause.';
const SLOW = 'Answer first and process the messages afterwards, or wait longer with --deadline.';

type StatusRow = readonly [from: number, to: number, advice: string];

/** The first row that contains the status applies. */
const BY_STATUS: readonly StatusRow[] = [
  [
    300,
    399,
    'Redirects are not followed. Use the final URL: https://, or with a slash at the end.',
  ],
  [
    400,
    400,
    `Check the secret first: many receivers answer 400 to a wrong signature. ${SECRET} Otherwise the ` +
      'receiver must accept a JSON array and ignore unknown message types such as `test`; a receiver ' +
      'of the deprecated format needs --format 1.',
  ],
  [401, 401, `The receiver rejected the signature. ${SECRET}`],
  [403, 403, `The receiver rejected the signature, or a firewall blocked the request. ${SECRET}`],
  [404, 404, 'The receiver has no such path. Compare it with its routes, including a final slash.'],
  [405, 405, 'The path does not accept POST. Compare it with the routes of the receiver.'],
  [
    408,
    408,
    'The receiver waited for more data. It should read as many bytes as Content-Length says.',
  ],
  [410, 410, 'The receiver is gone for good. A sender stops after the second 410.'],
  [413, 413, 'The receiver accepts only very small bodies. Raise its limit.'],
  [415, 415, 'The receiver must accept Content-Type: application/json.'],
  [429, 429, 'The receiver limits its requests. A sender waits as long as Retry-After says.'],
  [
    400,
    499,
    'The receiver must accept a JSON array and ignore unknown message types such as `test`. A ' +
      'receiver of the deprecated format needs --format 1.',
  ],
  [502, 504, 'A proxy got no answer from the receiver. Is it running, and fast enough?'],
  [500, 599, 'The receiver failed. See its log.'],
];

/** What to do. The library's `detail` says what happened. */
const BY_FAILURE: Readonly<Record<FailureCode, string>> = {
  'address-refused':
    'Use --network allow-private to reach private addresses. The sender needs the same option.',
  dns: 'Check the host name.',
  'connection-refused':
    'Is the receiver running, and is the port right? `security-events listen` starts one.',
  'network-unreachable': 'This machine has no route to the address.',
  'connect-timeout': 'Nothing answers. Check the address and the firewalls in between.',
  tls: 'Does the port speak HTTPS? For your own certificate authority, set NODE_EXTRA_CA_CERTS.',
  'headers-timeout': SLOW,
  deadline: SLOW,
  'connection-reset':
    'The receiver closed the connection. See its log; an HTTPS port needs https://.',
  protocol: 'The answer is not HTTP. Check the port; an HTTPS port needs https://.',
  aborted: 'The test was interrupted.',
  'undici-missing': 'Install undici 7 beside this package.',
  network: 'The attempt failed on this machine.',
};

export interface AttemptEnd {
  readonly status?: number | undefined;
  readonly failure?: FailureCode | undefined;
}

/** Returns undefined for a status that HTTP does not define. */
export function adviceFor({ status = 0, failure }: AttemptEnd): string | undefined {
  if (failure !== undefined) return BY_FAILURE[failure];
  return BY_STATUS.find(([from, to]) => status >= from && status <= to)?.[2];
}

/** For receivers that read `id`, `url` and `risk` in format 1 (D41). */
export const V1_ALIASES_OPTION = {
  'v1-aliases': flag(
    'In format 1, also write id, url and risk, as `v1Aliases` of the sender does.',
  ),
} as const;

const test = defineCommand({
  summary: 'Sends one test message and explains what to check if the receiver rejects it.',
  usage: 'URL',
  options: {
    ...SECRET_OPTIONS,
    application: option('ID', 'Application id of the message. Default test.'),
    format: option('2|1', 'Format of the message. Default 2.'),
    ...V1_ALIASES_OPTION,
    ...REQUEST_OPTIONS,
    ...JSON_OPTION,
  },
  notes: ['Makes one attempt. Exits with 0 if the receiver answers 200 to 299, otherwise with 1.'],
  examples: [
    'security-events test http://127.0.0.1:8080/ --secret-file hook.secret',
    'SECURITY_EVENTS_SECRET=1234 security-events test https://example.com/hook --json',
  ],
  async run({ options, words: [url = ''], terminal }) {
    const { application = 'test', deadline } = options;
    const [secret] = await requireSecrets(options, terminal);
    const sender = createWebhookSender({
      url,
      secret,
      application: { id: application, name: 'security-events test', environment: 'test' },
      format: formatOf(options.format),
      v1Aliases: options['v1-aliases'] === true,
      network: networkOf(options.network ?? 'allow-private'),
      ...(deadline === undefined ? {} : { deadlineMs: durationOf('deadline', deadline) }),
    });
    const { output, signal } = terminal;
    const stop = (): void => void sender.close({ deadlineMs: 0 });
    signal.addEventListener('abort', stop, { once: true });
    try {
      const report = await sender.sendTest(application);
      signal.throwIfAborted();
      // Only the host: the rest of the URL may be a token.
      const host = printable(new URL(url).host);
      await output.write(options.json ? resultJson(report) : resultText(report, host, output));
      return report.ok ? 0 : 1;
    } finally {
      signal.removeEventListener('abort', stop);
      await sender.close({ deadlineMs: 0 });
    }
  },
});

function resultText({ ok, requests }: SendReport, host: string, output: TerminalOutput): string {
  const [request] = requests;
  if (request === undefined) return `${paint(output, 'red', 'Not sent.')}\n`;
  const { status, failure, detail, durationMs, bytes, message_ids } = request;
  const verdict = ok ? paint(output, 'green', 'Delivered') : paint(output, 'red', 'Not delivered');
  const answer =
    status === undefined
      ? `no answer from ${host}`
      : `${host} answered ${status} after ${durationText(durationMs)}`;
  const lines = [
    `${verdict}: ${answer}.`,
    `Test message ${message_ids.join('')}, ${bytes} bytes.`,
    detail,
    ok ? undefined : adviceFor({ status, failure }),
  ];
  return `${lines.filter((line) => line !== undefined).join('\n')}\n`;
}

function resultJson({ ok, requests }: SendReport): string {
  const { status, failure, detail, durationMs, bytes, message_ids = [] } = requests[0] ?? {};
  const advice = ok ? undefined : adviceFor({ status, failure });
  const [message_id] = message_ids;
  return jsonLine({ ok, message_id, status, failure, detail, durationMs, bytes, advice });
}

export const commands = { test };
