-- Makes dead letters of at most `limit` unclaimed messages: those of the application `closed` if it is closed, or
-- those that were accepted more than `olderThanMs` ago.
create function {s}.dead_letter_unclaimed(args json)
returns table ("applicationId" text, "messageId" text, sequence bigint)
language plpgsql {plans} as $$
#variable_conflict use_column
declare
  now_ms bigint := floor({s}.now_exact());
  too_old bigint := {s}.time_before(now_ms, (args->>'olderThanMs')::double precision);
  closed_number bigint := (select number from {s}.application where id = args->>'closed');
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
        where m.application = closed_number and a.health = 'closed'
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
          -- The application may have been reopened before it was locked.
          and (closed_number is null or a.health = 'closed')
        returning m.*
    ), dead as (
      insert into {s}.dead_letter (application, accepted_at, died_at, size_bytes, sends,
          date_at, count_at, format, message_id, reason, last_attempt, content)
        select g.application, {s}.server_time(g.accepted_at), {s}.server_time(now_ms), g.size_bytes, g.sends,
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
  with delta as (
    select d.application, min(d.first_due) as due from {s}.counter_delta d
      where d.application = any (owners) group by d.application
  ), forgotten as (
    -- Otherwise a later flush would restore the due time of a message that no longer waits.
    update {s}.counter_delta d set first_due = null
      where d.application = any (owners) and d.first_due is not null
  )
  update {s}.application a set first_due = (
      select m.due from {s}.message m
        where m.application = a.number and m.due >= least(a.first_due, k.due, d.due)
          and (a.claim is null or m.sequence <> all (a.claim_sequences))
        order by m.due, m.sequence limit 1)
    from (
      select u.application, min(u.due) as due from unnest(owners, dues) u(application, due)
        group by u.application) k
      left join delta d on d.application = k.application
    where a.number = k.application;
end $$;

create function {s}.reopen_application(args json) returns void language plpgsql {path} as $$
#variable_conflict use_column
declare
  app {s}.application;
begin
  update {s}.application a set health = s.health, max_messages = s.max_messages,
      max_bytes = s.max_bytes, not_before = 0
    from {s}.state_of(args->'initialState') s
    where a.id = args->>'id' and a.health <> 'healthy' returning a.* into app;
  if found then
    perform {s}.end_delays(app, floor({s}.now_exact())::bigint);
  end if;
end $$;

-- Returns null for an unknown application.
create function {s}.application_state(args json) returns json language sql stable {path} as $$
  select json_build_object('health', a.health, 'maxMessages', a.max_messages, 'maxBytes', a.max_bytes,
      'circuitBreaker', a.circuit_breaker)
    from {s}.application a where a.id = args->>'id'
$$;

-- One row for each application: its counters, and for how long a message has been claimable.
create function {s}.stats(args json default null)
returns table (id text, health text, accepted bigint, delivered bigint, pending bigint,
  pending_bytes bigint, dead bigint, purged bigint, waiting_ms bigint)
language sql volatile {plans} as $$
  with delta as (
    select application, sum(accepted) as accepted, sum(pending) as pending,
        sum(pending_bytes) as pending_bytes, sum(dead) as dead, sum(purged) as purged,
        min(first_due) as first_due
      from {s}.counter_delta group by application
  ), at as (
    select floor({s}.now_exact())::bigint as now_ms
  )
  select a.id, a.health, (a.accepted + coalesce(d.accepted, 0))::bigint, a.delivered,
      (a.pending + coalesce(d.pending, 0))::bigint,
      (a.pending_bytes + coalesce(d.pending_bytes, 0))::bigint,
      (a.dead + coalesce(d.dead, 0))::bigint, (a.purged + coalesce(d.purged, 0))::bigint,
      case when a.health <> 'closed' and (a.claim is null or a.lease_end <= at.now_ms) then (
        -- Not `first_due` itself, which can be that of a message that no longer waits.
        select at.now_ms - greatest(a.not_before, m.due) from {s}.message m
          where m.application = a.number
            and m.due >= least(a.first_due, d.first_due, a.claim_dues[1])
          order by m.due, m.sequence limit 1) end
    from {s}.application a left join delta d on d.application = a.number cross join at
$$;

-- Counts the messages with sequences in the ranges that wait or are claimed.
create function {s}.count_pending(args json) returns bigint language sql stable {plans} as $$
  select coalesce(sum(c.messages), 0)::bigint
    from unnest({s}.numbers(args->'froms'), {s}.numbers(args->'tos')) r(first, last)
    cross join lateral (
      select count(*) as messages from {s}.message m where m.sequence between r.first and r.last) c
$$;

-- Counts the messages when the queue is opened, in one snapshot. Claimed messages count as due.
create function {s}.backlog(args json) returns json language plpgsql {plans} as $$
declare
  now_ms bigint := floor({s}.now_exact());
begin
  return (
    select json_build_object('pendingMessages', p.messages, 'dueMessages', p.messages - l.messages,
        'lastSequence', (select coalesce(max(m.sequence), 0) from {s}.message m))
      from {s}.pending_now() p
      cross join (
        select coalesce(sum(c.messages), 0) as messages
          from {s}.application a cross join lateral (
            select count(*) as messages from {s}.message m
              where m.application = a.number and m.due > now_ms) c) l);
end $$;

create function {s}.pending_messages(args json) returns bigint language sql volatile {path} as $$
  select p.messages from {s}.pending_now() p
$$;
