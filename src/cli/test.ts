/** `test`: sends one test message, and explains why it was not delivered. */
import { createWebhookSender } from '../index.ts';
import { defineCommand, JSON_OPTION, option } from './command.ts';
import { usageError } from './errors.ts';
import { requireSecret, SECRET_OPTIONS } from './secrets.ts';
import { REQUEST_OPTIONS } from './send/send.ts';
import { jsonLine, printable } from './terminal.ts';
import { testFacts, testText, V1_ALIASES_OPTION } from './test-report.ts';
import { deadlineOf, formatOf, networkOf } from './values.ts';

const OPTIONS = {
  ...SECRET_OPTIONS,
  application: option('ID', 'Application id of the message. Default test.'),
  format: option('2|1', 'Format of the message. Default 2.'),
  ...V1_ALIASES_OPTION,
  ...REQUEST_OPTIONS,
  ...JSON_OPTION,
} as const;

const test = defineCommand({
  summary: 'Sends one test message and explains what to check if the receiver rejects it.',
  usage: 'URL',
  options: OPTIONS,
  notes: [
    'Makes one attempt. Exits with 0 if the receiver answers 200 to 299, with 1 if it does not.',
  ],
  examples: [
    'security-events test http://127.0.0.1:8080/ --secret-file hook.secret',
    'SECURITY_EVENTS_SECRET=1234 security-events test https://example.com/hook --json',
  ],
  async run({ options, positionals: [url = ''], terminal }) {
    const { application = 'test', 'v1-aliases': v1Aliases = false } = options;
    const format = formatOf(options.format);
    if (v1Aliases && format !== 1) throw usageError('--v1-aliases needs --format 1');
    const secret = await requireSecret(options, terminal);
    const sender = createWebhookSender({
      url,
      secret,
      application: { id: application, name: 'security-events test', environment: 'test' },
      format,
      v1Aliases,
      network: networkOf(options.network ?? 'allow-private'),
      ...deadlineOf(options.deadline),
    });
    const { output, signal } = terminal;
    const stop = (): void => void sender.close({ deadlineMs: 0 });
    signal.addEventListener('abort', stop, { once: true });
    try {
      const report = await sender.sendTest(application);
      signal.throwIfAborted();
      // Only the host: the rest of the URL may be a token.
      const host = printable(new URL(url).host);
      const facts = testFacts(report);
      await output.write(options.json ? jsonLine(facts) : testText(facts, host, output));
      return report.ok ? 0 : 1;
    } finally {
      signal.removeEventListener('abort', stop);
      await sender.close({ deadlineMs: 0 });
    }
  },
});

export const commands = { test };
