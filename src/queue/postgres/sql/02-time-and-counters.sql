-- The only function that reads the server's clock. Milliseconds, with fractions.
create function {s}.clock_ms() returns double precision language sql volatile as $$
  select extract(epoch from clock_timestamp())::double precision * 1000
$$;

-- The queue's time in milliseconds, with fractions.
create function {s}.now_exact() returns double precision language plpgsql volatile as $$
begin
  return {s}.clock_ms() + (select c.offset_ms from {s}.clock c);
end $$;

-- The server's time, of dead letters and exported items, at a time of the queue.
create function {s}.server_time(queue_ms bigint) returns bigint language sql stable as $$
  select floor(queue_ms - c.offset_ms)::bigint from {s}.clock c
$$;

-- The queue's time at a time of the server.
create function {s}.queue_time(server_ms bigint) returns bigint language sql stable as $$
  select floor(server_ms + c.offset_ms)::bigint from {s}.clock c
$$;

-- Keeps the queue's time from going back with the clock, as can happen in a failover: messages that are due would
-- wait for as long as the clock went back. Returns whether the clock had gone back.
create function {s}.keep_time() returns boolean language plpgsql {path} as $$
declare
  machine_ms double precision := {s}.clock_ms();
  step_ms double precision := (select machine_ms + c.offset_ms - c.last_ms from {s}.clock c);
begin
  if abs(step_ms) < 1000 then
    return false;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  update {s}.clock c set last_ms = machine_ms + c.offset_ms
    where c.last_ms < machine_ms + c.offset_ms;
  update {s}.clock c set offset_ms = c.last_ms - machine_ms
    where c.last_ms > machine_ms + c.offset_ms + 1000;
  return step_ms < 0;
end $$;

-- The time in `ms` milliseconds, rounded up: nothing is due too early. 1e18 means never.
create function {s}.time_after(now_exact double precision, ms double precision) returns bigint
language sql immutable as $$
  select (case when ms > 0 then ceil(least(now_exact + ms, 1e18)) else floor(now_exact) end)::bigint
$$;

-- The time `ms` milliseconds ago, as a whole number: for a fraction, the index would not be used.
create function {s}.time_before(now_ms bigint, ms double precision) returns bigint
language sql immutable as $$
  select ceil(greatest(now_ms - ms, -1e18))::bigint
$$;

-- The numbers of a JSON array. PostgreSQL's text of an array differs only in the brackets.
create function {s}.numbers(list json) returns bigint[] language sql immutable as $$
  select translate(list::text, '[]', '{}')::bigint[]
$$;

create function {s}.texts(list json) returns text[] language sql immutable as $$
  select array(select json_array_elements_text(list))
$$;

-- The state of an application as columns.
create function {s}.state_of(
  state json, out health text, out max_messages bigint, out max_bytes bigint, out circuit_breaker text
) language sql immutable as $$
  select state->>'health', (state->>'maxMessages')::bigint, (state->>'maxBytes')::bigint,
    state->>'circuitBreaker'
$$;

-- The number and bytes of pending messages, including the counter deltas.
create function {s}.pending_now(out messages bigint, out bytes bigint) language sql stable {path} as $$
  select sum(u.messages), sum(u.bytes) from (
    select t.messages, t.bytes from {s}.pending_total t
    union all select d.pending, d.pending_bytes from {s}.counter_delta d) u
$$;

-- The bound that these additional messages would pass, as JSON; null if they fit.
create function {s}.overflow(
  most_messages bigint, most_bytes bigint, more_messages bigint, more_bytes bigint
) returns json language sql stable {path} as $$
  select json_build_object('messages', more_messages, 'bytes', more_bytes, 'full',
      case when p.messages + more_messages > most_messages then 'maxPendingMessages'
        else 'maxPendingBytes' end)
    from {s}.pending_now() p
    where more_messages > 0
      and (p.messages + more_messages > most_messages or p.bytes + more_bytes > most_bytes)
$$;

-- Must come last in a transaction: others wait for this lock.
create function {s}.add_pending(more_messages bigint, more_bytes bigint) returns void
language plpgsql as $$
begin
  if more_messages <> 0 or more_bytes <> 0 then
    update {s}.pending_total set messages = messages + more_messages, bytes = bytes + more_bytes
      where shard = pg_backend_pid() % 64;
  end if;
end $$;

-- Makes delayed messages due at `at_ms` if the waiting messages fill a claim. The caller has locked the
-- application. Messages that were sent before keep their time.
create function {s}.end_delays(app {s}.application, at_ms bigint) returns {s}.application
language plpgsql {plans} as $$
declare
  changed {s}.application;
begin
  if app.delayed_until <= at_ms
    or app.pending - coalesce(cardinality(app.claim_sequences), 0) < app.max_messages then
    return app;
  end if;
  update {s}.message m set due = greatest(at_ms, m.accepted_at)
    where m.application = app.number and m.due > at_ms and m.due <= app.delayed_until
      and m.sends = 0 and (app.claim is null or m.sequence <> all (app.claim_sequences));
  update {s}.application a set
      delayed_until = 0,
      first_due = case when found then least(a.first_due, at_ms) else a.first_due end
    where a.number = app.number returning * into changed;
  return changed;
end $$;

-- Locks an application. Ends its claim if the lease has expired: the messages count as sent.
create function {s}.lock_application(wanted_number bigint) returns {s}.application language plpgsql as $$
declare
  app {s}.application;
  expired_at bigint;
begin
  select * into app from {s}.application where number = wanted_number for no key update;
  if app.lease_end <= {s}.now_exact() then
    expired_at := app.lease_end;
    update {s}.message m set sends = m.sends + 1
      from unnest(app.claim_dues, app.claim_sequences) c(due, sequence)
      where m.application = wanted_number and m.due = c.due and m.sequence = c.sequence;
    update {s}.application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        first_due = least(a.first_due, app.claim_dues[1])
      where a.number = wanted_number returning * into app;
    app := {s}.end_delays(app, expired_at);
  end if;
  return app;
end $$;

-- Adds counter deltas to the rows of their applications, except locked ones, and notifies other processes.
--
-- Does not wait for the disk: after a crash of the server the deltas are there again. A transaction of its own,
-- also because NOTIFY lets only one transaction commit at a time.
create function {s}.flush_counters(args json) returns void language plpgsql {plans} as $$
declare
  locked bigint[];
  delayed_numbers bigint[];
  delayed_ats bigint[];
  more_messages bigint;
  more_bytes bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  lock table {s}.flush_lock in share update exclusive mode;
  perform {s}.keep_time();
  select array_agg(number) into locked from (
    select a.number from {s}.application a
      where a.number = any (array(
        select d.application from {s}.counter_delta d order by d.sequence limit 10000))
      order by a.number for no key update skip locked) a;
  if locked is not null then
    with taken as (
      delete from {s}.counter_delta d where d.application = any (locked) returning d.*
    ), total as (
      select application, min(sequence) as turn, min(first_due) as first_due,
          sum(accepted) as accepted, sum(pending) as pending, sum(pending_bytes) as pending_bytes,
          sum(dead) as dead, sum(purged) as purged, max(at) as at,
          max(delayed_until) as delayed_until
        from taken group by application
    ), added as (
      update {s}.application a set
          turn = case when a.ready_at is null then t.turn else a.turn end,
          first_due = least(a.first_due, t.first_due),
          accepted = a.accepted + t.accepted, pending = a.pending + t.pending,
          pending_bytes = a.pending_bytes + t.pending_bytes, dead = a.dead + t.dead,
          purged = a.purged + t.purged,
          delayed_until = greatest(a.delayed_until, t.delayed_until)
        from total t where a.number = t.application
        returning a.number, t.at, a.delayed_until
    ), delayed as (
      select array_agg(number) as numbers, array_agg(at) as ats
        from added where delayed_until > at
    )
    select d.numbers, d.ats, t.pending, t.pending_bytes
      into delayed_numbers, delayed_ats, more_messages, more_bytes
      from delayed d, (
        select coalesce(sum(pending), 0)::bigint as pending,
            coalesce(sum(pending_bytes), 0)::bigint as pending_bytes
          from total) t;
    perform {s}.end_delays(a, d.at)
      from unnest(delayed_numbers, delayed_ats) d(number, at)
      join {s}.application a on a.number = d.number;
    perform {s}.add_pending(more_messages, more_bytes);
  end if;
  if args->>'channel' is not null then
    perform pg_notify(args->>'channel', args->>'caller');
  end if;
end $$;
