/** The attributes of log platforms, which a line may have (D17, D18). */
import { LINE, RECORDS } from '../samples.ts';
import { type FieldRow, type Given, no, ok, optional } from './case.ts';
import { INTEGER, OBJECT, TEXT, textLike } from './fields.ts';

/** Received, any attribute of any type passes. */
const attribute = (field: string, given: readonly Given[]): FieldRow => ({
  on: ['line'],
  field: [field],
  given: given.map((row) => ({
    ...row,
    verdicts: { ...row.verdicts, 'strict received': true, 'open received': true },
  })),
});

const hex = (digits: number): Given[] => [
  ...optional(
    textLike(`${digits} lowercase hex digits`, ok('0123456789abcdef'.repeat(2).slice(0, digits))),
  ),
  ...no(
    `expected ${digits} lowercase hex digits, found a string`,
    'a'.repeat(digits - 1),
    'a'.repeat(digits + 1),
    'A'.repeat(digits),
    'g'.repeat(digits),
    `${'a'.repeat(digits)}\n`,
  ),
  ...no(`expected ${digits} lowercase hex digits, found an empty string`, ''),
];

const TEXT_ATTRIBUTES = Object.keys(LINE).filter(
  (key) =>
    !(key in RECORDS.attack) &&
    !/^(?:trace_id|span_id|trace_flags|dd|usr\.id)$|status_code$|port$/.test(key),
);

export const ATTRIBUTES: FieldRow[] = [
  attribute('trace_id', hex(32)),
  attribute('span_id', hex(16)),
  attribute('trace_flags', hex(2)),
  ...TEXT_ATTRIBUTES.map((key) => attribute(key, optional(TEXT))),
  attribute('http.status_code', optional(INTEGER)),
  attribute('http.response.status_code', optional(INTEGER)),
  attribute('url.port', optional(INTEGER)),
  attribute('usr.id', [
    ...ok('u-1', '', 5, undefined),
    ...no('expected a string or a number, found null', null),
    ...no('expected a string or a number, found a boolean', true),
    ...no('expected a string or a number, found an object', {}),
  ]),
  attribute('dd', [...optional(OBJECT), ...ok({}, { trace_id: '1', more: [1] })]),
  ...['trace_id', 'span_id', 'service', 'env', 'version'].map(
    (key): FieldRow => ({ ...attribute('', optional(TEXT)), field: ['dd', key] }),
  ),
];
