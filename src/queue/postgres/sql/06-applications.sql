-- Makes dead letters of at most `limit` unclaimed messages: of the closed application `number`, or of those
-- that were accepted more than `olderThanMs` ago.
create function {s}.expire(args json)
returns table (application text, message_id text, sequence bigint) language plpgsql {plans} as $$
#variable_conflict use_column
declare
  now_ms bigint := floor({s}.now_exact());
  too_old bigint := {s}.time_before(now_ms, (args->>'olderThanMs')::double precision);
  closed_number bigint := args->>'number';
  owners bigint[];
  dues bigint[];
  sequences bigint[];
begin
  -- One of the two finds nothing: its argument is null.
  select array_agg(o.application), array_agg(o.due), array_agg(o.sequence)
    into owners, dues, sequences
    from (
      (select m.application, m.due, m.sequence from {s}.message m
        join {s}.application a on a.number = m.application
        where m.accepted_at < too_old
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.accepted_at limit (args->>'limit')::bigint)
      union all
      (select m.application, m.due, m.sequence from {s}.message m
        join {s}.application a on a.number = m.application
        where m.application = closed_number
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.due, m.sequence limit (args->>'limit')::bigint)) o;
  -- Sorted, so that two transactions that lock the same applications cannot deadlock.
  perform {s}.lock_application(o.number) from (
    select distinct u.number from unnest(owners) u(number) order by u.number) o;
  return query
    with gone as (
      delete from {s}.message m
        using unnest(owners, dues, sequences) k(application, due, sequence), {s}.application a
        where m.application = k.application and m.due = k.due and m.sequence = k.sequence
          and a.number = k.application
          and (a.claim is null or m.sequence <> all (a.claim_sequences))
        returning m.*
    ), dead as (
      insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
          date_at, count_at, format, message_id, reason, last_attempt, content)
        select g.application, g.accepted_at, now_ms, g.size_bytes, g.sends,
            g.date_at, g.count_at, g.format, g.message_id,
            case when closed_number is null then 'horizon-passed' else 'destination-closed' end,
            'null', g.content
          from (select * from gone order by due, sequence) g
    ), counted as (
      insert into {s}.counter_delta (application, pending, pending_bytes, dead)
        select g.application, -count(*), -sum(g.size_bytes), count(*)
          from gone g group by g.application
    )
    select a.id, g.message_id, g.sequence
      from gone g join {s}.application a on a.number = g.application;
  update {s}.application a set first_due = (
      select m.due from {s}.message m
        where m.application = a.number and m.due >= least(a.first_due, k.due)
          and (a.claim is null or m.sequence <> all (a.claim_sequences))
        order by m.due, m.sequence limit 1)
    from (
      select u.application, min(u.due) as due from unnest(owners, dues) u(application, due)
        group by u.application) k
    where a.number = k.application;
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

create function {s}.reopen_application(args json) returns void language plpgsql {path} as $$
#variable_conflict use_column
declare
  app {s}.application;
begin
  update {s}.application a set tier = s.tier, max_messages = s.max_messages,
      max_bytes = s.max_bytes, circuit_breaker = s.circuit_breaker, not_before = 0
    from {s}.state_of(args->'initialState') s
    where a.id = args->>'id' and a.tier <> 'healthy' returning a.* into app;
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
