import { BURY, EXPIRE } from './bury.ts';
import { CLAIM, NEXT_APPLICATION, NEXT_MESSAGES } from './claim.ts';
import { APPLICATION_STATE, CLOSE_PAGE, REOPEN, SHUT } from './close.ts';
import { DEAD_LETTERS, LETTERS, PURGE, REPLAY } from './dead-letters.ts';
import { ENQUEUE } from './enqueue.ts';
import { FOLD } from './fold.ts';
import { END_DELAYS, HOLD } from './hold.ts';
import { INCIDENT_KEY, INCIDENT_TABLES, NEW_NAMES, RETRACT, TELL } from './incidents.ts';
import {
  CLAIMED,
  EXPORT_APPLICATIONS,
  EXPORT_MESSAGES,
  IMPORT_ITEMS,
  ITEM_TABLES,
} from './items.ts';
import { EXTEND, RELEASE } from './release.ts';
import { SETTLE, TAKE_POSTINGS, TAKE_ROOM } from './settle.ts';
import { BACKLOG, COUNT_PENDING, STATS } from './stats.ts';
import { TABLES } from './tables.ts';
import { AFTER, NOW_EXACT } from './time.ts';
import { WAITING } from './waiting.ts';

/**
 * Raised with every change of what follows after it was published, and with it goes a migration; a
 * queue works with a schema of its own version only.
 */
export const SCHEMA_VERSION = 1;

/** In an order in which each finds what it needs. */
const TEXTS = [
  TABLES,
  NOW_EXACT,
  AFTER,
  WAITING,
  END_DELAYS,
  HOLD,
  TAKE_POSTINGS,
  TAKE_ROOM,
  ENQUEUE,
  FOLD,
  NEXT_APPLICATION,
  NEXT_MESSAGES,
  CLAIM,
  SETTLE,
  RELEASE,
  EXTEND,
  BURY,
  EXPIRE,
  SHUT,
  CLOSE_PAGE,
  REOPEN,
  APPLICATION_STATE,
  LETTERS,
  PURGE,
  REPLAY,
  DEAD_LETTERS,
  STATS,
  COUNT_PENDING,
  BACKLOG,
  ITEM_TABLES,
  CLAIMED,
  EXPORT_APPLICATIONS,
  EXPORT_MESSAGES,
  IMPORT_ITEMS,
  INCIDENT_TABLES,
  INCIDENT_KEY,
  NEW_NAMES,
  TELL,
  RETRACT,
];

const VERSION = `
create table {s}.schema_version (version integer primary key);

insert into {s}.schema_version values (${SCHEMA_VERSION});`;

/**
 * The plan of a statement is made once and kept, since making it costs more than what it does. However
 * much waits later: it has to go through an index even where the tables were empty when it was made. That it is dear on paper is not worth a compiler's work.
 */
const PLANS = `{path} set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off`;

/** Functions and operators are the server's own, whatever of that name a caller's path leads to. */
const PATH = 'set search_path = pg_catalog, pg_temp';

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** All that is in a schema of that name, which is there and empty. */
export function schemaText(schema: string): string {
  const text = [...TEXTS, VERSION].join('\n').trim();
  const whole = text.replaceAll('{plans}', PLANS).replaceAll('{path}', PATH);
  return `${whole.replaceAll('{s}', () => quoted(schema))}\n`;
}
