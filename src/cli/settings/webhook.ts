/** `settings set`, `test`, `save` and `rotate`: the webhook of an application and its secret. */
import { readFile } from 'node:fs/promises';
import { type Configuration, createConfiguration } from '../../settings.ts';
import { flag, list, type OptionValues, option } from '../command.ts';
import { usageError } from '../errors.ts';
import { checkOneSecret, readSecrets, requireSecrets } from '../secrets.ts';
import { printable, type Terminal } from '../terminal.ts';
import { durationOf } from '../values.ts';
import {
  APPLICATION_OPTION,
  memoryStore,
  printTest,
  printWarnings,
  requireApplication,
  settingsCommand,
  TEST_OPTIONS,
  testOptionsOf,
} from './settings-command.ts';

/** Without a default in their help: it depends on the command. */
const NAMED_SECRET_OPTIONS = {
  'secret-env': list('NAME', 'Environment variable with the secret.'),
  'secret-file': list('PATH', 'File with the secret.'),
} as const;

type SecretChoice = OptionValues<typeof NAMED_SECRET_OPTIONS>;

/** Returns the secret given by the options, or undefined. */
async function namedSecret(options: SecretChoice, terminal: Terminal): Promise<string | undefined> {
  const { 'secret-env': name, 'secret-file': file } = options;
  if (name === undefined && file === undefined) return undefined;
  checkOneSecret(options);
  return (await readSecrets(options, terminal))[0];
}

/** Returns the given secret. Default: that of the application, since a new URL needs no new secret. */
async function secretFor(
  configuration: Configuration,
  id: string,
  { options, terminal }: { readonly options: SecretChoice; readonly terminal: Terminal },
): Promise<string> {
  const named = await namedSecret(options, terminal);
  if (named !== undefined) return named;
  const { applications } = await configuration.describe();
  const known = Object.hasOwn(applications, id) ? applications[id] : undefined;
  if (known?.nextSecretFrom !== undefined) {
    throw usageError(
      `the secret changes at ${known.nextSecretFrom}; a new URL would cancel that`,
      'Wait until then, or name the secret with --secret-env or --secret-file.',
    );
  }
  const saved = known && (await configuration.secretOf(id));
  return saved ?? (await requireSecrets({}, terminal))[0];
}

/** Copies the settings to memory, for a test that must not change the file. */
async function copyOf(file: string, options: OptionValues<typeof TEST_OPTIONS>) {
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return createConfiguration({ store: memoryStore(content), ...testOptionsOf(options) });
}

const NO_TEST_OPTION = { 'no-test': flag('Save without sending a test message.') } as const;
const NOT_TESTED = 'NOT TESTED: nothing was sent to the URL.\n';

export const set = settingsCommand({
  summary: 'Saves a webhook URL for an application if a test message arrives.',
  creates: true,
  options: {
    ...APPLICATION_OPTION,
    url: option('URL', 'Webhook URL, http or https. Required.'),
    name: option('NAME', 'Application name. Default: the saved name, or its id.'),
    environment: option('NAME', 'Application environment. Default: the saved one, or empty.'),
    ...NAMED_SECRET_OPTIONS,
    ...TEST_OPTIONS,
    draft: flag('Send nothing; keep the URL as a draft for `settings save`.'),
    ...NO_TEST_OPTION,
  },
  notes: [
    "By default uses the secret of the application's draft or saved URL, or else SECURITY_EVENTS_SECRET. " +
      'Use --draft if the receiver does not have the secret yet.',
    'Creates FILE if necessary (mode 0600). If the test fails, exits with 1 and changes nothing.',
  ],
  examples: [
    'set settings.json --application shop-1 --url https://example.com/hook --secret-file hook.secret',
  ],
  async work({ configuration, file, options, terminal }) {
    const id = requireApplication(options.application);
    const { url, name, environment, draft = false, 'no-test': isUntested = false } = options;
    if (url === undefined) throw usageError('--url is missing');
    const secret = await secretFor(configuration, id, { options, terminal });
    const names = { ...(name && { name }), ...(environment !== undefined && { environment }) };
    const choice = { secret, ...names };
    let test: Awaited<ReturnType<typeof printTest>> | undefined;
    if (!isUntested && !draft) {
      const copy = await copyOf(file, options);
      await copy.setWebhook(id, url, choice);
      const report = await copy.test(id);
      // An interrupted command saves nothing.
      terminal.signal.throwIfAborted();
      test = await printTest(report, terminal);
    }
    if (test?.ok === false) {
      const line = `${printable(id)}: not saved; the file is unchanged\n`;
      return { text: line, facts: { application: id, result: 'test-failed', test }, isOk: false };
    }
    const { warnings } = await configuration.setWebhook(id, url, choice);
    if (!draft) await configuration.save(id);
    await printWarnings(warnings, terminal);
    if (isUntested && !draft) await terminal.errors.write(NOT_TESTED);
    const next = `security-events settings save ${printable(file)} --application ${printable(id)}`;
    const line = draft
      ? `${printable(id)}: kept as a draft; a saved URL stays in use\n` +
        `Once the receiver has the secret, run ${next}\n`
      : `${printable(id)}: saved\n`;
    return { text: line, facts: { application: id, result: draft ? 'draft' : 'saved', test } };
  },
});

export const test = settingsCommand({
  summary: "Sends a test message to an application's draft, or to its saved URL.",
  options: { ...APPLICATION_OPTION, ...TEST_OPTIONS },
  notes: ['Makes one attempt. Exits with 1 if the message is not delivered.'],
  examples: ['test settings.json --application shop-1'],
  async work({ configuration, options, terminal }) {
    const id = requireApplication(options.application);
    const facts = await printTest(await configuration.test(id), terminal);
    return { text: '', facts: { application: id, ...facts }, isOk: facts.ok };
  },
});

const SAVE_RESULTS = {
  saved: 'saved',
  'no-draft': 'there is no draft to save',
  'test-failed': 'not saved; the draft stays',
} as const;

export const save = settingsCommand({
  summary: "Tests an application's draft and saves it if the test message arrives.",
  options: { ...APPLICATION_OPTION, ...TEST_OPTIONS, ...NO_TEST_OPTION },
  notes: ['Exits with 1 if the test fails or there is no draft.'],
  examples: ['save settings.json --application shop-1'],
  async work({ configuration, options, terminal }) {
    const id = requireApplication(options.application);
    const run = async (): Promise<keyof typeof SAVE_RESULTS> => {
      const { applications } = await configuration.describe();
      const known = Object.hasOwn(applications, id) ? applications[id] : undefined;
      if (known?.draftUrl === undefined) return 'no-draft';
      if (options['no-test']) {
        await terminal.errors.write(NOT_TESTED);
      } else {
        const report = await configuration.test(id);
        terminal.signal.throwIfAborted();
        await printTest(report, terminal);
        if (!report.ok) return 'test-failed';
      }
      return (await configuration.save(id)) ? 'saved' : 'no-draft';
    };
    const result = await run();
    const line = `${printable(id)}: ${SAVE_RESULTS[result]}\n`;
    return { text: line, facts: { application: id, result }, isOk: result === 'saved' };
  },
});

export const rotate = settingsCommand({
  summary: "Replaces an application's secret after a delay.",
  options: {
    ...APPLICATION_OPTION,
    ...NAMED_SECRET_OPTIONS,
    in: option('TIME', 'When the new secret takes over, such as 12h; 0 means now. Default 24h.'),
  },
  notes: [
    'Attempts are signed with the old secret until the delay is over, then with the new one. Before ' +
      'that, let the receiver accept both. Run the command again to replace the new secret.',
  ],
  examples: ['rotate settings.json --application shop-1 --secret-file next.secret --in 48h'],
  async work({ configuration, options, terminal }) {
    const id = requireApplication(options.application);
    const { in: delay = '24h' } = options;
    const from = new Date(terminal.clock.now() + durationOf('in', delay));
    const secret = await namedSecret(options, terminal);
    if (secret === undefined) {
      const hint =
        'Use --secret-env or --secret-file. `security-events secret` generates a secret.';
      throw usageError('no new secret given', hint);
    }
    const rotated = await configuration.rotateSecret(id, { secret, from });
    await printWarnings(rotated.warnings, terminal);
    const time = rotated.from.toISOString();
    const text = `${printable(id)}: the new secret signs from ${time}\n`;
    return { text, facts: { application: id, from: time } };
  },
});
