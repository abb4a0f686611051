import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import {
  APPLICATION_OPTION,
  configuring,
  FILE_WORD,
  JSON_OPTION,
  NETWORK_OPTION,
  networkOf,
  requireApplication,
} from './configuring.ts';
import { tellTest, testFacts } from './tested.ts';

export const testCommand = defineCommand({
  summary: 'sends a test message to an application: to its draft, or else to what is saved',
  words: [FILE_WORD],
  options: { ...APPLICATION_OPTION, ...NETWORK_OPTION, ...JSON_OPTION },
  notes: ['The exit code is 1 where it is not delivered. It is sent once.'],
  examples: [
    {
      command: 'security-events settings test settings.json --application shop-1',
      what: 'as the sender will send',
    },
  ],
  async run({ options, words: [file = ''], terminal }) {
    const id = requireApplication(options.application);
    const network = networkOf(options.network);
    const report = await configuring(file, { network }, (configuration) => configuration.test(id));
    await tellTest(report, terminal);
    if (options.json === true) {
      await terminal.output.write(jsonLine({ application: id, ...testFacts(report) }));
    }
    return report.ok ? 0 : 1;
  },
});
