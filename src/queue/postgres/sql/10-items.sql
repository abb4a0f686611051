-- Keys of the items that were imported. A second import ignores them.
create table {s}.imported (key text primary key);

-- Counts the applications with a live claim, after it has ended expired leases.
create function {s}.claimed_applications(args json) returns bigint language plpgsql {path} as $$
begin
  perform {s}.lock_application(a.number) from (
    select number from {s}.application where lease_end <= {s}.now_exact() order by number) a;
  return (select count(*) from {s}.application where claim is not null);
end $$;

create function {s}.export_applications(args json)
returns table (id bigint, application text, state json, not_before bigint)
language sql stable {plans} as $$
  select a.number, a.id, json_build_object('tier', a.tier, 'maxMessages', a.max_messages,
      'maxBytes', a.max_bytes, 'circuitBreaker', a.circuit_breaker), a.not_before
    from {s}.application a where a.number > (args->>'after')::bigint
    order by a.number limit (args->>'limit')::bigint
$$;

create function {s}.export_messages(args json)
returns table (id bigint, application text, message_id text, format smallint, content bytea,
  date_at integer, count_at integer, size_bytes bigint, sends integer, max_messages bigint,
  progress text, accepted_at bigint, due bigint) language sql stable {plans} as $$
  select m.sequence, a.id, m.message_id, m.format, m.content, m.date_at, m.count_at, m.size_bytes,
      m.sends, m.max_messages, m.progress, m.accepted_at, m.due
    from {s}.message m join {s}.application a on a.number = m.application
    where m.sequence > (args->>'after')::bigint
    order by m.sequence limit (args->>'limit')::bigint
$$;

-- Items of one kind as rows, in the order of the array, with the numbers of their applications.
create function {s}.item_rows(items json, wanted text)
returns table (owner bigint, place bigint, state json, not_before bigint, message_id text,
  format smallint, start integer, length integer, date_at integer, count_at integer,
  size_bytes bigint, sends integer, max_messages bigint, progress text, accepted_at bigint,
  due bigint, reason text, last_attempt text, died_at bigint) language sql stable {plans} as $$
  select a.number, e.place, e.item->'state', j."pausedUntil", j."messageId", j.format, j.start,
      j.length, j."dateAt", j."countAt", j."sizeBytes", j.sends, j."maxMessages", j.progress,
      j."acceptedAt", j."dueAt", j.reason, j."lastAttempt", j."diedAt"
    from json_array_elements(items) with ordinality e(item, place)
    join {s}.application a on a.id = e.item->>'application'
    cross join lateral json_to_record(e.item) j("pausedUntil" bigint, "messageId" text,
      format smallint, start integer, length integer, "dateAt" integer, "countAt" integer,
      "sizeBytes" bigint, sends integer, "maxMessages" bigint, progress text, "acceptedAt" bigint,
      "dueAt" bigint, reason text, "lastAttempt" text, "diedAt" bigint)
    where e.item->>'kind' = wanted
$$;

-- Stores the items whose key is new, all or none. Returns their number, or the bound that they would
-- have passed.
create function {s}.import_items(args json, contents bytea) returns json language plpgsql {plans} as $$
#variable_conflict use_column
declare
  items json;
  now_ms bigint;
  used record;
  more record;
begin
  lock table {s}.enqueue_lock in row share mode;
  now_ms := floor({s}.now_exact());
  select coalesce(json_agg(e.item order by e.place), '[]') into items
    from json_array_elements(args->'items') with ordinality e(item, place)
    where not exists (select from {s}.imported i where i.key = e.item->>'key');
  select count(*) as messages, coalesce(sum((e.item->>'sizeBytes')::bigint), 0) as bytes into more
    from json_array_elements(items) e(item) where e.item->>'kind' = 'message';
  used := {s}.pending_now();
  if more.messages > 0 and used.messages + more.messages > (args->>'maxPendingMessages')::bigint then
    return json_build_object('full', 'maxPendingMessages', 'messages', more.messages, 'bytes', more.bytes);
  elsif more.messages > 0 and used.bytes + more.bytes > (args->>'maxPendingBytes')::bigint then
    return json_build_object('full', 'maxPendingBytes', 'messages', more.messages, 'bytes', more.bytes);
  end if;
  insert into {s}.imported select e.item->>'key' from json_array_elements(items) e(item);
  insert into {s}.application (id, tier, max_messages, max_bytes, circuit_breaker)
    select i.id, s.* from (select distinct e.item->>'application' as id
        from json_array_elements(items) e(item)) i, {s}.state_of(args->'initialState') s
      where not exists (select from {s}.application a where a.id = i.id)
      order by i.id
    on conflict do nothing;
  update {s}.application a set tier = s.tier, max_messages = s.max_messages,
      max_bytes = s.max_bytes, circuit_breaker = s.circuit_breaker, not_before = i.not_before
    from (select distinct on (r.owner) r.owner, r.state, r.not_before
        from {s}.item_rows(items, 'application') r order by r.owner, r.place desc) i
      cross join lateral {s}.state_of(i.state) s
    where a.number = i.owner;
  with stored as (
    insert into {s}.message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, max_messages, progress, content)
      select r.owner, r.due, nextval('{s}.turn_number'), r.accepted_at, r.size_bytes, r.sends,
          r.date_at, r.count_at, r.format, r.message_id, r.max_messages, r.progress,
          substring(contents from r.start + 1 for r.length)
        from (select * from {s}.item_rows(items, 'message') order by place) r
      returning application, due, sequence, size_bytes
  )
  insert into {s}.counter_delta (application, accepted, pending, pending_bytes, first_due, at)
    select application, count(*), count(*), sum(size_bytes), min(due), now_ms
      from stored group by application order by min(sequence);
  with stored as (
    insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends, date_at,
        count_at, format, message_id, reason, last_attempt, content)
      select r.owner, r.accepted_at, r.died_at, r.size_bytes, r.sends, r.date_at, r.count_at,
          r.format, r.message_id, r.reason, r.last_attempt,
          substring(contents from r.start + 1 for r.length)
        from (select * from {s}.item_rows(items, 'dead-letter') order by place) r
      returning application
  )
  insert into {s}.counter_delta (application, accepted, dead)
    select application, count(*), count(*) from stored group by application;
  return json_build_object('imported', json_array_length(items));
end $$;
