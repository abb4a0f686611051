/** `PRAGMA application_id` of our files: "SEDQ". */
export const APPLICATION_ID = 0x53454451;

/** `PRAGMA user_version`. A newer one is refused. */
export const SCHEMA_VERSION = 1;

/** Times are milliseconds since the epoch; ids as text.ts writes them. */
export const SCHEMA = `
create table queue_state (
  id integer primary key check (id = 1),
  last_sequence integer not null default 0,
  -- Numbers turns, claims and dead letters.
  last_number integer not null default 0,
  pending integer not null default 0,
  pending_bytes integer not null default 0,
  dead_bytes integer not null default 0,
  -- Rises when a message may be due earlier than a claim said.
  due_changes integer not null default 0,
  incidents integer not null default 0,
  incident_names integer not null default 0
) strict;

insert into queue_state (id) values (1);

create table application (
  number integer primary key,
  id text not null unique,
  tier text not null,
  max_messages integer not null,
  max_bytes integer not null,
  circuit_breaker text not null,
  not_before integer not null default 0,
  -- When its last claim ended: it goes behind those that have waited since.
  served_at integer not null default 0,
  turn integer not null default 0,
  claim integer,
  lease_end integer,
  claimed integer not null default 0,
  -- The first due time of its unclaimed messages. Not kept up while there is a claim.
  first_due integer,
  -- No message waits for others to come after this time.
  delayed_until integer not null default 0,
  -- When it can be claimed, or its lease ends; null when it is closed or empty.
  ready_at integer,
  pending integer not null default 0,
  pending_bytes integer not null default 0,
  accepted integer not null default 0,
  delivered integer not null default 0,
  dead integer not null default 0,
  purged integer not null default 0,
  evicted integer not null default 0,
  lost integer not null default 0
) strict;

create index application_ready on application (tier, ready_at, turn) where ready_at is not null;
create index application_lease on application (lease_end) where claim is not null;

create table message (
  sequence integer primary key,
  application integer not null,
  due integer not null,
  accepted integer not null,
  sends integer not null,
  max_messages integer,
  progress text,
  progress_checksum integer not null,
  message_id text not null,
  format integer not null,
  date_at integer not null,
  count_at integer not null,
  size_bytes integer not null,
  body_checksum integer not null,
  body blob not null
) strict;

create index message_due on message (application, due, sequence);

-- The messages of a live claim. Each was sent once more than its row says.
create table claim (
  number integer primary key,
  application integer not null,
  size_bytes integer not null,
  sequences text not null
) strict;

create table dead_letter (
  id integer primary key,
  application integer not null,
  accepted integer not null,
  died integer not null,
  sends integer not null,
  reason text not null,
  last_attempt text not null,
  message_id text not null,
  format integer not null,
  date_at integer not null,
  count_at integer not null,
  size_bytes integer not null,
  body_checksum integer not null,
  body blob not null
) strict;

create index dead_letter_application on dead_letter (application, id);

-- Keys of the items that were imported: a second import ignores them.
create table imported (key text primary key) strict, without rowid;

-- Rows whose checksum was wrong, for a human to look at. Nothing reads them.
create table damaged_message (
  sequence integer,
  application integer,
  found_at integer,
  sends integer,
  message_id text,
  body blob
);

-- Keys and names are digests: they may be of any length.
create table incident (
  number integer primary key,
  key blob not null unique,
  started_at real not null,
  seen_at integer not null,
  on_log integer not null default 0,
  on_webhook integer not null default 0
) strict;

create index incident_seen_at on incident (seen_at, number);

create table incident_name (
  incident integer not null,
  digest blob not null,
  primary key (incident, digest)
) strict, without rowid;
`;
