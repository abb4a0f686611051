import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DELIVERY_OPTIONS, DESTINATION_OPTIONS, SEND_OPTIONS } from '../../src/delivery/options.ts';
import { root } from '../helpers/package-files.ts';

interface Row {
  readonly expected: string;
  readonly shown: string;
}

const rows = Object.entries<Row>({ ...SEND_OPTIONS, ...DESTINATION_OPTIONS, ...DELIVERY_OPTIONS });

const page = (await import(/* @vite-ignore */ join(root, 'scripts/pages/options.mjs'))) as {
  readonly optionComments: () => ReadonlyMap<string, string>;
};

const comments = page.optionComments();

/** What an option's comment says of its default. */
const defaultOf = (comment: string): string => comment.split(/\b[Dd]efault /)[1] ?? '';

const optional = rows.filter(([name, row]) => row.shown !== 'required' && name !== 'settings');
const numbers = rows.filter(([, { expected }]) => expected.startsWith('an integer'));

describe('each option', () => {
  test('has a comment at its declaration, for editors and the documentation', () => {
    const bare = rows.filter(([name]) => !/^[A-Z][^\n|]*\.$/.test(comments.get(name) ?? ''));
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  test.each(['shown', 'expected'] as const)('fits into one row of the page: %s', (part) => {
    expect(rows.filter(([, row]) => !/^[^\n|]+$/.test(row[part]))).toEqual([]);
  });

  test('that is a number says in its comment which numbers are taken', () => {
    const told = numbers.map(([name, { expected }]) => ({
      comment: comments.get(name) ?? '',
      range: ` ${expected.replace('an integer from ', '')}; default `,
    }));
    expect(told.length).toBeGreaterThan(9);
    expect(told.filter(({ comment, range }) => !comment.includes(range))).toEqual([]);
  });

  test('has the same default in its comment and in the table', () => {
    const told = optional.map(([name, row]) => ({
      comment: defaultOf(comments.get(name) ?? '').replaceAll('`', ''),
      expected: row.shown.replaceAll('`', ''),
    }));
    const differing = told.filter(
      ({ comment, expected }) =>
        !(comment.startsWith(expected) && /^[.,;]/.test(comment.slice(expected.length))),
    );
    expect(differing).toEqual([]);
  });
});

test('the reader of comments finds those of one line and of many', () => {
  expect(comments.get('lateAfterMs')).toContain('Time without response headers');
  expect(comments.get('userAgent')).toBe(
    'The header User-Agent (D35). Default `security-event-delivery/<version>`.',
  );
  expect(defaultOf('In ms. 1 to 9; default 5. A')).toBe('5. A');
});
