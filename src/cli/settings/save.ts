import type { Configuration } from '../../settings/index.ts';
import { defineCommand } from '../command.ts';
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
  requireApplication,
} from './configuring.ts';
import { tellTest } from './tested.ts';

type End = 'saved' | 'no-draft' | 'test-failed';

const END_TEXTS: Readonly<Record<End, string>> = {
  saved: 'saved',
  'no-draft': 'there is no draft to save',
  'test-failed': 'not saved; the draft stays',
};

interface Saving {
  readonly id: string;
  readonly isTested: boolean;
}

async function save(
  configuration: Configuration,
  { id, isTested }: Saving,
  terminal: Terminal,
): Promise<End> {
  const { applications } = await configuration.describe();
  const hasDraft = Object.hasOwn(applications, id) && applications[id]?.draftUrl !== undefined;
  if (!hasDraft) return 'no-draft';
  if (isTested) {
    const report = await configuration.test(id);
    terminal.signal.throwIfAborted();
    await tellTest(report, terminal);
    if (!report.ok) return 'test-failed';
  } else {
    await terminal.errors.write('NOT TESTED: nothing was sent to the URL.\n');
  }
  return (await configuration.save(id)) ? 'saved' : 'no-draft';
}

export const saveCommand = defineCommand({
  summary: 'tests the draft of an application, and makes it what delivers if that is delivered',
  words: [FILE_WORD],
  options: {
    ...APPLICATION_OPTION,
    ...NETWORK_OPTION,
    'no-test': { type: 'boolean', what: 'saves without a test' },
    ...JSON_OPTION,
  },
  notes: ['The exit code is 1 where the test fails, or where there is no draft.'],
  examples: [
    {
      command: 'security-events settings save settings.json --application shop-1',
      what: 'after `settings set --secret-out` or `--draft`',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const id = requireApplication(options.application);
    const network = networkOf(options.network);
    const isTested = options['no-test'] === undefined;
    const end = await configuring(file, { network }, (configuration) =>
      save(configuration, { id, isTested }, terminal),
    );
    const text =
      options.json === true
        ? jsonLine({ application: id, end })
        : `${printable(id)}: ${END_TEXTS[end]}\n`;
    await terminal.output.write(text);
    return end === 'saved' ? 0 : 1;
  },
});
