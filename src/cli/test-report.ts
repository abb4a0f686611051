/** The result of a test message, as `test` and `settings` print it. */
import { type FailureCode, SecurityEventError, type SendReport } from '../index.ts';
import { flag } from './command.ts';
import { addressHint } from './errors.ts';
import { paint, type TerminalOutput } from './terminal.ts';
import { durationText } from './values.ts';

/** For receivers that read `id`, `url` and `risk` in format 1 (D41). */
export const V1_ALIASES_OPTION = {
  'v1-aliases': flag(
    'In format 1, also write id, url and risk, like the sender option `v1Aliases`.',
  ),
} as const;

const SECRET =
  'Use the same secret at both ends, and verify the raw body. ' +
  'Run `security-events listen` in place of the receiver to see the cause.';
const GATEWAY = 'A proxy got no answer from the receiver. Is it running, and fast enough?';
const CONTENT =
  'must accept a JSON array and ignore unknown message types such as `test`. A receiver of the ' +
  'deprecated format needs format 1.';

/** What to do, by status or class of statuses. */
const BY_STATUS: Readonly<Record<string, string>> = {
  '3xx': 'Redirects are not followed. Use the final URL: https://, or with a slash at the end.',
  400:
    `Check the secret first: many receivers answer 400 to a wrong signature. ${SECRET} Otherwise the ` +
    `receiver ${CONTENT}`,
  401: `The receiver rejected the signature, or expects other credentials. ${SECRET}`,
  403: `The receiver rejected the signature, or a firewall blocked the request. ${SECRET}`,
  404: 'The receiver has no such path. Compare it with its routes, including a final slash.',
  405: 'The path does not accept POST. Compare it with the routes of the receiver.',
  408: 'The receiver waited for more data. It should read as many bytes as Content-Length says.',
  410: 'The receiver is gone for good. A sender stops after the second 410.',
  413: 'The receiver accepts only very small bodies. Raise its limit.',
  415: 'The receiver must accept Content-Type: application/json.',
  429: 'The receiver limits its requests. A sender waits as long as Retry-After says.',
  '4xx': `The receiver ${CONTENT}`,
  502: GATEWAY,
  503: 'The receiver is overloaded, or a proxy cannot reach it. Is it running?',
  504: GATEWAY,
  '5xx': 'The receiver failed. See its log.',
};

const TLS_PORT = 'A port that speaks HTTPS needs https:// in the URL.';
const LONGER = '`security-events test --deadline TIME` waits longer.';

/** What to do, beyond what the library's `detail` says. */
const BY_FAILURE: Readonly<Partial<Record<FailureCode, string>>> = {
  'connection-refused': '`security-events listen` starts a receiver.',
  tls: 'Does the port speak HTTPS? For your own certificate authority, set NODE_EXTRA_CA_CERTS.',
  'headers-timeout': LONGER,
  deadline: LONGER,
  'connection-reset': TLS_PORT,
  protocol: TLS_PORT,
};

type Outcome = Pick<SendReport['requests'][number], 'status' | 'failure' | 'detail'>;

function adviceFor({ status = 0, failure, detail = '' }: Outcome): string | undefined {
  if (failure === 'address-refused') return addressHint(detail);
  if (failure !== undefined) return BY_FAILURE[failure];
  return BY_STATUS[status] ?? BY_STATUS[`${Math.floor(status / 100)}xx`];
}

/** The result for programs. Contains no secret, no URL and no received text. */
export function testFacts({ ok, requests: [request] }: Pick<SendReport, 'ok' | 'requests'>) {
  const { status, failure, durationMs: time = 0, bytes, message_ids = [] } = request ?? {};
  // The hint of `detail` names an option of the library; the advice names the command's option.
  const { hint } = new SecurityEventError('ERR_ADDRESS_REFUSED');
  const detail = request?.detail?.replace(` ${hint}`, '');
  const advice = ok || request === undefined ? undefined : adviceFor(request);
  const [message_id] = message_ids;
  const durationMs = Math.round(time);
  return { ok, message_id, status, failure, detail, durationMs, bytes, advice };
}

export type TestFacts = ReturnType<typeof testFacts>;

/** The result for people. `receiver` is the host, or `the receiver` if the host must not be shown. */
export function testText(facts: TestFacts, receiver: string, output: TerminalOutput): string {
  const { ok, message_id, status, detail, durationMs, bytes, advice } = facts;
  if (bytes === undefined) return `${paint(output, 'red', 'Not sent.')}\n`;
  const verdict = ok ? paint(output, 'green', 'Delivered') : paint(output, 'red', 'Not delivered');
  const answer =
    status === undefined
      ? `no answer from ${receiver}`
      : `${receiver} answered ${status} after ${durationText(durationMs)}`;
  const lines = [
    `${verdict}: ${answer}.`,
    `Test message ${message_id}, ${bytes} bytes.`,
    detail,
    advice,
  ];
  return `${lines.filter((line) => line !== undefined).join('\n')}\n`;
}
