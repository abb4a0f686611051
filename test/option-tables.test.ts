import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DELIVERY_OPTIONS, DESTINATION_OPTIONS, SEND_OPTIONS } from '../src/delivery/options.ts';
import { LOG_WRITER_OPTIONS } from '../src/log/writer-options.ts';
import { REPORTER_OPTIONS } from '../src/reporter/reporter-options.ts';
import { root } from './helpers/package-files.ts';

interface Row {
  readonly expected: string;
  readonly shown: string;
}

const FILES = [
  ['src/reporter/reporter-options.ts', REPORTER_OPTIONS],
  ['src/log/writer-options.ts', LOG_WRITER_OPTIONS],
  ['src/delivery/options.ts', { ...SEND_OPTIONS, ...DESTINATION_OPTIONS, ...DELIVERY_OPTIONS }],
] as const;

const { optionComments } = (await import(
  /* @vite-ignore */ join(root, 'scripts/pages/options.mjs')
)) as { readonly optionComments: (file: string) => ReadonlyMap<string, string> };

/** What an option's comment says of its default. */
const defaultOf = (comment: string): string => comment.split(/\b[Dd]efault /)[1] ?? '';

describe.each(FILES)('each option of %s', (file, table) => {
  const comments = optionComments(file);
  const rows = Object.entries<Row>(table);
  const optional = rows.filter(([name, row]) => row.shown !== 'required' && name !== 'settings');

  test('has a comment at its declaration, for editors and the documentation', () => {
    const bare = rows.filter(([name]) => !/^[A-Z][^\n|]*\.$/.test(comments.get(name) ?? ''));
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  test('fits into one line of the page', () => {
    expect(rows.filter(([, { shown, expected }]) => /\n|^$/m.test(shown + expected))).toEqual([]);
  });

  test('names its range in its comment if it is an integer', () => {
    const numbers = rows.filter(([, { expected }]) => expected.startsWith('an integer'));
    const ranges = numbers.map(([name, { expected }]) => ({
      comment: comments.get(name) ?? '',
      range: ` ${expected.replace('an integer from ', '')}; default `,
    }));
    expect(ranges.filter(({ comment, range }) => !comment.includes(range))).toEqual([]);
  });

  test('has the same default in its comment and in the table', () => {
    const defaults = optional.map(([name, row]) => ({
      comment: defaultOf(comments.get(name) ?? '').replaceAll('`', ''),
      expected: row.shown.replaceAll('`', ''),
    }));
    const differing = defaults.filter(
      ({ comment, expected }) =>
        !(comment.startsWith(expected) && /^[.,:;]/.test(comment.slice(expected.length))),
    );
    expect(differing).toEqual([]);
  });
});
