/** The lists of docs/capture.md: what redaction finds, what it does not, and what it leaves alone. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../src/capture/redaction/redactor.ts';
import { parameterCopier } from '../../../src/capture/request/parameters.ts';
import { pathOf } from '../../../src/capture/request/request-text.ts';
import { INJECTIONS } from './injections.ts';
import { FOUND, NOT_FOUND, type Shape } from './redaction-table.ts';

const redactor = createRedactor();

const shown = ({ sources, path, maxStringLength = 10_000 }: Shape): string =>
  path === undefined
    ? JSON.stringify(parameterCopier({ maxStringLength })(sources ?? {}))
    : pathOf(path, redactor);

test.each(FOUND)('finds $kind: $sources $path', (shape) => {
  expect(shown(shape)).not.toContain(shape.secret);
  expect(shown(shape)).toContain('[redacted]');
});

test.each(NOT_FOUND)('does not find $kind: $sources', (shape) => {
  expect(shown(shape)).not.toContain('[redacted]');
});

const kinds = (shapes: readonly Shape[]) => [...new Set(shapes.map(({ kind }) => kind))];

test.each([
  ['Found', FOUND],
  ['Not found', NOT_FOUND],
])('the documentation lists each kind: %s', (title, shapes) => {
  const [, rest = ''] = readFileSync('docs/capture.md', 'utf8').split(`\n${title}:\n\n`);
  const [list = ''] = rest.split('\n\n');
  expect([...list.matchAll(/^- (.+)$/gm)].map(([, kind]) => kind)).toEqual(kinds(shapes));
});

describe('harmless parameters', () => {
  /** Name, tab, values as JSON. The head of the file says where they are from. */
  const CORPUS = readFileSync(new URL('harmless-parameters.tsv', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [name = '', values = ''] = line.split('\t');
      return (JSON.parse(values) as unknown[]).map((value) => [name, value] as const);
    });

  test('are masked in at most 1 % of a corpus', () => {
    const copy = parameterCopier();
    const masked = CORPUS.filter(([name, value]) =>
      JSON.stringify(copy({ json: { [name]: value } })).includes('[redacted]'),
    );
    expect(CORPUS.length).toBeGreaterThan(1000);
    expect(masked.length).toBeLessThanOrEqual(CORPUS.length / 100);
  });

  test.each([
    ['code', 'AB-1234-XL'],
    ['product_code', 'iphone-15-pro-max-256gb'],
    ['code', 'summer-sale-2026-newsletter'],
    ['postal_code', 'SW1A 1AA'],
    ['state', 'Mecklenburg-Vorpommern'],
    ['state', 'waiting_for_payment_confirmation'],
    ['key', 'user.settings.theme.dark.background'],
    ['key', 'uploads/2026/11/23/8f14e45fceea167a5a36dedd4bea2543.jpg'],
    ['link', 'https://shop.example/articles/42'],
    ['ticket', 'SUPPORT-48213'],
    ['invite', 'ada@example.com'],
    ['nonce', '7'],
    ['state', '2026-11-23T21:40:00.000Z'],
    ['token_type', 'Bearer'],
    ['auth_method', 'password'],
    ['secret_scanning', 'enabled'],
  ])('%s=%s is shown', (name, value) => {
    expect(parameterCopier()({ query: { [name]: value } })).toEqual({ query: { [name]: value } });
  });

  test.each([
    '/products/8f14e45fceea167a5a36dedd4bea2543',
    '/reset-password/start',
    '/token/refresh',
  ])('the path %s is shown', (path) => {
    expect(pathOf(path, redactor)).toBe(path);
  });
});

test.each(INJECTIONS)(
  'the injection %j stays readable in parameters of harmless names',
  (injection) => {
    const copy = parameterCopier();
    const names = ['q', 'id', 'code', 'state', 'key', 'ticket', 'nonce', ''];
    const query = Object.fromEntries(names.map((name) => [name, injection]));
    expect(JSON.stringify(copy({ query }))).not.toContain('[redacted]');
  },
);

// A password may look like an injection, too.
test('an injection is redacted as the value of a sensitive name', () => {
  const form = { password: "' or 1=1--", token: { $ne: 'x' } };
  expect(parameterCopier()({ form })).toEqual({
    form: { password: '[redacted]', token: '[redacted]' },
  });
});
