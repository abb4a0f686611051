import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { counted } from '../quantities.ts';
import { factsOf, LetterTable } from './letter-text.ts';
import { QUEUE_OPTIONS, withDeadLetters } from './queue-of-letters.ts';
import { SELECTION_OPTIONS, selectionOf, walk } from './selection.ts';

export const listCommand = defineCommand({
  summary: 'lists dead letters, the oldest first, without their payload',
  words: [],
  options: {
    ...QUEUE_OPTIONS,
    ...SELECTION_OPTIONS,
    json: { type: 'boolean', what: 'one JSON object a line; times in ms since the epoch' },
  },
  examples: [
    {
      command: 'security-events dead list --sqlite ./webhooks.db',
      what: 'all of a queue in a file, also while its service runs',
    },
    {
      command: 'security-events dead list --postgres --reason attempts-exhausted --since 2h --json',
      what: 'some of a queue in the database that DATABASE_URL names, for a program',
    },
  ],
  async run({ options, terminal }) {
    const selection = selectionOf(options, [], terminal);
    const table = new LetterTable();
    let count = 0;
    await withDeadLetters(options, terminal, async (letters) => {
      for await (const { selected } of walk(letters, selection)) {
        terminal.signal.throwIfAborted();
        count += selected.length;
        const text =
          options.json === undefined
            ? table.lines(selected).map((line) => `${line}\n`)
            : selected.map((letter) => jsonLine(factsOf(letter)));
        if (selected.length > 0) await terminal.output.write(text.join(''));
      }
    });
    await terminal.errors.write(`${counted(count, 'dead letter')}\n`);
    return 0;
  },
});
