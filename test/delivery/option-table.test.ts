import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  DESTINATION_OPTION_TABLE,
  type OptionRow,
  SENDER_OPTION_TABLE,
} from '../../src/delivery/option-table.ts';
import { root } from '../helpers/package-files.ts';

const rows = Object.entries<OptionRow>({ ...DESTINATION_OPTION_TABLE, ...SENDER_OPTION_TABLE });

/** The later one counts: a sender's own `schedule`. */
const FILES = ['src/delivery/retry-policy.ts', 'src/delivery/options.ts'];

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

const optional = rows.filter(([name, row]) => row.default !== 'required' && name !== 'settings');
const numbers = rows.filter(([, { rule }]) => rule.expected.startsWith('an integer'));

describe('each option', () => {
  test('has a comment at its declaration, for editors to show', () => {
    const bare = rows.filter(([name]) => !/^[A-Z].*\.$/.test(comments.get(name) ?? ''));
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  test.each([
    ['what', /^[A-Z][^\n|]*\.$/],
    ['default', /^[^\n|]+$/],
    ['expected', /^[^\n|]+$/],
  ] as const)('has one row of the page without a line break, in whole sentences: %s', (...row) => {
    const [part, form] = row;
    const told = rows.map(([name, { what, default: value, rule }]) => ({
      name,
      text: { what, default: value, expected: rule.expected }[part],
    }));
    expect(told.filter(({ text }) => !form.test(text))).toEqual([]);
  });

  test('that is a number says in its comment which numbers are taken', () => {
    const told = numbers.map(([name, { rule }]) => ({
      comment: comments.get(name) ?? '',
      range: ` ${rule.expected.replace('an integer from ', '')}; default `,
    }));
    expect(told.length).toBeGreaterThan(9);
    expect(told.filter(({ comment, range }) => !comment.includes(range))).toEqual([]);
  });

  test('has the same default in its comment and in the table', () => {
    const told = optional.map(([name, row]) => ({
      comment: defaultOf(comments.get(name) ?? '').replaceAll('`', ''),
      expected: row.default.replaceAll('`', ''),
    }));
    const differing = told.filter(
      ({ comment, expected }) =>
        !(comment.startsWith(expected) && /^[.,;]/.test(comment.slice(expected.length))),
    );
    expect(differing).toEqual([]);
  });
});

test('the reader of comments finds those of one line and of many', () => {
  expect(comments.get('lateHeadersMs')).toContain('After how long');
  expect(comments.get('network')).toBe(
    "Which addresses may be connected to (D77). Default `'public'`.",
  );
  expect(defaultOf('In ms. 1 to 9; default 5. A')).toBe('5. A');
});
