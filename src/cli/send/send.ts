/** `send`: sends messages from a file or standard input with `sendWebhook`, and reports the result. */
import { stat } from 'node:fs/promises';
import { sendWebhook } from '../../index.ts';
import { defineCommand, flag, option } from '../command.ts';
import { usageError } from '../errors.ts';
import { inputName, openInput } from '../input.ts';
import { requireSecret, SECRET_OPTIONS } from '../secrets.ts';
import { jsonLine, paint, printable, type TerminalOutput } from '../terminal.ts';
import { issueText } from '../validate.ts';
import {
  counted,
  deadlineOf,
  dialectOf,
  durationOf,
  durationText,
  formatOf,
  MAX_DURATION_MS,
  networkOf,
  wholeNumber,
} from '../values.ts';
import { InvalidInput, type Place, readMessages } from './messages.ts';
import { type Cause, type SendCall, type SendEnd, SendRun } from './run.ts';
import { createUndeliveredFile } from './undelivered-file.ts';

/** Shared with `test`. */
export const REQUEST_OPTIONS = {
  deadline: option('TIME', 'Maximum time for one attempt. Default 20s.'),
  network: option(
    'public|allow-private',
    'public refuses private addresses. Default allow-private: the URL is often on this machine.',
  ),
} as const;

function delaysOf(delays: string): number[] {
  if (delays === 'none') return [];
  if (delays === '') throw usageError('--retries needs durations such as 500ms,2s,5s, or none');
  const delaysMs = delays.split(',').map((delay) => durationOf('retries', delay.trim()));
  if (delaysMs.every((ms) => ms <= MAX_DURATION_MS)) return delaysMs;
  throw usageError('--retries allows waits of at most 24d');
}

/** Validates a whole file before anything is sent. Skips pipes: they cannot be read a second time. */
async function checkFile({ file, options, terminal }: SendCall): Promise<void> {
  if (file === undefined || file === '-' || !(await stat(file)).isFile()) return;
  for await (const _ of readMessages(openInput(file, terminal), options));
}

const placeText = ({ line, index }: Place): string =>
  `line ${wholeNumber(line)}${index === undefined ? '' : `, element ${wholeNumber(index)}`}`;

const REASONS: Readonly<Record<Cause['reason'], string>> = {
  'attempts-exhausted': 'after all attempts',
  'horizon-passed': 'the time for retries is over',
  'wait-too-long': 'the next wait would be too long',
  'too-large': 'too large for a request',
  aborted: 'interrupted',
};

const WHY_NOT_SENT: Readonly<Record<SendEnd, string>> = {
  complete: '',
  'invalid-input': 'the input is invalid',
  'receiver-down': 'the receiver accepted none of the last messages',
  interrupted: 'interrupted',
  'input-failed': 'the input could not be read',
};

function causeLines({ count, first, reason, status, failure, detail }: Cause): string[] {
  const cause = status === undefined ? failure : `status ${status}`;
  const why = cause === undefined ? REASONS[reason] : `${cause}, ${REASONS[reason]}`;
  const id = first.message_id === undefined ? '' : `, ${printable(first.message_id.slice(0, 200))}`;
  const head = `  ${wholeNumber(count)}  ${why}; ${count === 1 ? '' : 'first: '}${placeText(first)}${id}`;
  return detail === undefined ? [head] : [head, `     ${printable(detail)}`];
}

function resultText(run: SendRun, durationMs: number, output: TerminalOutput): string {
  const { ok, delivered, undelivered, requests, retries, end, sentTo, readTo, saved } = run;
  const again = retries === 0 ? '' : ` (${counted(retries, 'retry', 'retries')})`;
  const facts = ` in ${counted(requests, 'request')}${again}, ${durationText(durationMs)}.`;
  const nothing = ok ? 'Empty input: nothing to send.' : 'Nothing was sent.';
  const isNothing = requests + undelivered === 0;
  const verdict = isNothing ? nothing : `Delivered ${counted(delivered, 'message')}`;
  const lines = [paint(output, ok ? 'green' : 'red', verdict) + (isNothing ? '' : facts)];
  if (undelivered > 0) lines.push(`Not delivered: ${counted(undelivered, 'message')}`);
  lines.push(...[...run.causes.values()].flatMap(causeLines));
  const isCut = end !== 'complete' && sentTo !== undefined;
  if (isCut) lines.push(`Not sent: everything after ${placeText(sentTo)} (${WHY_NOT_SENT[end]})`);
  if (saved !== undefined) {
    const isPart = end !== 'complete' && end !== 'receiver-down' && readTo !== undefined;
    const upTo = isPart ? `, up to ${placeText(readTo)}` : '';
    lines.push(`Saved ${counted(saved.count, 'message')} to ${printable(saved.path)}${upTo}`);
  }
  return `${lines.join('\n')}\n`;
}

function resultJson(run: SendRun, durationMs: number): string {
  const { ok, end, delivered, undelivered, requests, retries, sentTo, readTo, saved } = run;
  const counts = { delivered, undelivered, requests, retries, durationMs: Math.round(durationMs) };
  return jsonLine({ ok, end, ...counts, causes: [...run.causes.values()], sentTo, readTo, saved });
}

const send = defineCommand({
  summary: 'Sends messages from a file or standard input to a webhook.',
  usage: 'URL [FILE]',
  options: {
    ...SECRET_OPTIONS,
    format: option('2|1', 'Format of the messages; they are not converted. Default 2.'),
    dialect: option(
      'strict|open',
      'open accepts values that the contract does not list. Default strict.',
    ),
    retries: option(
      'TIME,…',
      'Waits between attempts; none disables retries. Default 500ms,2s,5s.',
    ),
    ...REQUEST_OPTIONS,
    undelivered: option(
      'PATH',
      'Save undelivered messages in this new file, to send them again. Only its owner can read it.',
    ),
    json: flag('Print the report as JSON.'),
  },
  notes: [
    'FILE is NDJSON (any size) or a JSON array or object of up to 64 MiB; standard input if missing ' +
      'or `-`. A message is { message_type, message, message_id? }. A received message keeps its id; ' +
      'its date_created and retry_count are new.',
    'A file is checked completely before anything is sent. Sends 1,000 messages at a time, and ' +
      'stops if all fail, unless the receiver answered 400, 413, 422 or 500. Exits with 1 unless ' +
      'everything was delivered.',
  ],
  examples: [
    'security-events send https://example.com/hook events.ndjson --secret-file hook.secret',
    'security-events send https://example.com/hook events.ndjson --undelivered left.ndjson',
    '# Send again what `listen --json` has received',
    `jq -c 'select(.event == "message").message' seen.ndjson | security-events send http://127.0.0.1:8080/`,
  ],
  async run({ options, positionals: [url = '', file], terminal }) {
    const { retries, undelivered: path, json, network = 'allow-private' } = options;
    const sendOptions = {
      format: formatOf(options.format),
      dialect: dialectOf(options.dialect),
      network: networkOf(network),
      ...(retries === undefined ? {} : { schedule: { delaysMs: delaysOf(retries) } }),
      ...deadlineOf(options.deadline),
    };
    const secret = await requireSecret(options, terminal);
    const destination = { url, secret };
    // Checks the URL and the options before anything is read.
    await sendWebhook(destination, [], sendOptions);
    const call = { destination, options: sendOptions, file, terminal };
    const { output, errors, clock, signal } = terminal;
    const run = new SendRun(call);
    const startedAt = clock.monotonicMs();
    try {
      await checkFile(call);
      if (path !== undefined) run.savedTo = await createUndeliveredFile(path);
      await run.run();
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      run.end = 'invalid-input';
      run.error = error;
    }
    const { end, error } = run;
    if (error instanceof InvalidInput) {
      const hint = error.hint === undefined ? '' : `${error.hint}\n`;
      await errors.write(issueText(inputName(file), error.issue).join('') + hint);
    }
    const durationMs = clock.monotonicMs() - startedAt;
    await output.write(json ? resultJson(run, durationMs) : resultText(run, durationMs, output));
    if (end === 'interrupted') throw signal.reason;
    if (error !== undefined && !(error instanceof InvalidInput)) throw error;
    return run.ok ? 0 : 1;
  },
});

export const commands = { send };
