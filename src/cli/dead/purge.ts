import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { counted } from '../quantities.ts';
import { QUEUE_OPTIONS, refuseConnectionStrings, withDeadLetters } from './queue-of-letters.ts';
import { selectionOf } from './selection.ts';
import { requireSelection, SWEEP_OPTIONS, sweep } from './sweep.ts';
import { tellUnknown, unknownIds } from './unknown-ids.ts';

export const purgeCommand = defineCommand({
  summary: 'discards dead letters for good',
  words: [{ name: 'ID', what: 'of a dead letter, as `dead list` tells', isRepeated: true }],
  options: { ...QUEUE_OPTIONS, ...SWEEP_OPTIONS },
  notes: ['The exit code is 1 where there is no dead letter of an id.'],
  examples: [
    {
      command: 'security-events dead purge --postgres --reason too-large --dry-run',
      what: 'how many would go',
    },
    { command: 'security-events dead purge 17 --sqlite ./webhooks.db', what: 'one of them' },
  ],
  async run({ options, words, terminal }) {
    refuseConnectionStrings(words);
    requireSelection(options, words);
    const selection = selectionOf(options, words, terminal);
    const isDryRun = options['dry-run'] === true;
    const { purged, unknown } = await withDeadLetters(options, terminal, async (letters) => ({
      unknown: await unknownIds(letters, selection),
      purged: await sweep(
        letters,
        {
          selection,
          done: isDryRun ? 'selected' : 'discarded',
          act: async (page) => ({
            count: isDryRun ? page.length : await letters.purge({ ids: page.map(({ id }) => id) }),
          }),
        },
        terminal,
      ),
    }));
    const verb = isDryRun ? 'would be discarded' : 'discarded';
    const text =
      options.json === true
        ? jsonLine({ purged, isDryRun, unknown })
        : `${counted(purged, 'dead letter')} ${verb}\n`;
    await terminal.output.write(text);
    await tellUnknown(unknown, terminal);
    return unknown.length === 0 ? 0 : 1;
  },
});
