import { defineCommand } from '../command.ts';
import { configuring, FILE_WORD } from './configuring.ts';

export const formatCommand = defineCommand({
  summary: 'upgrades the organisation from format 1, which is deprecated, to format 2',
  words: [FILE_WORD],
  options: {},
  notes: ['It counts for messages that are accepted from then on. There is no way back.'],
  examples: [
    { command: 'security-events settings format settings.json', what: 'for all its applications' },
  ],
  async run({ words: [file = ''], terminal }) {
    const isUpgraded = await configuring(file, {}, (configuration) =>
      configuration.upgradeFormat(),
    );
    await terminal.output.write(isUpgraded ? 'format 2, was 1\n' : 'format 2 already\n');
    return 0;
  },
});
