/** `dead list` and `dead show`. Payloads are printed only on request: they may hold personal data. */
import type { DeadMessage } from '../../index.ts';
import { defineCommand, flag, JSON_OPTION } from '../command.ts';
import { jsonLine, printable } from '../terminal.ts';
import { counted } from '../values.ts';
import {
  pagesOf,
  QUEUE_OPTIONS,
  reportUnknown,
  SELECTION_OPTIONS,
  selectionOf,
  withDeadLetters,
} from './letters.ts';
import { changingCommands } from './replay.ts';

const FIELDS: readonly (readonly [name: string, value: (letter: DeadMessage) => string])[] = [
  ['id', ({ id }) => id],
  ['died', ({ diedAt }) => new Date(diedAt).toISOString()],
  ['application', ({ applicationId }) => applicationId],
  ['reason', ({ reason }) => reason],
  ['last result', ({ status, failure }) => String(status ?? failure ?? '-')],
  ['sends', ({ sends }) => String(sends)],
  ['message', ({ message_id }) => message_id],
];

/** One very long id must not push the other columns off the screen. */
const MAX_COLUMN_WIDTH = 40;

/** Returns a function that lays out each page of letters. Columns are as wide as their widest cell so far. */
function createTable(): (letters: readonly DeadMessage[]) => string {
  const titles = FIELDS.map(([name]) => name.toUpperCase());
  const widths = titles.map(() => 0);
  let header = [titles];
  return (letters) => {
    const cells = letters.map((letter) => FIELDS.map(([, value]) => printable(value(letter))));
    const rows = [...header, ...cells];
    header = [];
    for (const cell of rows.flatMap((row) => row.map((text, at) => ({ text, at })))) {
      const width = Math.min(cell.text.length, MAX_COLUMN_WIDTH);
      widths[cell.at] = Math.max(widths[cell.at] ?? 0, width);
    }
    const lines = rows.map((row) => row.map((text, at) => text.padEnd(widths[at] ?? 0)).join('  '));
    return lines.map((line) => `${line.trimEnd()}\n`).join('');
  };
}

/** Returns the letter as `deadLetters()` does, with or without its payload. */
const factsOf = ({ content, ...facts }: DeadMessage, hasPayload: boolean): object =>
  hasPayload ? { ...facts, content } : facts;

function letterText(letter: DeadMessage, hasPayload: boolean): string {
  const accepted = ['accepted', () => new Date(letter.acceptedAt).toISOString()] as const;
  const lines = [...FIELDS, accepted, ['format', () => String(letter.format)] as const].map(
    ([name, value]) => `${name.padEnd(13)}${printable(value(letter))}`,
  );
  const payload = hasPayload ? JSON.stringify(letter.content, null, 2).split('\n') : [];
  return `${[...lines, ...payload.map(printable)].join('\n')}\n`;
}

const list = defineCommand({
  summary: 'Lists dead letters, oldest first, without payloads.',
  usage: '',
  options: { ...QUEUE_OPTIONS, ...SELECTION_OPTIONS, ...JSON_OPTION },
  examples: [
    'security-events dead list --sqlite ./webhooks.db',
    'security-events dead list --postgres --reason attempts-exhausted --since 2h --json',
  ],
  async run({ options, terminal }) {
    const { output, errors, signal } = terminal;
    const selection = selectionOf(options, [], terminal);
    const table = createTable();
    let count = 0;
    await withDeadLetters(options, terminal, async (letters) => {
      for await (const page of pagesOf(letters, selection)) {
        signal.throwIfAborted();
        count += page.length;
        const lines = (): string => page.map((it) => jsonLine(factsOf(it, false))).join('');
        if (page.length > 0) await output.write(options.json ? lines() : table(page));
      }
    });
    await errors.write(`${counted(count, 'dead letter')}\n`);
    return 0;
  },
});

const show = defineCommand({
  summary: 'Shows dead letters by id.',
  usage: 'ID…',
  options: {
    ...QUEUE_OPTIONS,
    payload: flag('Include the payload. It may hold personal data.'),
    ...JSON_OPTION,
  },
  notes: ['Exits with 1 if an id is unknown.'],
  examples: ['security-events dead show 17 --sqlite ./webhooks.db --payload'],
  async run({ options: { payload = false, json, ...queue }, positionals, terminal }) {
    const selection = selectionOf({}, positionals, terminal);
    const unknown = new Set(positionals);
    await withDeadLetters(queue, terminal, async (letters) => {
      let gap = '';
      for await (const page of pagesOf(letters, selection)) {
        for (const letter of page) {
          terminal.signal.throwIfAborted();
          unknown.delete(letter.id);
          const facts = factsOf(letter, payload);
          await terminal.output.write(json ? jsonLine(facts) : gap + letterText(letter, payload));
          gap = '\n';
        }
      }
    });
    return reportUnknown(unknown, terminal);
  },
});

export const commands = { 'dead list': list, 'dead show': show, ...changingCommands };
