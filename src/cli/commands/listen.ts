import type { Server } from 'node:http';
import { generateSecret } from '../../index.ts';
import { createMemoryDuplicates } from '../../receiver/index.ts';
import { defineCommand } from '../command.ts';
import { misuse } from '../failure.ts';
import { jsonLine } from '../json-line.ts';
import { type Delivery, deliveryJson, deliveryText } from '../listen/delivery.ts';
import { LISTEN_OPTIONS, type ListenSettings, listenSettings } from '../listen/listen-settings.ts';
import { createListener } from '../listen/listener.ts';
import { leadsTo, openPort, urlOf } from '../listen/open-port.ts';
import { makeTemporarySecret } from '../listen/temporary-secret.ts';
import { readSecrets } from '../secrets.ts';
import { paint, type Terminal } from '../terminal.ts';

export const listenCommand = defineCommand({
  summary: 'receives webhooks, verifies them and shows what came in',
  words: [],
  options: LISTEN_OPTIONS,
  notes: [
    [
      'Without a secret one is made for this run and kept in a file that only you may read; what a',
      'sender has to do is printed, and the file is removed at the end.',
    ].join('\n'),
    [
      'The exit code is 0, and with --count or --once 1 where one of those requests was refused.',
      'Requests that are not POST, or to another path, are shown and not counted.',
    ].join('\n'),
    'What --fail says is for genuine requests only. Once it is over they are answered 204.',
    'What --forward hands on has a header via; what comes back here by it is answered 508.',
    [
      'With --json each line has an event: listening (url), message (request, status, format, id,',
      'isRepeated, message) or refused (request, status, reason, explanation).',
    ].join('\n'),
  ],
  examples: [
    { command: 'security-events listen', what: 'shows what comes in at http://127.0.0.1:8080/' },
    {
      command: 'security-events listen --fail 503,503,200 --delay 2s',
      what: 'a receiver that is slow, and down at first: shows how a sender tries again',
    },
    {
      command:
        'security-events listen --forward http://127.0.0.1:3000/hooks --secret-file hook.secret',
      what: 'looks on while your own receiver answers',
    },
    {
      command: 'security-events listen --once --json --port 0 --secret-file hook.secret',
      what: 'in a script: waits for one request and says by its exit code whether it was genuine',
    },
  ],
  async run({ options, terminal }) {
    const settings = listenSettings(options);
    const { forwardTo } = settings;
    if (forwardTo !== undefined && leadsTo(settings, forwardTo)) {
      throw misuse('--forward leads back to this listener');
    }
    const secrets = await readSecrets(options, terminal);
    if (secrets.length > 0) return listen(settings, { secrets, secretOption: '' }, terminal);
    const made = await makeTemporarySecret(terminal);
    try {
      const secretOption = ` --secret-file ${shellWord(made.path)}`;
      return await listen(settings, { secrets: [made.secret], secretOption }, terminal);
    } finally {
      await made.remove();
    }
  },
});

interface Secrets {
  readonly secrets: readonly string[];
  /** For the line that shows how to send; empty where the user has the secret anyway. */
  readonly secretOption: string;
}

async function listen(
  settings: ListenSettings,
  { secrets, secretOption }: Secrets,
  terminal: Terminal,
): Promise<0 | 1> {
  const { output, errors, clock, signal } = terminal;
  const { count, isJson } = settings;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  let answered = 0;
  let refused = 0;
  const server = createListener({
    ...settings,
    secrets,
    // Beforehand nobody can tell each name and address by which --forward leads back.
    forwarder: `security-events-${generateSecret().slice(0, 16)}`,
    taken: createMemoryDuplicates(),
    clock,
    tell: async (delivery) => {
      // What the end cut off was answered to nobody.
      if (ending.signal.aborted) return;
      await output.write(isJson ? deliveryJson(delivery) : deliveryText(delivery, output));
    },
    onNoise: (hint) => void errors.write(`${paint(errors, 'yellow', hint)}\n`),
    onAnswered: (delivery: Delivery) => {
      answered += 1;
      if (delivery.refusal !== undefined) refused += 1;
      if (answered === count) end();
    },
  });
  const port = await openPort(server, settings);
  signal.addEventListener('abort', end, { once: true });
  try {
    const url = urlOf({ host: settings.host, port }, settings.path);
    await output.write(isJson ? jsonLine({ event: 'listening', url }) : `Listening on ${url}\n`);
    await errors.write(`${paint(errors, 'dim', hintOf(url, secretOption, terminal))}\n\n`);
    if (!signal.aborted) await aborted(ending.signal);
  } finally {
    signal.removeEventListener('abort', end);
    end();
    await close(server);
  }
  return count !== undefined && refused > 0 ? 1 : 0;
}

function hintOf(url: string, secretOption: string, { environment }: Terminal): string {
  // Where npm started this, the name alone is not found by a shell.
  const program = environment['npm_command'] === 'exec' ? 'npx security-events' : 'security-events';
  const lead = secretOption === '' ? '' : 'A secret was made for this run. ';
  return `${lead}From another terminal:\n  ${program} test ${shellWord(url)}${secretOption}`;
}

const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
