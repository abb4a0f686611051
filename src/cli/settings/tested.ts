/** What a test of a destination came to, and what to look at where it failed. */
import type { DestinationWarning, TestedWebhook } from '../../settings/index.ts';
import { durationText } from '../quantities.ts';
import { paint, type Terminal } from '../terminal.ts';

const STATUS_ADVICE: readonly (readonly [from: number, to: number, advice: string])[] = [
  [300, 399, 'Redirects are not followed: give the URL that it leads to.'],
  [
    401,
    401,
    'The receiver refuses the signature: compare the secrets; `security-events explain` says more.',
  ],
  [
    403,
    403,
    'The receiver, or something before it, refuses: look at its secret and at its firewall.',
  ],
  [404, 404, 'Nothing is there: look at the path of the URL.'],
  [405, 405, 'What is there takes no POST: look at the path of the URL.'],
  [410, 410, 'The receiver says that it has gone for good.'],
  [413, 413, 'The receiver takes no body of this size.'],
  [415, 415, 'The receiver takes no application/json.'],
  [400, 499, 'The receiver refuses what was sent: look at its log.'],
  [500, 599, 'The receiver failed: look at its log.'],
];

const adviceOn = (status: number): string =>
  STATUS_ADVICE.find(([from, to]) => status >= from && status <= to)?.[2] ??
  'Deliveries are answered by a status from 200 to 299.';

/** As it is printed for programs; the secret, the URL and what was received are not in it. */
export function testFacts({ ok, tested, requests }: TestedWebhook) {
  const [request] = requests;
  return {
    ok,
    tested,
    ...(request?.status === undefined ? {} : { status: request.status }),
    ...(request?.failure === undefined ? {} : { failure: request.failure }),
    ...(request === undefined ? {} : { durationMs: Math.round(request.durationMs) }),
  };
}

/** For a person, on standard error. */
export async function tellTest(report: TestedWebhook, { errors }: Terminal): Promise<void> {
  const [request] = report.requests;
  const how = String(request?.status ?? request?.failure ?? 'not sent');
  const time = durationText(request?.durationMs ?? 0);
  if (report.ok) {
    await errors.write(`${paint(errors, 'green', 'Test message delivered')}: ${how} in ${time}.\n`);
    return;
  }
  const advice = request?.status === undefined ? request?.detail : adviceOn(request.status);
  const line = `${paint(errors, 'red', 'Test message not delivered')}: ${how} in ${time}.`;
  await errors.write(`${line}\n${advice === undefined ? '' : `${advice}\n`}`);
}

export const WARNING_TEXTS: Readonly<Record<DestinationWarning | 'readable-by-others', string>> = {
  'plain-http': 'What is sent over http can be read on its way; the signature does not hide it.',
  'readable-by-others': 'It holds secrets, and others than its owner may read it: chmod 600.',
  'short-secret': 'The secret has fewer than 16 bytes: it can be guessed.',
  'space-around-secret':
    'The secret begins or ends with white space, which is easily lost where it is copied.',
};

export async function tellWarnings(
  warnings: readonly DestinationWarning[],
  { errors }: Terminal,
): Promise<void> {
  for (const word of warnings) {
    await errors.write(`${paint(errors, 'yellow', word)}: ${WARNING_TEXTS[word]}\n`);
  }
}
