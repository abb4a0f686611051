import { stat } from 'node:fs/promises';
import { sendWebhook } from '../../index.ts';
import { defineCommand } from '../command.ts';
import { misuse } from '../failure.ts';
import { requireSecrets } from '../secrets.ts';
import { checkInput } from '../send/check-input.ts';
import { isDelivered, sendReportJson, sendReportText } from '../send/send-report.ts';
import { nothingSent, type SendCall, send } from '../send/send-run.ts';
import { SEND_OPTIONS, sendSettings } from '../send/send-settings.ts';
import type { FileIdentity } from '../terminal.ts';

export const sendCommand = defineCommand({
  summary:
    'sends messages from a file or standard input to a webhook, and says what became of them',
  words: [
    { name: 'URL', what: 'where to send to, http or https', isRequired: true },
    {
      name: 'FILE',
      what: 'a JSON array, a JSON object, or one of them on each line; - or nothing for standard input',
    },
  ],
  options: SEND_OPTIONS,
  notes: [
    [
      'A message is { message_type, message, message_id? }. One with its envelope, as it was received,',
      'is taken too: its id stays, and the rest of the envelope is made anew.',
    ].join('\n'),
    [
      'A file is checked whole before anything is sent: where it has a fault, which is told by line and',
      'path, nothing is sent. Of standard input 2,000 messages are read ahead.',
    ].join('\n'),
    [
      'Where the receiver takes nothing at all of 1,000 messages, the rest is not tried. With',
      '--undelivered all that was not delivered is kept, under the ids by which it was sent, so that a',
      'receiver knows it again.',
    ].join('\n'),
    'The exit code is 1 unless everything was delivered.',
  ],
  examples: [
    {
      command:
        'security-events send https://example.com/hook events.ndjson --secret-file hook.secret',
      what: 'sends a file',
    },
    {
      command: `jq -c 'select(.event == "message").message' seen.ndjson | security-events send http://127.0.0.1:8080/`,
      what: 'sends again what `listen --json > seen.ndjson` has seen',
    },
    {
      command:
        'security-events send https://example.com/hook events.json --undelivered left.ndjson',
      what: 'keeps what was not delivered',
    },
  ],
  async run({ options, words: [url = '', file], terminal }) {
    const settings = sendSettings(options);
    const [secret] = await requireSecrets(options, terminal);
    // Says what is wrong with URL and options while nothing is read.
    await sendWebhook({ url, secret }, [], settings.options);
    const sending: SendCall = { destination: { url, secret }, file, settings, terminal };
    await refuseOwnInput(sending);
    const checked = await checkInput(file, settings, terminal);
    const outcome =
      checked.faults.length > 0 ? nothingSent(checked, sending) : await send(checked, sending);
    const { output } = terminal;
    await output.write(settings.isJson ? sendReportJson(outcome) : sendReportText(outcome, output));
    if (outcome.end === 'interrupted') throw terminal.signal.reason;
    if (outcome.error !== undefined) throw outcome.error;
    return isDelivered(outcome) ? 0 : 1;
  },
});

/** What is written there would be gone before it is read. */
async function refuseOwnInput({ file, settings, terminal }: SendCall): Promise<void> {
  const { undelivered } = settings;
  if (undelivered === undefined) return;
  const isStandardInput = file === undefined || file === '-';
  const input = isStandardInput ? terminal.input.file() : await identityOf(file);
  const output = await identityOf(undelivered);
  const isSame = input !== undefined && input.ino === output?.ino && input.dev === output.dev;
  if (isSame) throw misuse('--undelivered must be another file than the one that is sent');
}

const identityOf = async (path: string): Promise<FileIdentity | undefined> => {
  try {
    return await stat(path, { bigint: true });
  } catch {
    return undefined;
  }
};
