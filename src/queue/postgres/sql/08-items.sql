-- Identifies this queue in exports.
create table {s}.queue_id (id uuid not null default gen_random_uuid());

insert into {s}.queue_id default values;

-- The last imported item of each source and kind. A second import begins after it.
create table {s}.imported (name text primary key, last_id bigint not null);

-- Returns items of a kind after an id, as JSON; one row with null if messages are claimed.
create function {s}.export_items(args json) returns setof json language plpgsql {plans} as $$
declare
  queue uuid := (select q.id from {s}.queue_id q);
  wanted text := args->>'kind';
  after bigint := args->>'after';
begin
  perform {s}.lock_application(a.number) from (
    select number from {s}.application where lease_end <= {s}.now_exact() order by number) a;
  if exists (select from {s}.application where claim is not null) then
    return query select null::json;
  elsif wanted = 'application' then
    return query select row_to_json(i) from (
      select queue as source, wanted as kind, a.number as id, a.id as application, a.health,
          a.max_messages, a.max_bytes, a.circuit_breaker,
          greatest(0, {s}.server_time(a.not_before)) as not_before
        from {s}.application a where a.number > after order by a.number limit 100) i;
  elsif wanted = 'message' then
    return query select row_to_json(i) from (
      select queue as source, wanted as kind, m.sequence as id, a.id as application, m.message_id,
          m.format, m.date_at, m.count_at, m.size_bytes, encode(m.content, 'base64') as body,
          m.sends, {s}.server_time(m.accepted_at) as accepted, {s}.server_time(m.due) as due,
          m.max_messages, m.retry_state
        from {s}.message m join {s}.application a on a.number = m.application
        where m.sequence > after order by m.sequence limit 100) i;
  else
    return query select row_to_json(i) from (
      select queue as source, wanted as kind, d.id, a.id as application, d.message_id, d.format,
          d.date_at, d.count_at, d.size_bytes, encode(d.content, 'base64') as body, d.sends,
          d.accepted_at as accepted, d.died_at as died, d.reason, d.last_attempt
        from {s}.dead_letter d join {s}.application a on a.number = d.application
        where d.id > after order by d.id limit 100) i;
  end if;
end $$;

create type {s}.item as (source text, kind text, id bigint, application text, health text,
  max_messages bigint, max_bytes bigint, circuit_breaker text, not_before bigint, message_id text,
  format smallint, date_at integer, count_at integer, size_bytes bigint, body text, sends integer,
  accepted bigint, due bigint, retry_state text, died bigint, reason text, last_attempt text);

-- Stores the new items, all or none. Returns their number, or the bound that they would have passed; null for items of
-- this queue.
create function {s}.import_items(args json) returns json language plpgsql {plans} as $$
#variable_conflict use_column
declare
  given {s}.item[] := array(select i from json_populate_recordset(null::{s}.item, args->'items') i);
  mark text := concat_ws(' ', (given[1]).source, (given[1]).kind);
  items {s}.item[];
  more record;
  answer json;
begin
  if exists (select from {s}.queue_id q where q.id::text = (given[1]).source) then
    return null;
  end if;
  insert into {s}.imported values (mark, 0) on conflict do nothing;
  items := array(
    select i from unnest(given) i
      where i.id > (select last_id from {s}.imported where name = mark for update) order by i.id);
  select count(*) as messages, coalesce(sum(i.size_bytes), 0)::bigint as bytes into more
    from unnest(items) i where i.kind = 'message';
  answer := {s}.overflow((args->>'maxPendingMessages')::bigint,
    (args->>'maxPendingBytes')::bigint, more.messages, more.bytes);
  if answer is not null then
    return answer;
  end if;
  insert into {s}.application (id, health, max_messages, max_bytes, circuit_breaker)
    select i.application, s.* from (select distinct application from unnest(items) order by 1) i,
      {s}.state_of(args->'initialState') s
    on conflict do nothing;
  update {s}.application a set
      health = case when a.health = 'closed' then a.health else i.health end,
      max_messages = i.max_messages, max_bytes = i.max_bytes,
      circuit_breaker = i.circuit_breaker, not_before = {s}.queue_time(i.not_before)
    from unnest(items) i where a.id = i.application and i.kind = 'application';
  with stored as (
    insert into {s}.message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, max_messages, retry_state, content)
      select a.number, {s}.queue_time(i.due), nextval('{s}.turn_number'), {s}.queue_time(i.accepted),
          i.size_bytes, i.sends, i.date_at, i.count_at, i.format, i.message_id, i.max_messages, i.retry_state, decode(i.body, 'base64')
        from unnest(items) with ordinality i join {s}.application a on a.id = i.application
        where i.kind = 'message' order by i.ordinality
      returning application, due, sequence, size_bytes, sends
  )
  insert into {s}.counter_delta (application, accepted, pending, pending_bytes, first_due, at,
      delayed_until)
    select application, count(*), count(*), sum(size_bytes), min(due), floor({s}.now_exact()),
        max(due) filter (where sends = 0)
      from stored group by application order by min(sequence);
  with stored as (
    insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends, date_at,
        count_at, format, message_id, reason, last_attempt, content)
      select a.number, i.accepted, i.died, i.size_bytes, i.sends, i.date_at, i.count_at, i.format,
          i.message_id, i.reason, i.last_attempt, decode(i.body, 'base64')
        from unnest(items) with ordinality i join {s}.application a on a.id = i.application
        where i.kind = 'dead_letter' order by i.ordinality
      returning application
  )
  insert into {s}.counter_delta (application, accepted, dead)
    select application, count(*), count(*) from stored group by application;
  update {s}.imported set last_id = items[cardinality(items)].id
    where name = mark and cardinality(items) > 0;
  return to_json(cardinality(items));
end $$;
