-- Makes dead letters of unclaimed messages of an application that the caller has locked.
create function {s}.move_to_dead_letters(
  app {s}.application, dues bigint[], sequences bigint[], why text, now_ms bigint
) returns table (application text, message_id text, sequence bigint) language plpgsql as $$
#variable_conflict use_column
begin
  return query
    with gone as (
      delete from {s}.message m using unnest(dues, sequences) k(due, sequence)
        where m.application = app.number and m.due = k.due and m.sequence = k.sequence
          and (app.claim is null or m.sequence <> all (app.claim_sequences))
        returning m.*
    ), dead as (
      insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
          date_at, count_at, format, message_id, reason, last_attempt, content)
        select g.application, g.accepted_at, now_ms, g.size_bytes, g.sends,
            g.date_at, g.count_at, g.format, g.message_id, why, 'null', g.content
          from (select * from gone order by due, sequence) g
    ), total as (
      select count(*) as messages, coalesce(sum(size_bytes), 0)::bigint as bytes from gone
    ), counted as (
      update {s}.application a set
          pending = a.pending - t.messages, pending_bytes = a.pending_bytes - t.bytes,
          dead = a.dead + t.messages
        from total t where a.number = app.number
    ), pending as (
      update {s}.pending_total p set messages = p.messages - t.messages, bytes = p.bytes - t.bytes
        from total t where p.shard = pg_backend_pid() % 64
    )
    select app.id, g.message_id, g.sequence from gone g;
  update {s}.application a set first_due = (
      select m.due from {s}.message m
        where m.application = app.number
          and m.due >= least(app.first_due, dues[1])
          and (app.claim is null or m.sequence <> all (app.claim_sequences))
        order by m.due, m.sequence limit 1)
    where a.number = app.number;
end $$;

-- Makes dead letters of at most `limit` unclaimed messages that were accepted more than `olderThanMs` ago.
create function {s}.expire(args json)
returns table (application text, message_id text, sequence bigint) language plpgsql {plans} as $$
#variable_conflict use_column
declare
  now_ms bigint := floor({s}.now_exact());
  too_old bigint := {s}.time_before(now_ms, (args->>'olderThanMs')::double precision);
  owners bigint[];
  dues bigint[];
  sequences bigint[];
  page record;
begin
  select array_agg(o.application), array_agg(o.due), array_agg(o.sequence)
    into owners, dues, sequences
    from (
      select m.application, m.due, m.sequence from {s}.message m
        join {s}.application a on a.number = m.application
        where m.accepted_at < too_old
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.accepted_at limit (args->>'limit')::bigint) o;
  -- Sorted, and all before `pending_total` is changed, which is locked last.
  perform {s}.lock_application(o.number) from (
    select distinct u.number from unnest(owners) u(number) order by u.number) o;
  for page in
    select k.application, array_agg(k.due order by k.due) as dues,
        array_agg(k.sequence order by k.due) as sequences
      from unnest(owners, dues, sequences) k(application, due, sequence) group by k.application
  loop
    return query select d.* from {s}.move_to_dead_letters(
      {s}.lock_application(page.application), page.dues, page.sequences, 'horizon-passed', now_ms) d;
  end loop;
end $$;

-- Closes an application, and returns its number. Enqueues that are under way end first.
create function {s}.close_application(args json) returns bigint language plpgsql {path} as $$
declare
  found_number bigint;
begin
  lock table {s}.enqueue_lock in exclusive mode;
  insert into {s}.application (id, tier, max_messages, max_bytes, circuit_breaker)
    select args->>'id', 'closed', s.max_messages, s.max_bytes, s.circuit_breaker
      from {s}.state_of(args->'initialState') s
    on conflict (id) do update set tier = 'closed'
    returning number into found_number;
  return found_number;
end $$;

-- Makes dead letters of at most `limit` unclaimed messages of a closed application.
create function {s}.expire_closed(args json)
returns table (application text, message_id text, sequence bigint) language plpgsql
{plans} as $$
#variable_conflict use_column
declare
  app {s}.application;
  page record;
begin
  app := {s}.lock_application((args->>'number')::bigint);
  select array_agg(m.due) as dues, array_agg(m.sequence) as sequences into page
    from (
      select due, sequence from {s}.message
        where application = app.number
          and (app.claim is null or sequence <> all (app.claim_sequences))
        order by due, sequence limit (args->>'limit')::bigint) m;
  if page.dues is not null then
    return query select d.* from {s}.move_to_dead_letters(
      app, page.dues, page.sequences, 'destination-closed', floor({s}.now_exact())::bigint) d;
  end if;
end $$;

create function {s}.reopen_application(args json) returns void language plpgsql {path} as $$
#variable_conflict use_column
declare
  app {s}.application;
begin
  update {s}.application a set tier = s.tier, max_messages = s.max_messages,
      max_bytes = s.max_bytes, circuit_breaker = s.circuit_breaker, not_before = 0
    from {s}.state_of(args->'initialState') s
    where a.id = args->>'id' returning a.* into app;
  if found then
    perform {s}.end_delays(app, floor({s}.now_exact())::bigint);
  end if;
end $$;

-- Returns null for an application that is not known.
create function {s}.application_state(args json) returns json language sql stable {path} as $$
  select json_build_object('tier', a.tier, 'maxMessages', a.max_messages, 'maxBytes', a.max_bytes,
      'circuitBreaker', a.circuit_breaker)
    from {s}.application a where a.id = args->>'id'
$$;
