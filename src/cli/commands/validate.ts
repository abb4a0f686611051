import { defineCommand, type OptionTable, type OptionValues } from '../command.ts';
import { SHAPES, type Shape } from '../contract-check.ts';
import { outage, tellFailure } from '../failure.ts';
import { openInput } from '../input.ts';
import { integerOf, wordOf } from '../option-values.ts';
import { printable } from '../printable.ts';
import { wholeNumber } from '../quantities.ts';
import { paint, type Terminal } from '../terminal.ts';
import { Validation, type ValidationOptions } from '../validation.ts';

const SHAPE_WORDS = Object.keys(SHAPES) as Shape[];

const DEFAULT_MAX_ERRORS = 100;
/** D73: what a sender takes of one message unless it is told otherwise. */
const DEFAULT_MAX_VALUE_BYTES = 1_048_576;
const MAX_VALUE_BYTES = 256 * 1024 * 1024;

const OPTIONS = {
  as: {
    type: 'string',
    value: 'SHAPE',
    what: `${SHAPE_WORDS.join(', ')} (each value as its keys say)`,
  },
  dialect: {
    type: 'string',
    value: 'strict|open',
    what: 'closed vocabularies, or any word (strict)',
  },
  reading: {
    type: 'string',
    value: 'emitted|received',
    what: 'what is written, or what is accepted from others (emitted)',
  },
  'max-errors': {
    type: 'string',
    value: 'N',
    what: `how many faults are shown; the others are counted (${DEFAULT_MAX_ERRORS})`,
  },
  'max-value-bytes': {
    type: 'string',
    value: 'N',
    what: `a longer line or element is a fault, and left out (${DEFAULT_MAX_VALUE_BYTES})`,
  },
  json: { type: 'boolean', what: 'one JSON object a line for each fault' },
} as const satisfies OptionTable;

function validationOf(options: OptionValues<typeof OPTIONS>): ValidationOptions {
  const { as, dialect = 'strict', reading = 'emitted' } = options;
  return {
    as: as === undefined ? undefined : wordOf('as', as, SHAPE_WORDS),
    dialect: wordOf('dialect', dialect, ['strict', 'open']),
    reading: wordOf('reading', reading, ['emitted', 'received']),
    maxFaults: integerOf('max-errors', options['max-errors'] ?? String(DEFAULT_MAX_ERRORS), [
      0,
      Number.MAX_SAFE_INTEGER,
    ]),
    maxValueBytes: integerOf(
      'max-value-bytes',
      options['max-value-bytes'] ?? String(DEFAULT_MAX_VALUE_BYTES),
      [1, MAX_VALUE_BYTES],
    ),
    isForPrograms: options.json !== undefined,
  };
}

/** One after the other; what cannot be read costs none of the others. Gives how many those are. */
async function readAll(
  names: readonly (string | undefined)[],
  validation: Validation,
  terminal: Terminal,
): Promise<number> {
  let unread = 0;
  for (const name of names) {
    try {
      await validation.read(openInput(name, terminal));
    } catch (error) {
      // The command is to end, or it is a fault of ours.
      if (terminal.signal.aborted || !(error instanceof Error && 'syscall' in error)) throw error;
      unread += 1;
      const { message } = tellFailure(error);
      // Reading a folder fails without its name.
      const told = 'path' in error ? message : `${name}: ${message}`;
      await terminal.errors.write(`${printable(told)}\n`);
    }
  }
  return unread;
}

async function tellSummary({ tally }: Validation, maxFaults: number, terminal: Terminal) {
  const { errors } = terminal;
  const hidden = tally.faults - maxFaults;
  const more = hidden > 0 ? `; ${wholeNumber(hidden)} of them not shown (--max-errors)` : '';
  const style = tally.faults === 0 ? 'green' : 'red';
  await errors.write(`${paint(errors, style, tally.text() + more)}\n`);
}

export const validateCommand = defineCommand({
  summary: 'checks records, log lines and messages against the contract: which line, which path',
  words: [
    { name: 'FILE', what: 'JSON or NDJSON; - or nothing for standard input', isRepeated: true },
  ],
  options: OPTIONS,
  notes: [
    [
      'An input is lines of JSON, one value each, or values over several lines. An array at the top is',
      'taken apart: its elements are told by their index. Inputs are read as they come, and one value of',
      'them is kept at a time: files may be larger than the memory.',
    ].join('\n'),
    [
      'A value is taken for a record or a log line by its key event_name, for a message by message_type,',
      'for one of format v1 by svc_payload_type. --as body also counts the elements of arrays: 1 to 1000.',
    ].join('\n'),
    [
      'Faults go to standard output, as FILE:LINE[INDEX]: SHAPE: PATH: what was expected, what was found.',
      'They hold no payload: of values their kinds, short words and numbers where a vocabulary or a',
      'number was expected, names of unknown keys. The summary goes to standard error.',
    ].join('\n'),
    'Exit code 1 where there is a fault, 3 where an input cannot be read; the others are read all the same.',
  ],
  examples: [
    { command: 'security-events validate events.ndjson', what: 'a log file' },
    {
      command: 'security-events validate --as body --reading received < body.json',
      what: 'the body of a webhook request, as a receiver reads it',
    },
    {
      command: 'kubectl logs deploy/shop | grep svc.ev0 | security-events validate --as line',
      what: 'a stream',
    },
    {
      command: 'security-events validate --json *.ndjson > faults.ndjson',
      what: 'several files, for a program',
    },
  ],
  async run({ options, words, terminal }) {
    const settings = validationOf(options);
    const validation = new Validation(settings, terminal);
    const names = words.length === 0 ? [undefined] : words;
    const unread = await readAll(names, validation, terminal);
    await tellSummary(validation, settings.maxFaults, terminal);
    if (unread > 0) throw outage(`${unread} of ${names.length} inputs could not be read`);
    return validation.tally.faults === 0 ? 0 : 1;
  },
});
