/**
 * Writes the generated pages of docs/ from the built package; with `--check` it only says whether
 * they are up to date (exit code 1 when they are not).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tsImport } from 'tsx/esm/api';
import { table } from '../modules/cli/command.js';
import { loadCommands } from '../modules/cli/command-line.js';
import { EXIT_CODES } from '../modules/cli/errors.js';
import { PULSE_GENRES } from '../modules/contract/vocabulary.js';
import { EVENT_WORDS, FIELD_TABLE } from '../modules/delivery/event-words.js';
import { CHANNEL_PREFIX, EVENT_TABLE } from '../modules/delivery/events.js';
import { DELIVERY_OPTIONS, DESTINATION_OPTIONS } from '../modules/delivery/options.js';
import { SCHEDULE_RULES } from '../modules/delivery/retry-policy.js';
import { ERROR_TABLE } from '../modules/errors.js';
import * as vocabulary from '../modules/projection/vocabulary-map.js';
import { schemaFile } from '../modules/queue/postgres/schema.js';
import { commandLinePage } from './pages/command-line.mjs';
import { errorsPage } from './pages/errors.mjs';
import { eventsPage } from './pages/events.mjs';
import { optionsPage } from './pages/options.mjs';
import { projectionPage } from './pages/projection.mjs';

// The bench is TypeScript that no build compiles.
const { measuredPages } = await tsImport('../bench/pages/measured-pages.ts', import.meta.url);
const commands = await loadCommands();

const PAGES = {
  'docs/command-line.md': commandLinePage({ EXIT_CODES, commands, table }),
  'docs/errors.md': errorsPage({ ERROR_TABLE }),
  'docs/events.md': eventsPage({ CHANNEL_PREFIX, EVENT_TABLE, EVENT_WORDS, FIELD_TABLE }),
  'docs/options.md': optionsPage({ DESTINATION_OPTIONS, DELIVERY_OPTIONS, SCHEDULE_RULES }),
  'docs/projection.md': projectionPage({ ...vocabulary, PULSE_GENRES }),
  ...measuredPages(),
  'sql/postgres-queue.sql': schemaFile('security_events'),
};
const isCheck = process.argv.includes('--check');

for (const [page, text] of Object.entries(PAGES)) {
  const path = fileURLToPath(new URL(`../${page}`, import.meta.url));
  if (!isCheck) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    continue;
  }
  if (readFileSync(path, 'utf8') !== text) {
    process.stderr.write(`${page} is out of date: run \`npm run docs\` and commit it\n`);
    process.exitCode = 1;
  }
}
