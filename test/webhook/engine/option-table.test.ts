import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  DESTINATION_OPTION_TABLE,
  type OptionRow,
  SENDER_OPTION_TABLE,
} from '../../../src/webhook/engine/option-table.ts';
import { root } from '../../helpers/package-files.ts';

const rows = Object.entries<OptionRow>({ ...DESTINATION_OPTION_TABLE, ...SENDER_OPTION_TABLE });

/** The later one counts: a sender's own `schedule`. */
const FILES = ['src/webhook/engine/policy.ts', 'src/webhook/engine/options.ts'];

/** The comment above each `readonly name…:` of the option types, in one line. */
const comments = new Map(
  FILES.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return [...text.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s*readonly (\w+)\??:/gs)].map(
      ([, comment = '', name = '']) =>
        [name, comment.replaceAll(/\s*\n\s*\* ?/g, ' ').trim()] as const,
    );
  }),
);

/** What an option's comment says of its default. */
const defaultOf = (comment: string): string => comment.split(/\b[Dd]efault /)[1] ?? '';

describe('each option', () => {
  test.each(rows)('%s has a comment at its declaration, for editors to show', (name) => {
    expect(comments.get(name)).toMatch(/^[A-Z].*\.$/);
  });

  test.each(rows)(
    '%s has one row of the page: whole sentences, and no line break',
    (_name, row) => {
      expect(row.what).toMatch(/^[A-Z][^\n|]*\.$/);
      expect(row.default).toMatch(/^[^\n|]+$/);
      expect(row.rule.expected).toMatch(/^[^\n|]+$/);
    },
  );

  const numbers = rows.filter(([, { rule }]) => rule.expected.startsWith('an integer'));

  test.each(numbers)('%s says in its comment which numbers are taken', (name, { rule }) => {
    const range = rule.expected.replace('an integer from ', '');
    expect(comments.get(name)).toContain(` ${range}; default `);
  });

  const optional = rows.filter(([, row]) => row.default !== 'required');

  test.each(optional.filter(([name]) => name !== 'settings'))(
    '%s has the same default in its comment and in the table',
    (name, row) => {
      const told = defaultOf(comments.get(name) ?? '').replaceAll('`', '');
      const expected = row.default.replaceAll('`', '');
      expect(told.slice(0, expected.length)).toBe(expected);
      expect(told.slice(expected.length)).toMatch(/^[.,;]/);
    },
  );
});

test('the reader of comments finds those of one line and of many', () => {
  expect(comments.get('lateHeadersMs')).toContain('After how long');
  expect(comments.get('network')).toBe(
    "Which addresses may be connected to (D77). Default `'public'`.",
  );
  expect(defaultOf('In ms. 1 to 9; default 5. A')).toBe('5. A');
});
