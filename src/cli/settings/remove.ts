import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import {
  APPLICATION_OPTION,
  configuring,
  FILE_WORD,
  JSON_OPTION,
  requireApplication,
} from './configuring.ts';

export const removeCommand = defineCommand({
  summary: 'takes an application, or its draft alone, out of a settings file',
  words: [FILE_WORD],
  options: {
    ...APPLICATION_OPTION,
    draft: { type: 'boolean', what: 'its draft alone; what is saved goes on delivering' },
    ...JSON_OPTION,
  },
  notes: [
    [
      'What waits for it in a queue stays there until its horizon, and is delivered if the',
      'application comes back before. The exit code is 1 where there is nothing to remove.',
    ].join('\n'),
  ],
  examples: [
    {
      command: 'security-events settings remove settings.json --application shop-1 --draft',
      what: 'drops what was set and not saved',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const id = requireApplication(options.application);
    const isDraft = options.draft === true;
    const isRemoved = await configuring(file, {}, (configuration) =>
      isDraft ? configuration.discard(id) : configuration.remove(id),
    );
    const what = isDraft ? 'draft' : 'application';
    const text = isRemoved ? `${what} removed` : `there is no ${what} to remove`;
    await terminal.output.write(
      options.json === true
        ? jsonLine({ application: id, isRemoved })
        : `${printable(id)}: ${text}\n`,
    );
    return isRemoved ? 0 : 1;
  },
});
