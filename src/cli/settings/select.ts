import type { Selection } from '../../settings/index.ts';
import { defineCommand } from '../command.ts';
import { misuse } from '../failure.ts';
import { printable } from '../printable.ts';
import { APPLICATION_OPTION, configuring, FILE_WORD, requireApplication } from './configuring.ts';

/** `waf=on`, `Block IPs=off`; by its last sign, since a name may hold another one. */
function selectionOf(
  what: 'module' | 'playbook',
  given: readonly string[] | undefined,
  isAll: boolean,
): Selection | undefined {
  if (isAll) {
    if (given === undefined) return 'all';
    throw misuse(`expected --${what} or --all-${what}s, and not both`);
  }
  return (
    given &&
    Object.fromEntries(
      given.map((text) => {
        const [, name, state] = /^(.+)=(on|off)$/.exec(text) ?? [];
        if (name !== undefined) return [name, state === 'on'];
        throw misuse(`--${what} must be a name and on or off, such as waf=on`);
      }),
    )
  );
}

export const selectCommand = defineCommand({
  summary: 'selects which modules and playbooks of an application send',
  words: [FILE_WORD],
  options: {
    ...APPLICATION_OPTION,
    module: {
      type: 'string',
      multiple: true,
      value: 'NAME=on|off',
      what: 'whether this module sends; those that are not named stay as they are',
    },
    playbook: {
      type: 'string',
      multiple: true,
      value: 'NAME=on|off',
      what: 'likewise a playbook, by its name or slug',
    },
    'all-modules': { type: 'boolean', what: 'all modules send' },
    'all-playbooks': { type: 'boolean', what: 'all playbooks send' },
  },
  notes: ['Once one is named, only those that are on send.'],
  examples: [
    {
      command:
        "security-events settings select settings.json --application shop-1 --module waf=on --playbook 'Block IPs=off'",
      what: 'changes two of them',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const id = requireApplication(options.application);
    const modules = selectionOf('module', options.module, options['all-modules'] === true);
    const playbooks = selectionOf('playbook', options.playbook, options['all-playbooks'] === true);
    if (modules === undefined && playbooks === undefined) {
      throw misuse(
        'nothing is selected',
        'Give --module, --playbook, --all-modules or --all-playbooks.',
      );
    }
    await configuring(file, {}, async (configuration) => {
      if (modules !== undefined) await configuration.selectModules(id, modules);
      if (playbooks !== undefined) await configuration.selectPlaybooks(id, playbooks);
    });
    await terminal.output.write(`${printable(id)}: selection saved\n`);
    return 0;
  },
});
