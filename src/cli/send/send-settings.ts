/** The options of `send`, read. */
import type { SendOptions } from '../../index.ts';
import type { OptionTable, OptionValues } from '../command.ts';
import { misuse } from '../failure.ts';
import { durationOf, wordOf } from '../option-values.ts';
import { SECRET_OPTIONS } from '../secrets.ts';

export const SEND_OPTIONS = {
  ...SECRET_OPTIONS,
  format: { type: 'string', value: '2|1', what: 'of the messages; nothing is converted (2)' },
  dialect: {
    type: 'string',
    value: 'strict|open',
    what: 'closed vocabularies, or any word (strict)',
  },
  schedule: {
    type: 'string',
    value: 'TIME,…',
    what: 'waits before each further attempt; none for no further one (500ms,2s,5s)',
  },
  deadline: { type: 'string', value: 'TIME', what: 'how long one attempt may take (20s)' },
  network: {
    type: 'string',
    value: 'WORD',
    what: 'public refuses private addresses, allow-private takes them (allow-private)',
  },
  undelivered: {
    type: 'string',
    value: 'FILE',
    what: 'file for what was not delivered, to be sent again: overwritten, for your eyes only',
  },
  json: { type: 'boolean', what: 'prints the report as one line of JSON' },
} as const satisfies OptionTable;

export interface SendSettings {
  readonly options: SendOptions<'open' | 'strict', 1 | 2> & { readonly format: 1 | 2 };
  readonly dialect: 'strict' | 'open';
  readonly undelivered: string | undefined;
  readonly isJson: boolean;
}

type Given = OptionValues<typeof SEND_OPTIONS>;

/** @throws CommandFailure with exit code 2 */
export function sendSettings(given: Given): SendSettings {
  const { schedule, deadline, undelivered } = given;
  const dialect = wordOf('dialect', given.dialect ?? 'strict', ['strict', 'open']);
  return {
    options: {
      format: formatOf(given.format),
      dialect,
      network: networkOf(given.network),
      ...(schedule === undefined ? {} : { schedule: { delaysMs: delaysOf(schedule) } }),
      ...(deadline === undefined ? {} : { deadlineMs: durationOf('deadline', deadline) }),
    },
    dialect,
    undelivered,
    isJson: given.json === true,
  };
}

export const formatOf = (text: string | undefined): 1 | 2 =>
  wordOf('format', text ?? '2', ['2', '1']) === '1' ? 1 : 2;

export const networkOf = (text: string | undefined): 'public' | 'allow-private' =>
  wordOf('network', text ?? 'allow-private', ['public', 'allow-private']);

function delaysOf(text: string): number[] {
  if (text === 'none') return [];
  if (text === '') throw misuse('--schedule must be times with commas between, or none');
  return text.split(',').map((delay) => durationOf('schedule', delay.trim()));
}
