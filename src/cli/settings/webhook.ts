/** `settings set`, `test`, `save` and `rotate`: the webhook of an application and its secret. */
import { open, readFile, rm } from 'node:fs/promises';
import { generateSecret } from '../../index.ts';
import { type Configuration, createConfiguration } from '../../settings/index.ts';
import { flag, type OptionValues, option } from '../command.ts';
import { usageError } from '../errors.ts';
import { DEFAULT_SECRET_VARIABLE, readSecrets, SECRET_OPTIONS } from '../secrets.ts';
import { printable, type Terminal } from '../terminal.ts';
import { durationOf, timeOf } from '../values.ts';
import {
  APPLICATION_OPTION,
  printTest,
  printWarnings,
  requireApplication,
  settingsCommand,
  TEST_OPTIONS,
  testFacts,
  testOptionsOf,
} from './frame.ts';

const CHOSEN_SECRET_OPTIONS = {
  ...SECRET_OPTIONS,
  'secret-out': option('PATH', 'Generate a secret and write it to this new file (mode 0600).'),
  'show-secret': flag('Generate a secret and print it. Terminals and logs may keep it.'),
} as const;

interface ChosenSecret {
  readonly secret: string;
  /** The new file with a generated secret. */
  readonly file?: string;
  readonly isShown?: boolean;
  readonly isNew?: boolean;
}

/** Returns the secret that the options name or request; undefined if they do neither. */
async function chosenSecret(
  options: OptionValues<typeof CHOSEN_SECRET_OPTIONS>,
  terminal: Terminal,
): Promise<ChosenSecret | undefined> {
  const { 'secret-env': name, 'secret-file': from, 'secret-out': file } = options;
  const isShown = options['show-secret'] === true;
  const isNew = file !== undefined || isShown;
  const ways = [name !== undefined, from !== undefined, isNew].filter(Boolean).length;
  if (ways > 1) throw usageError('give one secret: --secret-env, --secret-file or a new one');
  if (ways === 0) return undefined;
  if (!isNew) return { secret: (await readSecrets(options, terminal))[0] as string };
  const secret = generateSecret();
  if (file === undefined) return { secret, isShown, isNew };
  // `wx`: never overwrites another secret.
  const handle = await open(file, 'wx', 0o600);
  await handle.writeFile(`${secret}\n`);
  await handle.close();
  return { secret, file, isShown, isNew };
}

/** Removes the file of a new secret if `work` fails; otherwise says where the secret is. */
async function keepingSecret<T>(
  { file }: ChosenSecret,
  { errors }: Terminal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    const result = await work();
    if (file !== undefined) {
      await errors.write(`The secret is in ${printable(file)}. Give it to the receiver.\n`);
    }
    return result;
  } catch (error) {
    if (file !== undefined) await rm(file, { force: true });
    throw error;
  }
}

const shownSecret = ({ secret, isShown }: ChosenSecret) =>
  isShown ? { facts: { secret }, line: `${secret}\n` } : { facts: {}, line: '' };

/** By default the application's own secret: a new URL needs no new secret. */
async function secretFor(
  configuration: Configuration,
  id: string,
  terminal: Terminal,
): Promise<ChosenSecret> {
  const { applications } = await configuration.describe();
  const known = Object.hasOwn(applications, id) ? applications[id] : undefined;
  if (known?.nextSecretFrom !== undefined) {
    throw usageError(
      `the secret changes at ${known.nextSecretFrom}; a new URL would cancel that`,
      'Wait until then, or name the secret with --secret-env or --secret-file.',
    );
  }
  const saved = known && (await configuration.secretOf(id));
  const secret = saved ?? (await readSecrets({}, terminal))[0];
  if (secret !== undefined) return { secret };
  throw usageError(
    'no secret given',
    `Set ${DEFAULT_SECRET_VARIABLE}, use --secret-env NAME or --secret-file PATH, or generate one with --secret-out PATH.`,
  );
}

/** Returns the settings as a copy in memory, for a test that must not change the file. */
async function copyOf(file: string, options: OptionValues<typeof TEST_OPTIONS>) {
  let content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const store = {
    read: () => Promise.resolve(content),
    update: async (change: (content: string | undefined) => string) => {
      content = change(content);
    },
  };
  return createConfiguration({ store, ...testOptionsOf(options) });
}

const NO_TEST_OPTION = { 'no-test': flag('Save without sending a test message.') } as const;
const NOT_TESTED = 'NOT TESTED: nothing was sent to the URL.\n';

export const set = settingsCommand({
  summary: "Sets an application's webhook URL: sends it a test message, then saves it.",
  creates: true,
  options: {
    ...APPLICATION_OPTION,
    url: option('URL', 'Webhook URL, http or https. Required.'),
    name: option('NAME', 'Application name. Default: as saved, or its id.'),
    environment: option('NAME', 'Application environment. Default: as saved, or empty.'),
    ...CHOSEN_SECRET_OPTIONS,
    ...TEST_OPTIONS,
    draft: flag('Send nothing; keep the URL as a draft for `settings save`.'),
    ...NO_TEST_OPTION,
  },
  notes: [
    "Uses the application's saved secret, or else SECURITY_EVENTS_SECRET. The receiver does not know " +
      'a secret generated here, so the URL becomes a draft: give the receiver the secret, then run ' +
      '`settings save`.',
    'Creates FILE if necessary (mode 0600). If the test fails, exits with 1 and changes nothing.',
  ],
  examples: [
    'set settings.json --application shop-1 --url https://example.com/hook --secret-file hook.secret',
    'set settings.json --application shop-1 --url https://example.com/hook --secret-out hook.secret',
  ],
  async work({ configuration, file, options, terminal }) {
    const id = requireApplication(options.application);
    const { url, name, environment } = options;
    if (url === undefined) throw usageError('--url is missing');
    const isTested = options['no-test'] === undefined;
    const given = await chosenSecret(options, terminal);
    const chosen = given ?? (await secretFor(configuration, id, terminal));
    const isDraft = options.draft === true || (chosen.isNew === true && isTested);
    const names = { ...(name && { name }), ...(environment !== undefined && { environment }) };
    const choice = { secret: chosen.secret, ...names };
    return keepingSecret(chosen, terminal, async () => {
      let test: ReturnType<typeof testFacts> | undefined;
      if (isTested && !isDraft) {
        const copy = await copyOf(file, options);
        await copy.setWebhook(id, url, choice);
        const report = await copy.test(id);
        // An interrupted command saves nothing.
        terminal.signal.throwIfAborted();
        await printTest(report, terminal);
        test = testFacts(report);
      }
      if (test?.ok === false) {
        const line = `${printable(id)}: not saved; the file is unchanged\n`;
        return { text: line, facts: { application: id, result: 'test-failed', test }, isOk: false };
      }
      const { warnings } = await configuration.setWebhook(id, url, choice);
      if (!isDraft) await configuration.save(id);
      await printWarnings(warnings, terminal);
      if (!isTested && !isDraft) await terminal.errors.write(NOT_TESTED);
      const next = `security-events settings save ${printable(file)} --application ${printable(id)}`;
      const line = isDraft
        ? `${printable(id)}: kept as a draft; the saved URL stays in use\n` +
          `Once the receiver has the secret, run ${next}\n`
        : `${printable(id)}: saved\n`;
      const result = isDraft ? 'draft' : 'saved';
      const secret = shownSecret(chosen);
      return {
        text: secret.line + line,
        facts: { application: id, result, test, ...secret.facts },
      };
    });
  },
});

export const test = settingsCommand({
  summary: "Sends a test message to an application's draft, or to its saved URL.",
  options: { ...APPLICATION_OPTION, ...TEST_OPTIONS },
  notes: ['Makes one attempt. Exits with 1 if the message is not delivered.'],
  examples: ['test settings.json --application shop-1'],
  async work({ configuration, options, terminal }) {
    const id = requireApplication(options.application);
    const report = await configuration.test(id);
    await printTest(report, terminal);
    return { text: '', facts: { application: id, ...testFacts(report) }, isOk: report.ok };
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
  summary: "Replaces an application's secret at a given time.",
  options: {
    ...APPLICATION_OPTION,
    ...CHOSEN_SECRET_OPTIONS,
    from: option('TIME', 'When the new secret takes over, such as 2026-11-23T08:00:00Z.'),
    in: option('TIME', 'The same as a delay, such as 12h; 0 means now. Default 24h.'),
  },
  notes: [
    'Attempts are signed with the old secret before that time and with the new one afterwards. Until ' +
      'then, give the receiver the new secret, so that it accepts both. Run the command again to ' +
      'choose another new secret.',
  ],
  examples: ['rotate settings.json --application shop-1 --secret-out next.secret --in 48h'],
  async work({ configuration, options, terminal }) {
    const id = requireApplication(options.application);
    const { from, in: delay } = options;
    if (from !== undefined && delay !== undefined)
      throw usageError('give --from or --in, not both');
    const now = terminal.clock.now();
    const ms = from === undefined ? delay && now + durationOf('in', delay) : timeOf('from', from);
    const chosen = await chosenSecret(options, terminal);
    if (chosen === undefined) {
      const hint = 'Generate one with --secret-out PATH, or use --secret-env or --secret-file.';
      throw usageError('no new secret given', hint);
    }
    const start = ms === undefined ? {} : { from: new Date(ms) };
    const rotated = await keepingSecret(chosen, terminal, () =>
      configuration.rotateSecret(id, { secret: chosen.secret, ...start }),
    );
    await printWarnings(rotated.warnings, terminal);
    const time = rotated.from.toISOString();
    const { line, facts } = shownSecret(chosen);
    const end = `${printable(id)}: the new secret signs from ${time}\n`;
    return { text: line + end, facts: { application: id, from: time, ...facts } };
  },
});
