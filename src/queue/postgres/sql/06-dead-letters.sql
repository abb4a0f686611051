-- The ids of a page of dead letters: of all, of an application, or of those in `ids`. They are greater than `after`
-- and at most `upTo`.
create function {s}.dead_letter_page(args json) returns bigint[] language plpgsql stable as $$
declare
  wanted bigint[] := {s}.numbers(args->'ids');
  owner_number bigint := (select a.number from {s}.application a where a.id = args->>'application');
  is_owned boolean := args->>'application' is not null;
  after_id bigint := coalesce((args->>'after')::bigint, 0);
  last_id bigint := coalesce((args->>'upTo')::bigint, 9e18);
  most bigint := args->>'limit';
begin
  -- Only one of the three runs. Each uses another index.
  return array(
    (select d.id from {s}.dead_letter d
      where d.id = any (wanted) and d.id > after_id and d.id <= last_id
        and (not is_owned or d.application = owner_number)
      order by d.id limit most)
    union all
    (select d.id from {s}.dead_letter d
      where wanted is null and d.application = owner_number and d.id > after_id and d.id <= last_id
      order by d.id limit most)
    union all
    (select d.id from {s}.dead_letter d
      where wanted is null and not is_owned and d.id > after_id and d.id <= last_id
      order by d.id limit most));
end $$;

-- The answer for one page of a purge or replay: how many letters it changed, and the arguments of the next page or
-- null. Does not include letters that are added after the first page.
create function {s}.dead_letter_answer(args json, page bigint[], handled bigint) returns json
language sql volatile as $$
  select json_build_object('count', handled, 'next',
    case when cardinality(page) = (args->>'limit')::bigint then json_build_object(
      'after', page[cardinality(page)],
      'upTo', coalesce((args->>'upTo')::bigint, (select last_value from {s}.turn_number))) end)
$$;

create function {s}.dead_letters(args json)
returns table (id bigint, "applicationId" text, "messageId" text, format smallint, content text,
  "dateAt" integer, "countAt" integer, "sizeBytes" bigint,
  sends integer, reason text, "lastAttempt" json, "acceptedAt" bigint, "diedAt" bigint)
language sql stable {plans} as $$
  select d.id, a.id, d.message_id, d.format, encode(d.content, 'base64'), d.date_at, d.count_at,
      d.size_bytes, d.sends, d.reason, d.last_attempt::json, d.accepted_at, d.died_at
    from {s}.dead_letter d join {s}.application a on a.number = d.application
    where d.id = any ({s}.dead_letter_page(args)) order by d.id
$$;

-- Discards a page of dead letters.
create function {s}.purge_dead_letters(args json) returns json language plpgsql {plans} as $$
declare
  page bigint[] := {s}.dead_letter_page(args);
  purged bigint;
begin
  with gone as (
    delete from {s}.dead_letter d where d.id = any (page) returning d.application
  ), counted as (
    insert into {s}.counter_delta (application, dead, purged)
      select g.application, -count(*), count(*) from gone g group by g.application
  )
  select count(*) into purged from gone;
  return {s}.dead_letter_answer(args, page, purged);
end $$;

-- Makes a page of dead letters due again: the oldest of open applications, as many as the bounds allow.
create function {s}.replay_dead_letters(args json) returns json language plpgsql {plans} as $$
#variable_conflict use_variable
declare
  page bigint[];
  now_ms bigint;
  used record;
  replayed bigint;
begin
  page := {s}.dead_letter_page(args);
  now_ms := floor({s}.now_exact());
  used := {s}.pending_now();
  with fitting as (
    select o.id from (
      select d.id, row_number() over oldest as messages, sum(d.size_bytes) over oldest as bytes
        from {s}.dead_letter d join {s}.application a on a.number = d.application
        where d.id = any (page) and a.health <> 'closed'
          and d.size_bytes + used.bytes <= (args->>'maxPendingBytes')::bigint
        window oldest as (order by d.id rows unbounded preceding)) o
      where o.messages + used.messages <= (args->>'maxPendingMessages')::bigint
        and o.bytes + used.bytes <= (args->>'maxPendingBytes')::bigint
  ), gone as (
    -- An array, so that rows are locked in the order of their ids.
    delete from {s}.dead_letter d where d.id = any (array(select id from fitting order by id))
      returning d.*
  ), stored as (
    insert into {s}.message (application, due, sequence, accepted_at, size_bytes, sends,
        date_at, count_at, format, message_id, content)
      select application, now_ms, nextval('{s}.turn_number'), now_ms, size_bytes, sends,
          date_at, count_at, format, message_id, content
        from (select * from gone order by id) g
  ), counted as (
    insert into {s}.counter_delta (application, pending, pending_bytes, dead, first_due, at)
      select g.application, count(*), sum(g.size_bytes), -count(*), now_ms, now_ms
        from gone g group by g.application order by min(g.id)
  )
  select count(*) into replayed from gone;
  return {s}.dead_letter_answer(args, page, replayed);
end $$;
