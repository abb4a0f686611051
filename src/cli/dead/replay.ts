import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import { counted, wholeNumber } from '../quantities.ts';
import type { Terminal } from '../terminal.ts';
import { QUEUE_OPTIONS, refuseConnectionStrings, withDeadLetters } from './queue-of-letters.ts';
import { type Replayed, replaySelected } from './replay-selected.ts';
import { selectionOf } from './selection.ts';
import { requireSelection, SWEEP_OPTIONS } from './sweep.ts';
import { tellUnknown } from './unknown-ids.ts';

async function tell({ replayed, isDryRun, closed, isFull }: Replayed, terminal: Terminal) {
  const { errors, output } = terminal;
  const verb = isDryRun ? 'would be replayed' : 'replayed';
  await output.write(`${counted(replayed, 'dead letter')} ${verb}\n`);
  for (const [id, count] of Object.entries(closed)) {
    await errors.write(
      `Still dead: ${wholeNumber(count)} of ${printable(id)}, whose destination has closed itself (410). ` +
        'Mend it, then add --reopen.\n',
    );
  }
  if (isFull) {
    await errors.write('The queue has no room for more: replay the rest when it has delivered.\n');
  }
}

export const replayCommand = defineCommand({
  summary: 'makes dead letters wait again, to be delivered by the service',
  words: [{ name: 'ID', what: 'of a dead letter, as `dead list` tells', isRepeated: true }],
  options: {
    ...QUEUE_OPTIONS,
    ...SWEEP_OPTIONS,
    reopen: {
      type: 'boolean',
      what: 'also opens destinations that have closed themselves by 410',
    },
  },
  notes: [
    [
      'They keep their message ids, and their retry_count goes on: receivers tell duplicates by the',
      'id. Services that run deliver them at once. What has been replayed is no dead letter any',
      'more: the same command goes on where one ended early, and replays nothing twice.',
    ].join('\n'),
    [
      'The exit code is 1 where some could not be replayed: an id is unknown, a destination has',
      'closed itself, or the queue has no room.',
    ].join('\n'),
  ],
  examples: [
    {
      command: 'security-events dead replay --sqlite ./webhooks.db --all --dry-run',
      what: 'how many there are to be replayed',
    },
    {
      command: 'security-events dead replay --postgres --application shop-1 --since 3d',
      what: 'those of one application, once its receiver is mended',
    },
    {
      command: 'security-events dead replay 17 18 --sqlite ./webhooks.db',
      what: 'two of them',
    },
  ],
  async run({ options, words, terminal }) {
    refuseConnectionStrings(words);
    requireSelection(options, words);
    const selection = selectionOf(options, words, terminal);
    const [isDryRun, reopens] = [options['dry-run'] === true, options.reopen === true];
    const end = await withDeadLetters(options, terminal, (letters) =>
      replaySelected(letters, { selection, isDryRun, reopens }, terminal),
    );
    if (options.json === true) await terminal.output.write(jsonLine(end));
    else await tell(end, terminal);
    await tellUnknown(end.unknown, terminal);
    const isWhole = end.unknown.length === 0 && !end.isFull && Object.keys(end.closed).length === 0;
    return isWhole ? 0 : 1;
  },
});
