/**
 * The tables of the file, and from their columns the types of the rows. Times are in milliseconds of the queue's
 * clock; for dead letters, of the machine's. Ids are stored as `toText` returns them.
 */
import type { ApplicationState, Health, Json } from '../../queue.ts';
import { toWhole } from '../../stored-values.ts';

/** `PRAGMA application_id` of our files: "SEDQ". */
export const APPLICATION_ID = 0x53454451;

/** `PRAGMA user_version`. A newer one is refused. */
export const SCHEMA_VERSION = 1;

const KEY = 'integer primary key';
const INTEGER = 'integer not null';
const COUNT = 'integer not null default 0';
const TEXT = 'text not null';
const BLOB = 'blob not null';

const QUEUE_STATE = {
  id: 'integer primary key check (id = 1)',
  /** Identifies the queue in exports. */
  queue_id: 'text not null default (hex(randomblob(16)))',
  last_sequence: COUNT,
  /** The last sequence of an import. Up to it, sequences do not rise with the time of acceptance. */
  imported_sequence: COUNT,
  /** The last number that was given to a turn, a claim or a dead letter. */
  last_number: COUNT,
  pending: COUNT,
  pending_bytes: COUNT,
  dead_bytes: COUNT,
  /** Rises when a message may be due earlier than a claim said. */
  due_changes: COUNT,
  /** Added to the machine's clock to get the queue's time, which never goes back. */
  clock_offset: COUNT,
  last_time: COUNT,
  incidents: COUNT,
  incident_names: COUNT,
} as const;

const APPLICATION = {
  number: KEY,
  id: 'text not null unique',
  health: TEXT,
  max_messages: INTEGER,
  max_bytes: INTEGER,
  circuit_breaker: TEXT,
  /** Nothing may be claimed earlier: the end of its pause. */
  not_before: COUNT,
  /** When its last claim ended: applications that have waited longer go first. */
  served_at: COUNT,
  /** Of applications that became ready at the same time, the lowest goes first. */
  turn: COUNT,
  claim: 'integer',
  lease_end: 'integer',
  claimed: COUNT,
  /** The first due time of its unclaimed messages. Not updated while there is a claim. */
  first_due: 'integer',
  /** The latest end of the delays of `enqueue`. */
  delayed_until: COUNT,
  /** When it can be claimed, or the lease of its claim ends; null when it is closed or empty. */
  ready_at: 'integer',
  pending: COUNT,
  delivered: COUNT,
  dead: COUNT,
  purged: COUNT,
  evicted: COUNT,
  damaged: COUNT,
} as const;

/** Columns of messages and dead letters that never change. */
const CONTENT = {
  message_id: TEXT,
  format: INTEGER,
  date_at: INTEGER,
  count_at: INTEGER,
  size_bytes: INTEGER,
  body_checksum: INTEGER,
  body: BLOB,
} as const;

const MESSAGE = {
  sequence: KEY,
  application: INTEGER,
  due: INTEGER,
  accepted: INTEGER,
  sends: INTEGER,
  max_messages: 'integer',
  retry_state: 'text',
  progress_checksum: INTEGER,
  ...CONTENT,
} as const;

/**
 * The messages of a live claim. Each was sent once more than its row says. Not a column of the application,
 * because each enqueue rewrites the application's row, and 1000 ranges take 28 kB.
 */
const CLAIM = {
  number: KEY,
  application: INTEGER,
  size_bytes: INTEGER,
  /** JSON of `SequenceRange[]`, in the order of the claim. */
  sequences: TEXT,
  checksum: INTEGER,
} as const;

const DEAD_LETTER = {
  id: KEY,
  application: INTEGER,
  accepted: INTEGER,
  died: INTEGER,
  sends: INTEGER,
  reason: TEXT,
  last_attempt: TEXT,
  ...CONTENT,
} as const;

/** Rows whose checksum was wrong, for people to examine. The queue does not read them. */
const DAMAGED_MESSAGE = {
  sequence: 'any',
  application: 'any',
  found_at: 'any',
  sends: 'any',
  message_id: 'any',
  body: 'any',
} as const;

/** Stores digests of keys and names, which may have any length. */
const INCIDENT = {
  number: KEY,
  key: 'blob not null unique',
  started_at: 'real not null',
  seen_at: INTEGER,
  on_log: COUNT,
  on_webhook: COUNT,
} as const;

type Columns = Readonly<Record<string, string>>;

type Value<Type> =
  | (Type extends `text${string}` ? string : Type extends `blob${string}` ? Uint8Array : number)
  | (Type extends `${string}not null${string}` | `${string}primary key${string}` ? never : null);

type Row<Table extends Columns> = { -readonly [Name in keyof Table]: Value<Table[Name]> };

export type QueueStateRow = Row<typeof QUEUE_STATE>;
export type ApplicationRow = Row<typeof APPLICATION>;
export type ContentRow = Readonly<Row<typeof CONTENT>>;
export type MessageRow = Readonly<Row<typeof MESSAGE>>;
export type ClaimRow = Readonly<Row<typeof CLAIM>>;
export type DeadLetterRow = Readonly<Row<typeof DEAD_LETTER>>;
export type IncidentRow = Readonly<Row<typeof INCIDENT>>;

export const CONTENT_COLUMNS = Object.keys(CONTENT).join(', ');
export const MESSAGE_COLUMNS = Object.keys(MESSAGE);

const table = (name: string, columns: Columns): string => {
  const parts = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  return `create table ${name} (${parts.join(', ')}) strict;`;
};

export const SCHEMA = `
${table('queue_state', QUEUE_STATE)}
insert into queue_state (id) values (1);
${table('application', APPLICATION)}
create index application_ready on application (health, ready_at, turn) where ready_at is not null;
create index application_lease on application (lease_end) where claim is not null;
${table('message', MESSAGE)}
create index message_due on message (application, due, sequence);
${table('claim', CLAIM)}
${table('dead_letter', DEAD_LETTER)}
create index dead_letter_application on dead_letter (application, id);
${table('damaged_message', DAMAGED_MESSAGE)}
${table('incident', INCIDENT)}
create index incident_seen_at on incident (seen_at, number);
-- The last imported item of each source and kind. A second import begins after it.
create table imported (name text primary key, last_id integer not null) strict, without rowid;
create table incident_name (
  incident integer not null, digest blob not null, primary key (incident, digest)
) strict, without rowid;
`;

/** A row of `application` with the real id: the row has it as `toText` returns it. */
export type Application = Omit<ApplicationRow, 'number' | 'id' | 'health'> & {
  readonly number: number;
  readonly id: string;
  health: Health;
};

/** A state as columns of `application`. */
export const columnsOf = ({ health, maxMessages, maxBytes, circuitBreaker }: ApplicationState) => ({
  health,
  max_messages: toWhole(maxMessages),
  max_bytes: toWhole(maxBytes),
  circuit_breaker: JSON.stringify(circuitBreaker),
});

export function setState(application: Application, state: ApplicationState): void {
  Object.assign(application, columnsOf(state));
}

export const stateOf = (row: Application): ApplicationState => ({
  health: row.health,
  maxMessages: row.max_messages,
  maxBytes: row.max_bytes,
  circuitBreaker: parseJson(row.circuit_breaker),
});

/** Parses JSON that the engine wrote. Returns `null` for a damaged text. */
export function parseJson(text: string | null): Json | null {
  try {
    return text === null ? null : (JSON.parse(text) as Json);
  } catch {
    return null;
  }
}
