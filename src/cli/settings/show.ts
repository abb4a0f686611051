import type { DescribedApplication, DescribedSettings } from '../../settings/index.ts';
import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import { APPLICATION_OPTION, configuring, FILE_WORD, JSON_OPTION } from './configuring.ts';

const selectionText = (selection: Readonly<Record<string, boolean>> | undefined): string =>
  selection === undefined
    ? 'all'
    : Object.entries(selection)
        .map(([name, isSelected]) => `${name}=${isSelected ? 'on' : 'off'}`)
        .join(', ') || 'none';

function lines(id: string, application: DescribedApplication): string[] {
  const { name, environment, url, nextSecretFrom, draftUrl, isSaved } = application;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['name', name],
    ['environment', environment],
    ['url', isSaved ? (url ?? 'none: nothing is sent') : 'none is saved'],
    ['draft', draftUrl],
    ['next secret', nextSecretFrom && `from ${nextSecretFrom}`],
    ['modules', isSaved ? selectionText(application.modules) : undefined],
    ['playbooks', isSaved ? selectionText(application.playbooks) : undefined],
  ];
  const shown = rows.flatMap(([title, value]) =>
    value === undefined ? [] : [`  ${title.padEnd(12)}${printable(value)}`.trimEnd()],
  );
  return [printable(id), ...shown];
}

function text({ format, applications }: DescribedSettings): string {
  const blocks = Object.entries(applications).map(([id, application]) => lines(id, application));
  return `${[[`format ${format}`], ...blocks].map((block) => block.join('\n')).join('\n\n')}\n`;
}

export const showCommand = defineCommand({
  summary: 'shows a settings file without its secrets',
  words: [FILE_WORD],
  options: {
    application: { ...APPLICATION_OPTION.application, what: 'this application alone' },
    ...JSON_OPTION,
  },
  examples: [
    { command: 'security-events settings show settings.json', what: 'all applications' },
    {
      command: 'security-events settings show settings.json --application shop-1 --json',
      what: 'one of them, for a program',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const all = await configuring(file, {}, (configuration) => configuration.describe());
    const { application: id, json } = options;
    const one =
      id === undefined || !Object.hasOwn(all.applications, id) ? undefined : all.applications[id];
    const described =
      id === undefined ? all : { ...all, applications: one === undefined ? {} : { [id]: one } };
    await terminal.output.write(json === true ? jsonLine(described) : text(described));
    if (id === undefined || one !== undefined) return 0;
    await terminal.errors.write(`There is no application ${printable(id)}.\n`);
    return 1;
  },
});
