import { createWebhookSender, type SendReport } from '../../index.ts';
import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { durationOf } from '../option-values.ts';
import { printable } from '../printable.ts';
import { durationText } from '../quantities.ts';
import { requireSecrets, SECRET_OPTIONS } from '../secrets.ts';
import { formatOf, networkOf, SEND_OPTIONS } from '../send/send-settings.ts';
import { paint, type TerminalOutput } from '../terminal.ts';
import { adviceFor } from '../test/advice.ts';

const APPLICATION = { name: 'security-events test', environment: 'test' };

export const testCommand = defineCommand({
  summary: 'sends one test message to a webhook, and says what to look at where it is not taken',
  words: [{ name: 'URL', what: 'where to send to, http or https', isRequired: true }],
  options: {
    ...SECRET_OPTIONS,
    application: { type: 'string', value: 'ID', what: 'id of the application it is of (test)' },
    format: { type: 'string', value: '2|1', what: 'format that the receiver reads (2)' },
    deadline: SEND_OPTIONS.deadline,
    network: SEND_OPTIONS.network,
    json: { type: 'boolean', what: 'prints the result as one line of JSON' },
  },
  notes: [
    'There is one attempt. The exit code is 0 where the receiver answered 200 to 299, and 1 otherwise.',
  ],
  examples: [
    {
      command: 'SECURITY_EVENTS_SECRET=1234 security-events test http://127.0.0.1:8080/',
      what: 'whether a receiver on this machine takes what is signed with this secret',
    },
    {
      command: 'security-events test https://example.com/hook --secret-file hook.secret --json',
      what: 'in a script',
    },
  ],
  async run({ options, words: [url = ''], terminal }) {
    const { application = 'test', deadline } = options;
    const [secret] = await requireSecrets(options, terminal);
    const sender = createWebhookSender({
      url,
      secret,
      application: { id: application, ...APPLICATION },
      format: formatOf(options.format),
      network: networkOf(options.network),
      ...(deadline === undefined ? {} : { deadlineMs: durationOf('deadline', deadline) }),
    });
    const { output } = terminal;
    const stop = (): void => void sender.close({ deadlineMs: 0 });
    terminal.signal.addEventListener('abort', stop, { once: true });
    try {
      const report = await sender.sendTest(application);
      terminal.signal.throwIfAborted();
      const text = options.json === true ? resultJson(report) : resultText(report, url, output);
      await output.write(text);
      return report.ok ? 0 : 1;
    } finally {
      terminal.signal.removeEventListener('abort', stop);
      await sender.close({ deadlineMs: 0 });
    }
  },
});

/** Not the whole URL: what stands behind the host may be a token. */
const hostOf = (url: string): string => new URL(url).host;

function resultText(report: SendReport, url: string, output: TerminalOutput): string {
  const [request] = report.requests;
  const host = printable(hostOf(url));
  if (request === undefined) return `${paint(output, 'red', 'Not sent.')}\n`;
  const { status, failure, detail, durationMs, bytes, message_ids } = request;
  const duration = durationText(durationMs);
  const answer =
    status === undefined
      ? `no answer from ${host}`
      : `${host} answered ${status} after ${duration}`;
  const verdict = report.ok
    ? paint(output, 'green', 'Delivered')
    : paint(output, 'red', 'Not delivered');
  const advice = report.ok ? undefined : adviceFor({ status, failure });
  const lines = [
    `${verdict}: ${answer}.`,
    `The test message ${message_ids.join('')}, ${bytes} bytes.`,
    ...(detail === undefined ? [] : [detail]),
    ...(advice === undefined ? [] : [advice]),
  ];
  return `${lines.join('\n')}\n`;
}

function resultJson(report: SendReport): string {
  const [request] = report.requests;
  const { status, failure, detail, durationMs, bytes, message_ids = [] } = request ?? {};
  const advice = report.ok ? undefined : adviceFor({ status, failure });
  const [message_id] = message_ids;
  return jsonLine({
    ok: report.ok,
    message_id,
    status,
    failure,
    detail,
    durationMs,
    bytes,
    advice,
  });
}
