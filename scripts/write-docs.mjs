/** Writes the generated pages of docs/ from the built package. `--check` only compares them. */
import { tsImport } from 'tsx/esm/api';
import { table } from '../modules/cli/command.js';
import { loadCommands } from '../modules/cli/command-line.js';
import { EXIT_CODES } from '../modules/cli/errors.js';
import { PULSE_GENRES } from '../modules/contract/vocabulary.js';
import { EVENT_TABLE } from '../modules/delivery/events.js';
import { DELIVERY_OPTIONS, DESTINATION_OPTIONS } from '../modules/delivery/options.js';
import { ERROR_TABLE } from '../modules/errors.js';
import { LOG_WRITER_OPTIONS } from '../modules/log/writer-options.js';
import { ATTRIBUTES, METRICS } from '../modules/otel/metric-table.js';
import * as vocabulary from '../modules/projection/vocabulary-map.js';
import { schemaFile } from '../modules/queue/postgres/schema.js';
import { REPORTER_OPTIONS } from '../modules/reporter/reporter-options.js';
import { CHANNEL_PREFIX } from '../modules/runtime/diagnostics.js';
import { commandLinePage } from './pages/command-line.mjs';
import { errorsPage } from './pages/errors.mjs';
import { eventsPage } from './pages/events.mjs';
import { metricsPage } from './pages/metrics.mjs';
import { optionsPage } from './pages/options.mjs';
import { projectionPage } from './pages/projection.mjs';
import { writeGenerated } from './write-generated.mjs';

// TypeScript that the build does not compile.
const { measuredPages } = await tsImport('../bench/pages/measured-pages.ts', import.meta.url);
const { EVENT_WORDS, FIELD_TABLE } = await tsImport('./pages/event-words.ts', import.meta.url);
const commands = await loadCommands();

const PAGES = {
  'docs/command-line.md': commandLinePage({ EXIT_CODES, commands, table }),
  'docs/errors.md': errorsPage({ ERROR_TABLE }),
  'docs/events.md': eventsPage({ CHANNEL_PREFIX, EVENT_TABLE, EVENT_WORDS, FIELD_TABLE }),
  'docs/metrics.md': metricsPage({ ATTRIBUTES, METRICS }),
  'docs/options.md': optionsPage({
    REPORTER_OPTIONS,
    LOG_WRITER_OPTIONS,
    DESTINATION_OPTIONS,
    DELIVERY_OPTIONS,
  }),
  'docs/projection.md': projectionPage({ ...vocabulary, PULSE_GENRES }),
  ...measuredPages(),
  'sql/postgres-queue.sql': schemaFile('security_events'),
};

writeGenerated(PAGES, 'npm run docs');
