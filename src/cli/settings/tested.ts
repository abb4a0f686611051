/** What a test of a destination came to, and what to look at where it failed. */
import type { DestinationWarning, TestedWebhook } from '../../settings/index.ts';
import { durationText } from '../quantities.ts';
import { paint, type Terminal } from '../terminal.ts';
import { adviceFor } from '../test/advice.ts';

/** What to look at; of a failure the library's own sentence, but where an option of the command helps. */
function adviceOn({
  status,
  failure,
  detail,
}: TestedWebhook['requests'][number]): string | undefined {
  if (failure !== 'address-refused') return status === undefined ? detail : adviceFor({ status });
  return `${detail ?? ''} With --network allow-private the test may go there; the sender needs it, too.`;
}

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
  const advice = request && adviceOn(request);
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
