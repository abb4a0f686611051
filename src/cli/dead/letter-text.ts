/** A dead letter as it is shown. Without its payload, which may hold personal data. */
import type { DeadMessage } from '../../index.ts';
import { printable } from '../printable.ts';

/** How its last attempt ended. */
const endOf = ({ status, failure }: DeadMessage): string => String(status ?? failure ?? '-');

const timeOf = (ms: number): string => new Date(ms).toISOString();

const COLUMNS: readonly (readonly [title: string, cell: (letter: DeadMessage) => string])[] = [
  ['ID', ({ id }) => id],
  ['DIED', ({ diedAt }) => timeOf(diedAt)],
  ['APPLICATION', ({ applicationId }) => applicationId],
  ['REASON', ({ reason }) => reason],
  ['LAST END', endOf],
  ['SENDS', ({ sends }) => String(sends)],
  ['MESSAGE', ({ message_id }) => message_id],
];

/** An id of a thousand letters must not push all others out of sight. */
const MAX_WIDTH = 40;

/** Rows in columns, as wide as the widest cell so far: what comes later in pages is not known yet. */
export class LetterTable {
  readonly #widths: number[] = COLUMNS.map(([title]) => title.length);
  #isBegun = false;

  /** Lines; the titles before the first ones. */
  lines(letters: readonly DeadMessage[]): string[] {
    const rows = letters.map((letter) => COLUMNS.map(([, cell]) => printable(cell(letter))));
    for (const row of rows) this.#widen(row);
    const shown = this.#isBegun ? rows : [COLUMNS.map(([title]) => title), ...rows];
    this.#isBegun = true;
    return shown.map((row) => this.#line(row));
  }

  #widen(row: readonly string[]): void {
    for (const [index, cell] of row.entries()) {
      this.#widths[index] = Math.max(this.#widths[index] ?? 0, Math.min(cell.length, MAX_WIDTH));
    }
  }

  #line(row: readonly string[]): string {
    const cells = row.map((cell, index) => cell.padEnd(this.#widths[index] ?? 0));
    return cells.join('  ').trimEnd();
  }
}

/** Its facts, as `deadLetters()` gives them. */
export function factsOf(letter: DeadMessage): Readonly<Record<string, string | number>> {
  const { id, applicationId, message_id, format, reason, sends, acceptedAt, diedAt } = letter;
  return {
    id,
    applicationId,
    message_id,
    format,
    reason,
    ...(letter.status === undefined ? {} : { status: letter.status }),
    ...(letter.failure === undefined ? {} : { failure: letter.failure }),
    sends,
    acceptedAt,
    diedAt,
  };
}

/** Its facts for a person, a line each. */
export function letterLines(letter: DeadMessage): string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['id', letter.id],
    ['application', letter.applicationId],
    ['message', letter.message_id],
    ['format', String(letter.format)],
    ['reason', letter.reason],
    ['last end', endOf(letter)],
    ['sends', String(letter.sends)],
    ['accepted', timeOf(letter.acceptedAt)],
    ['died', timeOf(letter.diedAt)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(13)}${printable(value)}`);
}
