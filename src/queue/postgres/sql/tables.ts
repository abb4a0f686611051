/** `{s}` stands for the schema's quoted name, here and in the other files of this folder. */
export const TABLES = `
-- Numbers what is accepted, turns, claims and dead letters: later is higher.
create sequence {s}.turn_number cache 1;

-- One row an application: what may be claimed of it, its live claim, its share of the ledger.
-- Times are the server's, in milliseconds since the epoch. Texts are as within quotes in JSON.
create table {s}.application (
  number bigint generated always as identity primary key,
  id text not null unique,
  tier text not null,
  max_messages bigint not null,
  max_bytes bigint not null,
  circuit_breaker text not null,
  not_before bigint not null default 0,
  -- When its last claim ended: it goes behind those that have waited since.
  served_at bigint not null default 0,
  turn bigint not null default 0,
  -- The claim names its messages: for as long as it lives, each was sent once more than its row says.
  claim bigint,
  lease_end bigint,
  claim_dues bigint[],
  claim_sequences bigint[],
  -- Of what is not claimed; nothing of it is due before.
  first_due bigint,
  -- No message of it waits for the end of a delay after this time.
  delayed_until bigint not null default 0,
  pending bigint not null default 0,
  pending_bytes bigint not null default 0,
  accepted bigint not null default 0,
  delivered bigint not null default 0,
  dead bigint not null default 0,
  purged bigint not null default 0,
  ready_at bigint generated always as (
    case
      when tier = 'closed' then null
      when claim is not null then lease_end
      when first_due is null then null
      else greatest(first_due, not_before, served_at)
    end) stored
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

create index application_ready on {s}.application (tier, ready_at, turn)
  where ready_at is not null;

create table {s}.message (
  application bigint not null,
  due bigint not null,
  sequence bigint not null,
  accepted_at bigint not null,
  size_bytes bigint not null,
  max_messages bigint,
  sends integer not null,
  date_at integer not null,
  count_at integer not null,
  format smallint not null,
  message_id text not null,
  progress text,
  content bytea not null,
  primary key (application, due, sequence)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

create index message_accepted_at on {s}.message (accepted_at);

create unique index message_sequence on {s}.message (sequence);

create table {s}.dead_letter (
  id bigint primary key default nextval('{s}.turn_number'),
  application bigint not null,
  accepted_at bigint not null,
  died_at bigint not null,
  size_bytes bigint not null,
  sends integer not null,
  date_at integer not null,
  count_at integer not null,
  format smallint not null,
  message_id text not null,
  reason text not null,
  last_attempt text not null,
  content bytea not null
);

create index dead_letter_application on {s}.dead_letter (application, id);

-- What has changed in the ledger and was not added up in the application's row yet. Whoever accepts
-- messages only inserts, so that many of them do not wait for one row.
create table {s}.posting (
  sequence bigint primary key default nextval('{s}.turn_number'),
  application bigint not null,
  accepted bigint not null default 0,
  pending bigint not null default 0,
  pending_bytes bigint not null default 0,
  dead bigint not null default 0,
  purged bigint not null default 0,
  first_due bigint,
  -- When the messages came in, and the end of their delay.
  at bigint,
  delayed_until bigint
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create index posting_application on {s}.posting (application);

-- What waits in all applications, beside the postings: the sum of these rows. A connection changes
-- the one of its process number.
create table {s}.room (
  shard integer primary key,
  messages bigint not null default 0,
  bytes bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

insert into {s}.room (shard) select generate_series(0, 63);

-- Locked, never filled: by what accepts messages together, by what closes an application alone.
create table {s}.intake ();

-- Locked, never filled: postings are added up by one at a time.
create table {s}.folding ();`;
