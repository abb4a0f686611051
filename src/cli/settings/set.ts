import type { NetworkPolicy } from '../../index.ts';
import type { Configuration, TestedWebhook, WebhookChoice } from '../../settings/index.ts';
import { defineCommand } from '../command.ts';
import { misuse } from '../failure.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import type { Terminal } from '../terminal.ts';
import {
  APPLICATION_OPTION,
  configuring,
  FILE_WORD,
  JSON_OPTION,
  NETWORK_OPTION,
  networkOf,
  rehearsal,
  requireApplication,
} from './configuring.ts';
import {
  CHOSEN_SECRET_OPTIONS,
  type ChosenSecret,
  chosenSecret,
  forget,
  type SecretChoice,
  secretFacts,
  tellSecretFile,
  usualSecret,
} from './new-secret.ts';
import { tellTest, tellWarnings, testFacts } from './tested.ts';

interface Wanted {
  readonly file: string;
  readonly id: string;
  readonly url: string;
  readonly choice: WebhookChoice & { readonly secret: string };
  readonly network: NetworkPolicy;
  readonly isTested: boolean;
  readonly isDraft: boolean;
}

/** The one that the application has, unless another is named: a new URL is no reason for a new secret. */
async function secretFor(
  configuration: Configuration,
  id: string,
  { given, terminal }: { readonly given: SecretChoice; readonly terminal: Terminal },
): Promise<ChosenSecret> {
  const { applications } = await configuration.describe();
  const known = Object.hasOwn(applications, id) ? applications[id] : undefined;
  const chosen = await chosenSecret(given, terminal);
  if (chosen !== undefined) return chosen;
  if (known?.nextSecretFrom !== undefined) {
    throw misuse(
      `the secret changes at ${known.nextSecretFrom}, which a new URL would undo`,
      'Wait until then, or name the secret to use by --secret-env or --secret-file.',
    );
  }
  const kept = known === undefined ? undefined : await configuration.secretOf(id);
  return kept === undefined
    ? usualSecret(terminal)
    : { secret: kept, isShown: false, isNew: false };
}

/** On a copy: where it fails, the file is as it was. */
async function tested({ file, id, url, choice, network }: Wanted): Promise<TestedWebhook> {
  const trial = await rehearsal(file, network);
  await trial.setWebhook(id, url, choice);
  return await trial.test(id);
}

interface Done {
  readonly report: TestedWebhook | undefined;
  readonly end: 'draft' | 'saved' | 'nothing';
}

async function setUp(
  configuration: Configuration,
  wanted: Wanted,
  terminal: Terminal,
): Promise<Done> {
  const { id, url, choice, isTested, isDraft } = wanted;
  const report = isTested && !isDraft ? await tested(wanted) : undefined;
  // Who has given up meanwhile wants nothing saved.
  terminal.signal.throwIfAborted();
  if (report !== undefined) await tellTest(report, terminal);
  if (report?.ok === false) return { report, end: 'nothing' };
  const { warnings } = await configuration.setWebhook(id, url, choice);
  if (!isDraft) await configuration.save(id);
  await tellWarnings(warnings, terminal);
  return { report, end: isDraft ? 'draft' : 'saved' };
}

const NOTHING_SENT = 'NOT TESTED: nothing was sent to the URL, and what is saved may not work.';

function endText({ end }: Done, { file, id }: Wanted): string {
  const name = printable(id);
  if (end === 'nothing') return `${name}: nothing is saved; the file is as it was\n`;
  if (end === 'saved') return `${name}: saved\n`;
  const command = `security-events settings save ${printable(file)} --application ${name}`;
  return `${name}: a draft; what is saved goes on delivering\nWhen the receiver has the secret: ${command}\n`;
}

export const setCommand = defineCommand({
  summary:
    'sets the URL of an application: sends it a test message, and saves it if that is delivered',
  words: [FILE_WORD],
  options: {
    ...APPLICATION_OPTION,
    url: { type: 'string', value: 'URL', what: 'http or https, without credentials' },
    name: { type: 'string', value: 'NAME', what: 'of the application (as saved, or its id)' },
    environment: { type: 'string', value: 'NAME', what: 'of the application (as saved, or empty)' },
    ...CHOSEN_SECRET_OPTIONS,
    ...NETWORK_OPTION,
    draft: { type: 'boolean', what: 'sends nothing and saves a draft, for `settings save`' },
    'no-test': { type: 'boolean', what: 'saves without a test' },
    ...JSON_OPTION,
  },
  notes: [
    [
      'The secret is the one that the application has, if it has one; else that of',
      'SECURITY_EVENTS_SECRET. One that is made here (--secret-out, --show-secret) is not known to',
      'the receiver yet: the URL is kept as a draft, and `settings save` tests and saves it once',
      'the receiver has the secret.',
    ].join('\n'),
    [
      'The exit code is 1 where the test fails: nothing is saved then. The file is made where it is',
      'not there, for its owner alone, and is replaced as a whole.',
    ].join('\n'),
  ],
  examples: [
    {
      command:
        'security-events settings set settings.json --application shop-1 --url https://hooks.example/shop --secret-file webhook.secret',
      what: 'tests it and saves it',
    },
    {
      command:
        'security-events settings set settings.json --application shop-1 --url https://hooks.example/shop --secret-out webhook.secret',
      what: 'makes a draft with a new secret, which the receiver gets next',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const id = requireApplication(options.application);
    const { url, name, environment } = options;
    if (url === undefined) throw misuse('--url is missing: where messages go');
    const network = networkOf(options.network);
    return await configuring(file, { network, isMade: true }, async (configuration) => {
      const chosen = await secretFor(configuration, id, { given: options, terminal });
      const isTested = options['no-test'] === undefined;
      const wanted: Wanted = {
        file,
        id,
        url,
        choice: {
          secret: chosen.secret,
          ...(name === undefined ? {} : { name }),
          ...(environment === undefined ? {} : { environment }),
        },
        network,
        isTested,
        isDraft: options.draft === true || (chosen.isNew && isTested),
      };
      const done = await setUp(configuration, wanted, terminal).catch(async (error: unknown) => {
        await forget(chosen);
        throw error;
      });
      const { report, end } = done;
      if (!isTested && end === 'saved') await terminal.errors.write(`${NOTHING_SENT}\n`);
      await tellSecretFile(chosen, terminal);
      const secret = secretFacts(chosen);
      const facts = {
        application: id,
        end,
        ...(report === undefined ? {} : { test: testFacts(report) }),
        ...secret,
      };
      const text = `${secret.secret === undefined ? '' : `${secret.secret}\n`}${endText(done, wanted)}`;
      await terminal.output.write(options.json === true ? jsonLine(facts) : text);
      return end === 'nothing' ? 1 : 0;
    });
  },
});
