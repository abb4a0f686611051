/**
 * Writes the generated pages of docs/ from the built package; with `--check` it only says whether
 * they are up to date (exit code 1 when they are not).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as errors from '../dist/errors.js';
import * as common from '../dist/webhook/common-options.js';
import * as words from '../dist/webhook/engine/event-words.js';
import * as events from '../dist/webhook/engine/events.js';
import * as options from '../dist/webhook/engine/option-table.js';
import { errorsPage } from './pages/errors.mjs';
import { eventsPage } from './pages/events.mjs';
import { optionsPage } from './pages/options.mjs';

const PAGES = {
  'docs/errors.md': errorsPage(errors),
  'docs/events.md': eventsPage({ ...events, ...words }),
  'docs/options.md': optionsPage({ ...options, ...common }),
};
const isCheck = process.argv.includes('--check');

for (const [page, text] of Object.entries(PAGES)) {
  const path = fileURLToPath(new URL(`../${page}`, import.meta.url));
  if (!isCheck) {
    writeFileSync(path, text);
    continue;
  }
  if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${page} is out of date: run \`npm run docs\` and commit it\n`);
    process.exitCode = 1;
  }
}
