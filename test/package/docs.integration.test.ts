/** Generated pages equal the output of `npm run docs`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVENT_WORDS, FIELD_TABLE } from '../../scripts/pages/event-words.ts';
import { CHANNEL_PREFIX, EVENT_TABLE } from '../../src/delivery/events.ts';
import { DELIVERY_OPTIONS, DESTINATION_OPTIONS } from '../../src/delivery/options.ts';
import { ERROR_TABLE } from '../../src/errors.ts';
import { LOG_WRITER_OPTIONS } from '../../src/log/writer-options.ts';
import { ATTRIBUTES, METRICS } from '../../src/otel/metric-table.ts';
import { REPORTER_OPTIONS } from '../../src/reporter/reporter-options.ts';
import { root } from '../helpers/package-files.ts';

interface Page {
  readonly page: string;
  readonly generator: string;
  readonly tables: object;
}

/** In the order of the page. */
const OPTION_TABLES = {
  REPORTER_OPTIONS,
  LOG_WRITER_OPTIONS,
  DESTINATION_OPTIONS,
  DELIVERY_OPTIONS,
};

const PAGES: readonly Page[] = [
  { page: 'docs/errors.md', generator: 'errors', tables: { ERROR_TABLE } },
  {
    page: 'docs/events.md',
    generator: 'events',
    tables: { CHANNEL_PREFIX, EVENT_TABLE, EVENT_WORDS, FIELD_TABLE },
  },
  { page: 'docs/metrics.md', generator: 'metrics', tables: { ATTRIBUTES, METRICS } },
  {
    page: 'docs/options.md',
    generator: 'options',
    tables: OPTION_TABLES,
  },
];

const read = (page: string): string => readFileSync(join(root, page), 'utf8');

describe.each(PAGES)('$page', ({ page, generator, tables }) => {
  it('is up to date: run `npm run docs` and commit it', async () => {
    const module = (await import(
      /* @vite-ignore */ join(root, 'scripts/pages', `${generator}.mjs`)
    )) as Readonly<Record<string, (tables: object) => string>>;
    expect(module[`${generator}Page`]?.(tables)).toBe(read(page));
  });

  it('has tables whose rows have as many cells as their heads', () => {
    for (const table of read(page).match(/(?:^\|.*\n)+/gm) ?? []) {
      const widths = table
        .trimEnd()
        .split('\n')
        .map((row) => row.split('|').length);
      expect(new Set(widths).size).toBe(1);
    }
  });

  it('is listed among the guides', () => {
    const name = page.replace('docs/', '');
    expect(read('docs/README.md')).toContain(`| [${name}](${name}) |`);
  });
});

it('docs/events.md has a row for every event, docs/options.md an entry for every option', () => {
  const eventRows = read('docs/events.md').match(/^\| `security-event-delivery:[\w-]+`/gm);
  expect(eventRows).toHaveLength(Object.keys(EVENT_TABLE).length);
  const names = Object.values(OPTION_TABLES).flatMap((table) => Object.keys(table));
  const entries = read('docs/options.md').matchAll(/^- `(\w+)` \(/gm);
  expect([...entries].map(([, name]) => name)).toEqual(names);
});
