import type { DeadMessage } from '../../index.ts';
import { defineCommand } from '../command.ts';
import { jsonLine } from '../json-line.ts';
import { printable } from '../printable.ts';
import { factsOf, letterLines } from './letter-text.ts';
import { QUEUE_OPTIONS, refuseConnectionStrings, withDeadLetters } from './queue-of-letters.ts';
import { selectionOf, walk } from './selection.ts';
import { tellUnknown, unknownIds } from './unknown-ids.ts';

function shown(letter: DeadMessage, hasPayload: boolean): string {
  const payload = hasPayload ? JSON.stringify(letter.content, null, 2).split('\n') : [];
  return `${[...letterLines(letter), ...payload.map(printable)].join('\n')}\n`;
}

const shownAsJson = (letter: DeadMessage, hasPayload: boolean): string =>
  jsonLine({ ...factsOf(letter), ...(hasPayload ? { content: letter.content } : {}) });

export const showCommand = defineCommand({
  summary: 'shows dead letters by their ids, which `dead list` tells',
  words: [{ name: 'ID', what: 'of a dead letter', isRequired: true, isRepeated: true }],
  options: {
    ...QUEUE_OPTIONS,
    payload: { type: 'boolean', what: 'also what was to be sent: it may hold personal data' },
    json: { type: 'boolean', what: 'one JSON object a line; times in ms since the epoch' },
  },
  notes: ['The exit code is 1 where there is no dead letter of an id.'],
  examples: [
    {
      command: 'security-events dead show 17 --sqlite ./webhooks.db',
      what: 'what is known of it, but its payload',
    },
    {
      command: 'security-events dead show 17 18 --postgres --payload --json',
      what: 'two of them whole, for a program',
    },
  ],
  async run({ options, words, terminal }) {
    refuseConnectionStrings(words);
    const selection = selectionOf({}, words, terminal);
    const hasPayload = options.payload === true;
    const show = options.json === true ? shownAsJson : shown;
    let isFirst = true;
    const unknown = await withDeadLetters(options, terminal, async (letters) => {
      for await (const { selected } of walk(letters, selection)) {
        terminal.signal.throwIfAborted();
        for (const letter of selected) {
          const gap = isFirst || options.json === true ? '' : '\n';
          isFirst = false;
          await terminal.output.write(`${gap}${show(letter, hasPayload)}`);
        }
      }
      return await unknownIds(letters, selection);
    });
    await tellUnknown(unknown, terminal);
    return unknown.length === 0 ? 0 : 1;
  },
});
