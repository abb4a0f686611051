/** All `settings` commands, and the code of those that send nothing. */
import { stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { SecurityEventError } from '../../index.ts';
import {
  type Configuration,
  createConfiguration,
  type DescribedApplication,
  type Selection,
  settingsFile,
} from '../../settings.ts';
import { flag, list, option } from '../command.ts';
import { describeError, usageError } from '../errors.ts';
import { printable } from '../terminal.ts';
import { counted } from '../values.ts';
import {
  APPLICATION_OPTION,
  memoryStore,
  requireApplication,
  settingsCommand,
  WARNINGS,
} from './settings-command.ts';
import { rotate, save, set, test } from './webhook.ts';

const selectionText = (selection: Readonly<Record<string, boolean>> | undefined): string => {
  if (selection === undefined) return 'all';
  const states = Object.entries(selection).map(([name, isOn]) => `${name}=${isOn ? 'on' : 'off'}`);
  return states.join(', ') || 'none';
};

function applicationText(id: string, application: DescribedApplication): string {
  const { isSaved, url, nextSecretFrom, modules, playbooks } = application;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['name', application.name],
    ['environment', application.environment],
    ['url', isSaved ? (url ?? 'none: sends nothing') : 'not saved yet'],
    ['draft', application.draftUrl],
    ['next secret', nextSecretFrom && `from ${nextSecretFrom}`],
    ['modules', isSaved ? selectionText(modules) : undefined],
    ['playbooks', isSaved ? selectionText(playbooks) : undefined],
  ];
  const lines = rows.flatMap(([title, value]) =>
    value === undefined ? [] : [`  ${title.padEnd(12)}${printable(value)}`.trimEnd()],
  );
  return [printable(id), ...lines].join('\n');
}

const show = settingsCommand({
  summary: 'Prints a settings file without its secrets.',
  options: { application: option('ID', 'Only this application.') },
  examples: ['show settings.json'],
  async work({ configuration, options: { application: only }, terminal }) {
    const { format, applications } = await configuration.describe();
    const chosen = Object.entries(applications).filter(([id]) => only === undefined || id === only);
    const blocks = [`format ${format}`, ...chosen.map((entry) => applicationText(...entry))];
    const isOk = only === undefined || chosen.length > 0;
    if (!isOk) await terminal.errors.write(`There is no application ${printable(only)}.\n`);
    const facts = { format, applications: Object.fromEntries(chosen) };
    return { text: `${blocks.join('\n\n')}\n`, facts, isOk };
  },
});

interface Problem {
  readonly path: readonly string[];
  readonly message: string;
}

interface Warning {
  readonly path: readonly string[];
  readonly warning: keyof typeof WARNINGS;
}

/** Runs `work`, and returns what is wrong with the settings instead of throwing. */
async function problemsOf(path: readonly string[], work: () => unknown): Promise<Problem[]> {
  try {
    await work();
    return [];
  } catch (error) {
    const isProblem =
      error instanceof SecurityEventError && error.code !== 'ERR_CONFIGURATION_FAILED';
    if (!isProblem) throw error;
    const whole = { path: error.path, message: describeError(error).message };
    const issues = error.issues.length > 0 ? error.issues : [whole];
    return issues.map((it) => ({ path: [...path, ...it.path.map(String)], message: it.message }));
  }
}

interface Destination {
  readonly path: readonly string[];
  readonly url: string;
  readonly secret: string;
}

async function destinationsOf(configuration: Configuration): Promise<readonly Destination[]> {
  const { applications } = await configuration.describe();
  const found: Destination[] = [];
  for (const [id, { url, draftUrl }] of Object.entries(applications)) {
    const current = url && (await configuration.secretOf(id, { of: 'current' }));
    if (url && current) found.push({ path: ['applications', id], url, secret: current });
    const draft = draftUrl && (await configuration.secretOf(id, { of: 'draft' }));
    if (draftUrl && draft) found.push({ path: ['drafts', id], url: draftUrl, secret: draft });
  }
  return found;
}

async function checkSettings(file: string, configuration: Configuration) {
  const warnings: Warning[] = [];
  const { mode } = await stat(file);
  // Windows has no such modes.
  if (sep === '/' && (mode & 0o077) !== 0)
    warnings.push({ path: [], warning: 'readable-by-others' });
  let destinations: readonly Destination[] = [];
  const errors = await problemsOf([], async () => {
    destinations = await destinationsOf(configuration);
    // Reads the file as a sender does.
    settingsFile(file).close();
  });
  for (const { path, url, secret } of destinations) {
    const check = async (): Promise<void> => {
      // Checks URL and secret. Sends nothing.
      const scratch = createConfiguration({ store: memoryStore() });
      const found = await scratch.setWebhook('any', url, { secret });
      warnings.push(...found.warnings.map((warning) => ({ path, warning })));
    };
    const problems = await problemsOf(path, check);
    // Those of applications were found when the file was read.
    if (path[0] === 'drafts') errors.push(...problems);
  }
  const applications = destinations.filter(({ path: [kind] }) => kind === 'applications').length;
  return { isValid: errors.length === 0, applications, errors, warnings };
}

const check = settingsCommand({
  summary: 'Checks a settings file, including drafts, and lists every error.',
  options: {},
  notes: ['Exits with 1 if there are errors. Warnings do not change the exit code.'],
  examples: ['check settings.json'],
  async work({ configuration, file, terminal }) {
    const facts = await checkSettings(file, configuration);
    const { isValid, applications, errors, warnings } = facts;
    const lineOf = (path: readonly string[], message: string): string =>
      `${[file, ...(path.length > 0 ? [path.join('.')] : []), message].map(printable).join(': ')}\n`;
    const verdict = isValid
      ? `valid, ${counted(applications, 'application')} with a URL`
      : counted(errors.length, 'error');
    await terminal.errors.write(`${printable(file)}: ${verdict}\n`);
    const lines = [
      ...errors.map(({ path, message }) => lineOf(path, message)),
      ...warnings.map(({ path, warning }) => lineOf(path, `${warning}: ${WARNINGS[warning]}`)),
    ];
    return { text: lines.join(''), facts, isOk: isValid };
  },
});

/** Reads values such as `waf=on` and `Block IPs=off`. Splits at the last `=`: names may contain others. */
function selectionOf(
  what: 'module' | 'playbook',
  given: readonly string[] | undefined,
  isAll: boolean,
): Selection | undefined {
  if (isAll && given !== undefined) throw usageError(`give --${what} or --all-${what}s, not both`);
  if (isAll) return 'all';
  const entries = given?.map((word): readonly [string, boolean] => {
    const [, name, state] = /^(.+)=(on|off)$/.exec(word) ?? [];
    if (name === undefined) throw usageError(`--${what} needs NAME=on or NAME=off`);
    return [name, state === 'on'];
  });
  return entries && Object.fromEntries(entries);
}

const select = settingsCommand({
  summary: 'Selects which modules and playbooks of an application send messages.',
  options: {
    ...APPLICATION_OPTION,
    module: list('NAME=on|off', 'Switch a module on or off. Repeatable.'),
    playbook: list('NAME=on|off', 'Switch a playbook, by name or slug. Repeatable.'),
    'all-modules': flag('Let all modules send.'),
    'all-playbooks': flag('Let all playbooks send.'),
  },
  notes: [
    'All modules send messages until you switch one on or off; then only those that are on. Likewise playbooks.',
  ],
  examples: ["select settings.json --application shop-1 --module waf=on --playbook 'Block IPs=on'"],
  async work({ configuration, options }) {
    const id = requireApplication(options.application);
    const modules = selectionOf('module', options.module, options['all-modules'] === true);
    const playbooks = selectionOf('playbook', options.playbook, options['all-playbooks'] === true);
    if (modules === undefined && playbooks === undefined) {
      const hint = 'Give --module, --playbook, --all-modules or --all-playbooks.';
      throw usageError('nothing selected', hint);
    }
    if (modules !== undefined) await configuration.selectModules(id, modules);
    if (playbooks !== undefined) await configuration.selectPlaybooks(id, playbooks);
    return { text: `${printable(id)}: selection saved\n`, facts: { application: id } };
  },
});

const format = settingsCommand({
  summary: 'Changes all applications from the deprecated format 1 to format 2.',
  options: {},
  notes: ['Applies to messages accepted afterwards, and cannot be undone.'],
  examples: ['format settings.json'],
  async work({ configuration }) {
    const isUpgraded = await configuration.upgradeFormat();
    const text = isUpgraded ? 'upgraded from format 1 to format 2\n' : 'already format 2\n';
    return { text, facts: { isUpgraded } };
  },
});

const remove = settingsCommand({
  summary: 'Removes an application, or only its draft.',
  options: {
    ...APPLICATION_OPTION,
    draft: flag('Remove only the draft; the saved URL stays in use.'),
  },
  notes: [
    'Queued messages stay in the queue until their time for retries is over, and are delivered if ' +
      'you save the application again in time. Exits with 1 if there is nothing to remove.',
  ],
  examples: ['remove settings.json --application shop-1 --draft'],
  async work({ configuration, options: { application, draft = false } }) {
    const id = requireApplication(application);
    const isRemoved = await (draft ? configuration.discard(id) : configuration.remove(id));
    const what = draft ? 'draft' : 'application';
    const line = isRemoved ? `${what} removed` : `there is no ${what}`;
    const facts = { application: id, isRemoved };
    return { text: `${printable(id)}: ${line}\n`, facts, isOk: isRemoved };
  },
});

export const commands = {
  'settings show': show,
  'settings check': check,
  'settings set': set,
  'settings test': test,
  'settings save': save,
  'settings rotate': rotate,
  'settings select': select,
  'settings format': format,
  'settings remove': remove,
};
