import { describe, expect, it } from 'vitest';
import { casesOf, type FieldRow, keysOf } from './cases/case.ts';
import { differences } from './cases/judge.ts';
import { LOG_RECORD_FIELDS } from './cases/log-record-fields.ts';
import { WEBHOOK_FIELDS } from './cases/webhook-fields.ts';

const ROWS = [...LOG_RECORD_FIELDS, ...WEBHOOK_FIELDS];

/** The samples that rows change. */
const nameOf = ({ on }: FieldRow): string => on.join(', ');
const NAMES = [...new Set(ROWS.map(nameOf))];

const differencesOf = (row: FieldRow): readonly object[] =>
  casesOf(row)
    .flatMap(differences)
    .map((found) => ({ field: keysOf(row.field).join('.'), ...found }));

describe('every field of the contract is judged as its table says, in all four readings', () => {
  it.each(NAMES)('those of %s accept valid values only', (name) => {
    expect(ROWS.filter((row) => nameOf(row) === name).flatMap(differencesOf)).toEqual([]);
  });
});
