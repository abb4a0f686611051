import { describe, expect, it } from 'vitest';
import { casesOf, type FieldRow, keysOf } from './cases/case.ts';
import { differences } from './cases/judge.ts';
import { LOG_RECORD_FIELDS } from './cases/log-record-fields.ts';
import { WEBHOOK_FIELDS } from './cases/webhook-fields.ts';

const titled = (rows: readonly FieldRow[]): [string, string, FieldRow][] =>
  rows.map((row) => [keysOf(row.field).join('.'), row.on.join(', '), row]);

describe('every field of the contract is judged as its table says, in all four readings', () => {
  it.each(titled(LOG_RECORD_FIELDS))(
    '%s takes what it may and nothing else (%s)',
    (...[, , row]) => {
      expect(casesOf(row).flatMap(differences)).toEqual([]);
    },
  );

  it.each(titled(WEBHOOK_FIELDS))('%s takes what it may and nothing else (%s)', (...[, , row]) => {
    expect(casesOf(row).flatMap(differences)).toEqual([]);
  });
});
