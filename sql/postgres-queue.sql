-- What security-event-delivery/queue/postgres needs in a database, version 1. Run it once, for instance with
-- psql -v ON_ERROR_STOP=1 -f <this file>. Written by `npm run docs`; createPostgresSchema does the same.
begin;

create schema "security_events";

-- Numbers messages, dead letters, counter deltas and turns, in ascending order.
create sequence "security_events".turn_number cache 1;

-- One row for each application: what can be claimed, the live claim, and the counters.
-- Times are the queue's (see `clock`), in milliseconds since the epoch. Ids have the escapes of JSON strings.
create table "security_events".application (
  number bigint generated always as identity primary key,
  id text not null unique,
  health text not null,
  max_messages bigint not null,
  max_bytes bigint not null,
  circuit_breaker text not null,
  not_before bigint not null default 0,
  -- When the last claim ended: applications that have waited longer go first.
  served_at bigint not null default 0,
  turn bigint not null default 0,
  -- The live claim and its messages, each of which was sent once more than its row says.
  claim bigint,
  lease_end bigint,
  claim_dues bigint[],
  claim_sequences bigint[],
  -- No unclaimed message is due earlier.
  first_due bigint,
  -- After this time no message waits for the end of a delay.
  delayed_until bigint not null default 0,
  pending bigint not null default 0,
  pending_bytes bigint not null default 0,
  accepted bigint not null default 0,
  delivered bigint not null default 0,
  dead bigint not null default 0,
  purged bigint not null default 0,
  ready_at bigint generated always as (
    case
      when health = 'closed' then null
      when claim is not null then lease_end
      when first_due is null then null
      else greatest(first_due, not_before, served_at)
    end) stored
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Not compressed: that takes longer than writing them.
alter table "security_events".application alter claim_dues set storage external;

alter table "security_events".application alter claim_sequences set storage external;

create index application_ready on "security_events".application (health, ready_at, turn)
  where ready_at is not null;

create table "security_events".message (
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
  retry_state text,
  content bytea not null,
  primary key (application, due, sequence)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

create index message_accepted_at on "security_events".message (accepted_at);

create unique index message_sequence on "security_events".message (sequence);

create table "security_events".dead_letter (
  id bigint primary key default nextval('"security_events".turn_number'),
  application bigint not null,
  -- Both on the server's clock.
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

create index dead_letter_application on "security_events".dead_letter (application, id);

-- Counter deltas: changes of counters that are not in the application's row yet. An enqueue only inserts, so that
-- processes do not wait for each other's commits. Measured with four processes that enqueue for ten applications,
-- 3 ms a commit: 1.5 times as fast as with counters in the application's row, 2.9 times beside a dispatcher.
create table "security_events".counter_delta (
  sequence bigint primary key default nextval('"security_events".turn_number'),
  application bigint not null,
  accepted bigint not null default 0,
  pending bigint not null default 0,
  pending_bytes bigint not null default 0,
  dead bigint not null default 0,
  purged bigint not null default 0,
  first_due bigint,
  -- When the messages were accepted.
  at bigint,
  -- The end of their delay.
  delayed_until bigint
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create index counter_delta_application on "security_events".counter_delta (application);

-- The sum of these rows is what is pending in all applications, without the counter deltas. Each connection
-- changes the row that belongs to its process id.
create table "security_events".pending_total (
  shard integer primary key,
  messages bigint not null default 0,
  bytes bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

insert into "security_events".pending_total (shard) select generate_series(0, 63);

-- Has no rows. Its lock lets one transaction at a time flush counter deltas.
create table "security_events".flush_lock ();

-- The queue's time is the server's clock plus `offset_ms`, so that it never goes back.
create table "security_events".clock (
  offset_ms double precision not null default 0,
  -- The queue's time when `keep_time` last stored it.
  last_ms double precision not null default 0
) with (fillfactor = 20);

insert into "security_events".clock default values;

-- The only function that reads the server's clock. Milliseconds, with fractions.
create function "security_events".clock_ms() returns double precision language sql volatile as $$
  select extract(epoch from clock_timestamp())::double precision * 1000
$$;

-- The queue's time in milliseconds, with fractions.
create function "security_events".now_exact() returns double precision language plpgsql volatile as $$
begin
  return "security_events".clock_ms() + (select c.offset_ms from "security_events".clock c);
end $$;

-- The server's time, of dead letters and exported items, at a time of the queue.
create function "security_events".server_time(queue_ms bigint) returns bigint language sql stable as $$
  select floor(queue_ms - c.offset_ms)::bigint from "security_events".clock c
$$;

-- The queue's time at a time of the server.
create function "security_events".queue_time(server_ms bigint) returns bigint language sql stable as $$
  select floor(server_ms + c.offset_ms)::bigint from "security_events".clock c
$$;

-- Keeps the queue's time from going back with the clock, as can happen in a failover: messages that are due would
-- wait for as long as the clock went back. Returns whether the clock had gone back.
create function "security_events".keep_time() returns boolean language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  machine_ms double precision := "security_events".clock_ms();
  step_ms double precision := (select machine_ms + c.offset_ms - c.last_ms from "security_events".clock c);
begin
  if abs(step_ms) < 1000 then
    return false;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  update "security_events".clock c set last_ms = machine_ms + c.offset_ms
    where c.last_ms < machine_ms + c.offset_ms;
  update "security_events".clock c set offset_ms = c.last_ms - machine_ms
    where c.last_ms > machine_ms + c.offset_ms + 1000;
  return step_ms < 0;
end $$;

-- The time in `ms` milliseconds, rounded up: nothing is due too early. 1e18 means never.
create function "security_events".time_after(now_exact double precision, ms double precision) returns bigint
language sql immutable as $$
  select (case when ms > 0 then ceil(least(now_exact + ms, 1e18)) else floor(now_exact) end)::bigint
$$;

-- The time `ms` milliseconds ago, as a whole number: for a fraction, the index would not be used.
create function "security_events".time_before(now_ms bigint, ms double precision) returns bigint
language sql immutable as $$
  select ceil(greatest(now_ms - ms, -1e18))::bigint
$$;

-- The numbers of a JSON array. PostgreSQL's text of an array differs only in the brackets.
create function "security_events".numbers(list json) returns bigint[] language sql immutable as $$
  select translate(list::text, '[]', '{}')::bigint[]
$$;

create function "security_events".texts(list json) returns text[] language sql immutable as $$
  select array(select json_array_elements_text(list))
$$;

-- The state of an application as columns.
create function "security_events".state_of(
  state json, out health text, out max_messages bigint, out max_bytes bigint, out circuit_breaker text
) language sql immutable as $$
  select state->>'health', (state->>'maxMessages')::bigint, (state->>'maxBytes')::bigint,
    state->>'circuitBreaker'
$$;

-- The number and bytes of pending messages, including the counter deltas.
create function "security_events".pending_now(out messages bigint, out bytes bigint) language sql stable set search_path = pg_catalog, pg_temp as $$
  select sum(u.messages), sum(u.bytes) from (
    select t.messages, t.bytes from "security_events".pending_total t
    union all select d.pending, d.pending_bytes from "security_events".counter_delta d) u
$$;

-- The bound that these additional messages would pass, as JSON; null if they fit.
create function "security_events".overflow(
  most_messages bigint, most_bytes bigint, more_messages bigint, more_bytes bigint
) returns json language sql stable set search_path = pg_catalog, pg_temp as $$
  select json_build_object('messages', more_messages, 'bytes', more_bytes, 'full',
      case when p.messages + more_messages > most_messages then 'maxPendingMessages'
        else 'maxPendingBytes' end)
    from "security_events".pending_now() p
    where more_messages > 0
      and (p.messages + more_messages > most_messages or p.bytes + more_bytes > most_bytes)
$$;

-- Must come last in a transaction: others wait for this lock.
create function "security_events".add_pending(more_messages bigint, more_bytes bigint) returns void
language plpgsql as $$
begin
  if more_messages <> 0 or more_bytes <> 0 then
    update "security_events".pending_total set messages = messages + more_messages, bytes = bytes + more_bytes
      where shard = pg_backend_pid() % 64;
  end if;
end $$;

-- Makes delayed messages due at `at_ms` if the waiting messages fill a claim. The caller has locked the
-- application. Messages that were sent before keep their time.
create function "security_events".end_delays(app "security_events".application, at_ms bigint) returns "security_events".application
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  changed "security_events".application;
begin
  if app.delayed_until <= at_ms
    or app.pending - coalesce(cardinality(app.claim_sequences), 0) < app.max_messages then
    return app;
  end if;
  update "security_events".message m set due = greatest(at_ms, m.accepted_at)
    where m.application = app.number and m.due > at_ms and m.due <= app.delayed_until
      and m.sends = 0 and (app.claim is null or m.sequence <> all (app.claim_sequences));
  update "security_events".application a set
      delayed_until = 0,
      first_due = case when found then least(a.first_due, at_ms) else a.first_due end
    where a.number = app.number returning * into changed;
  return changed;
end $$;

-- Locks an application. Ends its claim if the lease has expired: the messages count as sent.
create function "security_events".lock_application(wanted_number bigint) returns "security_events".application language plpgsql as $$
declare
  app "security_events".application;
  expired_at bigint;
begin
  select * into app from "security_events".application where number = wanted_number for no key update;
  if app.lease_end <= "security_events".now_exact() then
    expired_at := app.lease_end;
    update "security_events".message m set sends = m.sends + 1
      from unnest(app.claim_dues, app.claim_sequences) c(due, sequence)
      where m.application = wanted_number and m.due = c.due and m.sequence = c.sequence;
    update "security_events".application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        first_due = least(a.first_due, app.claim_dues[1])
      where a.number = wanted_number returning * into app;
    app := "security_events".end_delays(app, expired_at);
  end if;
  return app;
end $$;

-- Adds counter deltas to the rows of their applications, except locked ones, and notifies other processes.
--
-- Does not wait for the disk: after a crash of the server the deltas are there again. A transaction of its own,
-- also because NOTIFY lets only one transaction commit at a time.
create function "security_events".flush_counters(args json) returns void language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  locked bigint[];
  delayed_numbers bigint[];
  delayed_ats bigint[];
  more_messages bigint;
  more_bytes bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  lock table "security_events".flush_lock in share update exclusive mode;
  perform "security_events".keep_time();
  select array_agg(number) into locked from (
    select a.number from "security_events".application a
      where a.number = any (array(
        select d.application from "security_events".counter_delta d order by d.sequence limit 10000))
      order by a.number for no key update skip locked) a;
  if locked is not null then
    with taken as (
      delete from "security_events".counter_delta d where d.application = any (locked) returning d.*
    ), total as (
      select application, min(sequence) as turn, min(first_due) as first_due,
          sum(accepted) as accepted, sum(pending) as pending, sum(pending_bytes) as pending_bytes,
          sum(dead) as dead, sum(purged) as purged, max(at) as at,
          max(delayed_until) as delayed_until
        from taken group by application
    ), added as (
      update "security_events".application a set
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
    perform "security_events".end_delays(a, d.at)
      from unnest(delayed_numbers, delayed_ats) d(number, at)
      join "security_events".application a on a.number = d.number;
    perform "security_events".add_pending(more_messages, more_bytes);
  end if;
  if args->>'channel' is not null then
    perform pg_notify(args->>'channel', args->>'caller');
  end if;
end $$;

-- Stores messages, all or none. Returns their sequences and the closed applications, or the bound that they would
-- have passed. `ids` has each application once; `owners` has the application of each message, as an index from 1.
create function "security_events".enqueue(args json, contents bytea) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  given record;
  ids text[];
  owners bigint[];
  sizes bigint[];
  open_numbers bigint[];
  closed text[];
  more_messages bigint;
  more_bytes bigint;
  answer json;
  now_exact double precision;
  now_ms bigint;
  later_ms bigint;
  undelayed bigint[] := '{}';
  sequences bigint[];
begin
  -- All in one query: each operator on `args` would parse all of it again.
  select * into given from json_to_record(args) j(
    ids json, owners json, sizes json, "messageIds" json, formats json, starts json, lengths json,
    "dateAts" json, "countAts" json, "delayMs" double precision, "initialState" json,
    "maxPendingMessages" bigint, "maxPendingBytes" bigint);
  ids := "security_events".texts(given.ids);
  owners := "security_events".numbers(given.owners);
  sizes := "security_events".numbers(given.sizes);
  now_exact := "security_events".now_exact();
  now_ms := floor(now_exact);
  later_ms := "security_events".time_after(now_exact, given."delayMs");
  -- Read once: the call ignores applications that are closed or reopened while it runs.
  select array_agg(a.id) into closed
    from unnest(ids) i(id) join "security_events".application a on a.id = i.id where a.health = 'closed';
  select count(*), coalesce(sum(e.size_bytes), 0) into more_messages, more_bytes
    from unnest(owners, sizes) e(owner, size_bytes)
    where closed is null or ids[e.owner] <> all (closed);
  answer := "security_events".overflow(
    given."maxPendingMessages", given."maxPendingBytes", more_messages, more_bytes);
  if answer is not null then
    return answer;
  end if;
  -- Sorted, so that two transactions that add the same applications cannot deadlock.
  insert into "security_events".application (id, health, max_messages, max_bytes, circuit_breaker)
    select i.id, s.*
      from unnest(ids) i(id), "security_events".state_of(given."initialState") s
      where not exists (select from "security_events".application a where a.id = i.id)
      order by i.id
    on conflict do nothing;
  -- In the order of `ids`; null for closed applications.
  open_numbers := array(
    select case when closed is null or a.id <> all (closed) then a.number end
      from unnest(ids) with ordinality i(id, place) join "security_events".application a on a.id = i.id
      order by i.place);
  if later_ms > now_ms then
    -- Applications that this call alone gives a full claim.
    undelayed := array(
      select a.number
        from (select o.owner, count(*) as messages from unnest(owners) o(owner) group by o.owner) c
          join "security_events".application a on a.number = open_numbers[c.owner]
        where c.messages >= a.max_messages);
  end if;
  with stored as (
    insert into "security_events".message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, content)
      select e.application, case when e.application = any (undelayed) then now_ms else later_ms end,
          nextval('"security_events".turn_number'), now_ms, e.size_bytes, 0, e.date_at, e.count_at, e.format,
          e.message_id, substring(contents from e.start + 1 for e.length)
        from (
          select open_numbers[e.owner] as application, e.*
            from unnest(owners, sizes, "security_events".texts(given."messageIds"), "security_events".numbers(given.formats),
                "security_events".numbers(given.starts)::integer[], "security_events".numbers(given.lengths)::integer[],
                "security_events".numbers(given."dateAts"), "security_events".numbers(given."countAts"))
              with ordinality e(owner, size_bytes, message_id, format, start, length, date_at,
                count_at, place)
            order by e.place) e
        where e.application is not null
      returning application, due, sequence, size_bytes
  ), counted as (
    insert into "security_events".counter_delta (application, accepted, pending, pending_bytes, first_due, at,
        delayed_until)
      select application, count(*), count(*), sum(size_bytes), min(due), now_ms, max(due)
        from stored group by application order by min(sequence)
  )
  select array_agg(s.sequence order by s.sequence) into sequences from stored s;
  return json_build_object('sequences', coalesce(sequences, '{}'), 'closed', coalesce(closed, '{}'),
    'fsync', current_setting('fsync'), 'commit', current_setting('synchronous_commit'),
    'standbys', current_setting('synchronous_standby_names'));
end $$;

-- Makes up to `count` claims, each for one request. `claimed_messages` returns their messages, in another
-- transaction: a dispatcher that stops while it reads them must not hold locks. If there are fewer claims,
-- `dueIn` is the time until a message can be claimed. `hasDeltas`: counter deltas can make that earlier.
create function "security_events".claim(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off
set lock_timeout = '500ms' as $$
#variable_conflict use_variable
declare
  of_health text[] := "security_events".texts(args->'ofHealth');
  has_deltas boolean := exists (select from "security_events".counter_delta);
  has_waited boolean := false;
  now_exact double precision;
  now_ms bigint;
  head record;
  first_number bigint;
  candidate bigint;
  due_in bigint;
  app "security_events".application;
  taken record;
  next_due bigint;
  claim_number bigint;
  claims json[] := '{}';
begin
  while cardinality(claims) < (args->>'count')::integer loop
    now_exact := "security_events".now_exact();
    now_ms := floor(now_exact);
    first_number := null;
    due_in := null;
    candidate := null;
    -- Begins with the health of the application whose turn it is, and locks its first application that nobody else
    -- has locked.
    for head in
      select t.health, h.number, h.ready_at from unnest(of_health) t(health) cross join lateral (
          select a.number, a.ready_at, a.turn from "security_events".application a
            where a.health = t.health and a.ready_at is not null order by a.ready_at, a.turn limit 1) h
        order by h.ready_at, h.turn
    loop
      first_number := coalesce(first_number, head.number);
      due_in := coalesce(due_in, head.ready_at - now_ms);
      exit when head.ready_at > now_ms;
      select a.number into candidate from "security_events".application a
        where a.health = head.health and a.ready_at <= now_ms
        order by a.ready_at, a.turn limit 1 for no key update skip locked;
      exit when candidate is not null;
    end loop;
    if candidate is null then
      -- Does not wait for a lock while it has claims, which others may wait for.
      exit when has_waited or due_in is null or due_in > 0 or cardinality(claims) > 0;
      -- Other transactions have locked all ready applications, but may end soon.
      has_waited := true;
      candidate := first_number;
    end if;
    app := "security_events".lock_application(candidate);
    continue when app.claim is not null or app.ready_at is null or app.ready_at > now_ms
      or app.health <> all (of_health);
    taken := "security_events".next_messages(app, least((args->>'maxMessages')::bigint, app.max_messages),
      least((args->>'maxBytes')::bigint, app.max_bytes), now_ms);
    if taken.dues is null then
      -- Its first message no longer waits, or was claimed before its counter delta was added.
      update "security_events".application a set first_due = (
          select m.due from "security_events".message m where m.application = candidate
            order by m.due, m.sequence limit 1)
        where a.number = candidate;
      continue;
    end if;
    select m.due into next_due from "security_events".message m
      where m.application = candidate and (m.due, m.sequence) >
        (taken.dues[cardinality(taken.dues)], taken.sequences[cardinality(taken.dues)])
      order by m.due, m.sequence limit 1;
    -- Not from a sequence: after a failover that lost transactions, a number could be used again.
    claim_number := floor(random() * 9e15);
    update "security_events".application a set
        claim = claim_number, lease_end = "security_events".time_after(now_exact, (args->>'leaseMs')::double precision),
        first_due = next_due, claim_dues = taken.dues, claim_sequences = taken.sequences
      where a.number = candidate;
    claims := array_append(claims, json_build_object('number', candidate, 'claim', claim_number,
      'application', app.id, 'health', app.health, 'maxMessages', app.max_messages,
      'maxBytes', app.max_bytes, 'circuitBreaker', app.circuit_breaker, 'nowMs', now_ms));
  end loop;
  if cardinality(claims) = 0 and "security_events".keep_time() then
    due_in := 0;
  end if;
  return json_build_object('claims', claims, 'dueIn', due_in, 'hasDeltas', has_deltas);
end $$;

-- Selects the messages of a claim: the first due ones that fit all limits.
create function "security_events".next_messages(
  app "security_events".application, most_messages bigint, most_bytes bigint, now_ms bigint,
  out dues bigint[], out sequences bigint[]
) language plpgsql as $$
#variable_conflict use_column
declare
  whole record;
begin
  select array_agg(d.due) as dues, array_agg(d.sequence) as sequences, count(*) as messages,
      sum(d.size_bytes) as bytes, min(d.max_messages) as own_limit,
      min(d.format) = max(d.format) as is_one_format
    into whole
    from (
      select due, sequence, size_bytes, max_messages, format from "security_events".message
        where application = app.number and due >= app.first_due and due <= now_ms
        order by due, sequence limit greatest(1, most_messages)) d;
  if whole.messages <= least(most_messages, whole.own_limit) and whole.bytes <= most_bytes
    and whole.is_one_format then
    dues := whole.dues;
    sequences := whole.sequences;
    return;
  end if;
  -- Not all fit: selects those before the first that does not.
  select array_agg(m.due), array_agg(m.sequence) into dues, sequences
    from (
      select d.*, row_number() over due_order as place, sum(d.size_bytes) over due_order as bytes,
          min(d.max_messages) over due_order as own_limit,
          min(d.format) over due_order = max(d.format) over due_order as is_one_format
        from (
          select k.due, k.sequence, m.size_bytes, m.max_messages, m.format
            from unnest(whole.dues, whole.sequences) k(due, sequence)
            join "security_events".message m on m.application = app.number and m.due = k.due
              and m.sequence = k.sequence) d
        window due_order as (order by d.due, d.sequence rows unbounded preceding)
        order by d.due, d.sequence) m
    where m.place = 1 or (m.place <= least(most_messages, m.own_limit) and m.bytes <= most_bytes
      and m.is_one_format);
end $$;

-- Returns the messages of live claims, with the claim's place in the arrays; none of a lost claim. It is read by a
-- binary COPY, where each column has the size of its type.
create function "security_events".claimed_messages(numbers bigint[], claims bigint[])
returns table (place integer, sequence double precision, sends integer, accepted_at double precision,
  format integer, date_at integer, count_at integer, message_id text, retry_state text, content bytea)
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query
    select k.place::integer, m.sequence::double precision, m.sends, m.accepted_at::double precision,
        m.format::integer, m.date_at, m.count_at, m.message_id, coalesce(m.retry_state, 'null'), m.content
      from unnest(numbers, claims) with ordinality k(number, claim, place)
      join "security_events".application a on a.number = k.number and a.claim = k.claim
      cross join lateral unnest(a.claim_dues, a.claim_sequences)
        with ordinality c(due, sequence, place)
      cross join lateral (
        -- `offset 0` makes the planner look up each message by its whole key.
        select * from "security_events".message m
          where m.application = a.number and m.due = c.due and m.sequence = c.sequence offset 0) m
      order by k.place, c.place;
end $$;

-- Extends a lease. Returns whether the claim was live.
create function "security_events".extend(args json) returns boolean language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  application_number bigint := args->>'number';
  app "security_events".application;
begin
  app := "security_events".lock_application(application_number);
  if app.claim is distinct from (args->>'claim')::bigint or app.claim is null then
    return false;
  end if;
  update "security_events".application
    set lease_end = "security_events".time_after("security_events".now_exact(), (args->>'leaseMs')::double precision)
    where number = application_number;
  return true;
end $$;

-- Ends claims, and writes the states of their applications if there are any. `kinds` has a letter for the result of
-- each message (v delivered, d dead, r retry), and the other arrays have an element for each. With another number
-- of results a claim is not changed. Without `kinds` it is released: its messages are due as before. Returns for
-- each claim the number of its messages, and whether more wait; null for a lost claim.
create function "security_events".settle(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_exact double precision;
  settled record;
begin
  if json_array_length(args->'claims') > 1 then
    -- A locked application must not delay the others: after this time the caller settles each claim alone.
    perform set_config('lock_timeout', '500ms', true);
  end if;
  -- Sorted, so that two transactions that lock the same applications cannot deadlock.
  perform "security_events".lock_application(c.number) from (
    select distinct g.number from json_to_recordset(args->'claims') g(number bigint) order by 1) c;
  now_exact := "security_events".now_exact();
  with given as (
    select * from rows from (json_to_recordset(args->'claims') as (number bigint, claim bigint,
        kinds text, afters json, limits json, "retryStates" json, reasons json, "lastAttempts" json,
        state json, "pauseMs" double precision))
      with ordinality g(number, claim, kinds, afters, limits, retry_states, reasons, last_attempts,
        state, pause_ms, place)
  ), found as (
    select g.*, a.claim_dues, a.claim_sequences, cardinality(a.claim_sequences) as messages
      from given g join "security_events".application a on a.number = g.number and a.claim = g.claim
  ), live as (
    -- A claim that is named twice is settled once.
    select distinct on (f.number) f.* from found f
      where f.kinds is null or length(f.kinds) = f.messages order by f.number, f.place
  ), result as (
    select l.number as application, v.*
      from live l cross join lateral unnest(l.claim_dues, l.claim_sequences,
          string_to_array(l.kinds, null), "security_events".numbers(l.afters), "security_events".numbers(l.limits),
          "security_events".texts(l.retry_states), "security_events".texts(l.reasons), "security_events".texts(l.last_attempts))
        v(due, sequence, kind, after_ms, max_messages, retry_state, reason, last_attempt)
      where l.kinds is not null
  ), dead as (
    insert into "security_events".dead_letter (application, accepted_at, died_at, size_bytes, sends,
        date_at, count_at, format, message_id, reason, last_attempt, content)
      select m.application, "security_events".server_time(m.accepted_at),
          "security_events".server_time(floor(now_exact)::bigint), m.size_bytes, m.sends + 1,
          m.date_at, m.count_at, m.format, m.message_id, v.reason, v.last_attempt, m.content
        from result v join "security_events".message m
          on m.application = v.application and m.due = v.due and m.sequence = v.sequence
        where v.kind = 'd' order by m.due, m.sequence
  ), ended as (
    delete from "security_events".message m using result v
      where m.application = v.application and m.due = v.due and m.sequence = v.sequence
        and v.kind <> 'r'
      returning m.application, m.size_bytes, v.kind
  ), gone as (
    select e.application, count(*) as messages, sum(e.size_bytes)::bigint as bytes,
        count(*) filter (where e.kind = 'v') as delivered,
        count(*) filter (where e.kind = 'd') as dead
      from ended e group by e.application
  ), retried as (
    update "security_events".message m set
        due = case when v.after_ms > 0 then "security_events".time_after(now_exact, v.after_ms) else m.due end,
        sends = m.sends + 1, max_messages = v.max_messages, retry_state = v.retry_state
      from result v
      where m.application = v.application and m.due = v.due and m.sequence = v.sequence
        and v.kind = 'r'
      returning m.application, m.due
  ), released as (
    update "security_events".application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        health = case when a.health = 'closed' then a.health else coalesce(s.health, a.health) end,
        max_messages = coalesce(s.max_messages, a.max_messages),
        max_bytes = coalesce(s.max_bytes, a.max_bytes),
        circuit_breaker = coalesce(s.circuit_breaker, a.circuit_breaker),
        not_before = case when s.health is null then a.not_before
          else "security_events".time_after(now_exact, l.pause_ms) end,
        served_at = floor(now_exact), turn = nextval('"security_events".turn_number'),
        pending = a.pending - coalesce(g.messages, 0),
        pending_bytes = a.pending_bytes - coalesce(g.bytes, 0),
        delivered = a.delivered + coalesce(g.delivered, 0), dead = a.dead + coalesce(g.dead, 0),
        first_due = least(a.first_due,
          (select min(r.due) from retried r where r.application = l.number),
          case when l.kinds is null then l.claim_dues[1] end)
      from live l left join gone g on g.application = l.number
        cross join lateral "security_events".state_of(l.state) s
      where a.number = l.number
      returning a.number, a.delayed_until, a.first_due is not null as is_waiting
  )
  select (select json_agg(
              case when l.place is not null or length(f.kinds) <> f.messages
                then json_build_object('size', f.messages, 'isWaiting', r.is_waiting) end
              order by g.place)
            from given g left join found f on f.place = g.place
              left join live l on l.place = g.place
              left join released r on r.number = l.number) as answers,
      (select array_agg(r.number) from released r where r.delayed_until > now_exact) as delayed,
      coalesce(sum(g.messages), 0)::bigint as messages, coalesce(sum(g.bytes), 0)::bigint as bytes
    into settled from gone g;
  perform "security_events".end_delays(a, floor(now_exact)::bigint)
    from "security_events".application a where a.number = any (settled.delayed);
  perform "security_events".add_pending(-settled.messages, -settled.bytes);
  return settled.answers;
end $$;

-- Makes dead letters of at most `limit` unclaimed messages: those of the application `closed` if it is closed, or
-- those that were accepted more than `olderThanMs` ago.
create function "security_events".dead_letter_unclaimed(args json)
returns table ("applicationId" text, "messageId" text, sequence bigint)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  now_ms bigint := floor("security_events".now_exact());
  too_old bigint := "security_events".time_before(now_ms, (args->>'olderThanMs')::double precision);
  closed_number bigint := (select number from "security_events".application where id = args->>'closed');
  owners bigint[];
  dues bigint[];
  sequences bigint[];
begin
  -- One of the two finds nothing: its argument is null.
  select array_agg(o.application), array_agg(o.due), array_agg(o.sequence)
    into owners, dues, sequences
    from (
      (select m.application, m.due, m.sequence from "security_events".message m
        join "security_events".application a on a.number = m.application
        where m.accepted_at < too_old
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.accepted_at limit (args->>'limit')::bigint)
      union all
      (select m.application, m.due, m.sequence from "security_events".message m
        join "security_events".application a on a.number = m.application
        where m.application = closed_number and a.health = 'closed'
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.due, m.sequence limit (args->>'limit')::bigint)) o;
  -- Sorted, so that two transactions that lock the same applications cannot deadlock.
  perform "security_events".lock_application(o.number) from (
    select distinct u.number from unnest(owners) u(number) order by u.number) o;
  return query
    with gone as (
      delete from "security_events".message m
        using unnest(owners, dues, sequences) k(application, due, sequence), "security_events".application a
        where m.application = k.application and m.due = k.due and m.sequence = k.sequence
          and a.number = k.application
          and (a.claim is null or m.sequence <> all (a.claim_sequences))
          -- The application may have been reopened before it was locked.
          and (closed_number is null or a.health = 'closed')
        returning m.*
    ), dead as (
      insert into "security_events".dead_letter (application, accepted_at, died_at, size_bytes, sends,
          date_at, count_at, format, message_id, reason, last_attempt, content)
        select g.application, "security_events".server_time(g.accepted_at), "security_events".server_time(now_ms), g.size_bytes, g.sends,
            g.date_at, g.count_at, g.format, g.message_id,
            case when closed_number is null then 'horizon-passed' else 'destination-closed' end,
            'null', g.content
          from (select * from gone order by due, sequence) g
    ), counted as (
      insert into "security_events".counter_delta (application, pending, pending_bytes, dead)
        select g.application, -count(*), -sum(g.size_bytes), count(*)
          from gone g group by g.application
    )
    select a.id, g.message_id, g.sequence
      from gone g join "security_events".application a on a.number = g.application;
  with delta as (
    select d.application, min(d.first_due) as due from "security_events".counter_delta d
      where d.application = any (owners) group by d.application
  ), forgotten as (
    -- Otherwise a later flush would restore the due time of a message that no longer waits.
    update "security_events".counter_delta d set first_due = null
      where d.application = any (owners) and d.first_due is not null
  )
  update "security_events".application a set first_due = (
      select m.due from "security_events".message m
        where m.application = a.number and m.due >= least(a.first_due, k.due, d.due)
          and (a.claim is null or m.sequence <> all (a.claim_sequences))
        order by m.due, m.sequence limit 1)
    from (
      select u.application, min(u.due) as due from unnest(owners, dues) u(application, due)
        group by u.application) k
      left join delta d on d.application = k.application
    where a.number = k.application;
end $$;

create function "security_events".reopen_application(args json) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  app "security_events".application;
begin
  update "security_events".application a set health = s.health, max_messages = s.max_messages,
      max_bytes = s.max_bytes, not_before = 0
    from "security_events".state_of(args->'initialState') s
    where a.id = args->>'id' and a.health <> 'healthy' returning a.* into app;
  if found then
    perform "security_events".end_delays(app, floor("security_events".now_exact())::bigint);
  end if;
end $$;

-- Returns null for an unknown application.
create function "security_events".application_state(args json) returns json language sql stable set search_path = pg_catalog, pg_temp as $$
  select json_build_object('health', a.health, 'maxMessages', a.max_messages, 'maxBytes', a.max_bytes,
      'circuitBreaker', a.circuit_breaker)
    from "security_events".application a where a.id = args->>'id'
$$;

-- One row for each application: its counters, and for how long a message has been claimable.
create function "security_events".stats(args json default null)
returns table (id text, health text, accepted bigint, delivered bigint, pending bigint,
  pending_bytes bigint, dead bigint, purged bigint, waiting_ms bigint)
language sql volatile set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  with delta as (
    select application, sum(accepted) as accepted, sum(pending) as pending,
        sum(pending_bytes) as pending_bytes, sum(dead) as dead, sum(purged) as purged,
        min(first_due) as first_due
      from "security_events".counter_delta group by application
  ), at as (
    select floor("security_events".now_exact())::bigint as now_ms
  )
  select a.id, a.health, (a.accepted + coalesce(d.accepted, 0))::bigint, a.delivered,
      (a.pending + coalesce(d.pending, 0))::bigint,
      (a.pending_bytes + coalesce(d.pending_bytes, 0))::bigint,
      (a.dead + coalesce(d.dead, 0))::bigint, (a.purged + coalesce(d.purged, 0))::bigint,
      case when a.health <> 'closed' and (a.claim is null or a.lease_end <= at.now_ms) then (
        -- Not `first_due` itself, which can be that of a message that no longer waits.
        select at.now_ms - greatest(a.not_before, m.due) from "security_events".message m
          where m.application = a.number
            and m.due >= least(a.first_due, d.first_due, a.claim_dues[1])
          order by m.due, m.sequence limit 1) end
    from "security_events".application a left join delta d on d.application = a.number cross join at
$$;

-- Counts the messages with sequences in the ranges that wait or are claimed.
create function "security_events".count_pending(args json) returns bigint language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  select coalesce(sum(c.messages), 0)::bigint
    from unnest("security_events".numbers(args->'froms'), "security_events".numbers(args->'tos')) r(first, last)
    cross join lateral (
      select count(*) as messages from "security_events".message m where m.sequence between r.first and r.last) c
$$;

-- Counts the messages when the queue is opened, in one snapshot. Claimed messages count as due.
create function "security_events".backlog(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_ms bigint := floor("security_events".now_exact());
begin
  return (
    select json_build_object('pendingMessages', p.messages, 'dueMessages', p.messages - l.messages,
        'lastSequence', (select coalesce(max(m.sequence), 0) from "security_events".message m))
      from "security_events".pending_now() p
      cross join (
        select coalesce(sum(c.messages), 0) as messages
          from "security_events".application a cross join lateral (
            select count(*) as messages from "security_events".message m
              where m.application = a.number and m.due > now_ms) c) l);
end $$;

create function "security_events".pending_messages(args json) returns bigint language sql volatile set search_path = pg_catalog, pg_temp as $$
  select p.messages from "security_events".pending_now() p
$$;

-- The ids of a page of dead letters: of all, of an application, or of those in `ids`. They are greater than `after`
-- and at most `upTo`.
create function "security_events".dead_letter_page(args json) returns bigint[] language plpgsql stable as $$
declare
  wanted bigint[] := "security_events".numbers(args->'ids');
  owner_number bigint := (select a.number from "security_events".application a where a.id = args->>'application');
  is_owned boolean := args->>'application' is not null;
  after_id bigint := coalesce((args->>'after')::bigint, 0);
  last_id bigint := coalesce((args->>'upTo')::bigint, 9e18);
  most bigint := args->>'limit';
begin
  -- Only one of the three runs. Each uses another index.
  return array(
    (select d.id from "security_events".dead_letter d
      where d.id = any (wanted) and d.id > after_id and d.id <= last_id
        and (not is_owned or d.application = owner_number)
      order by d.id limit most)
    union all
    (select d.id from "security_events".dead_letter d
      where wanted is null and d.application = owner_number and d.id > after_id and d.id <= last_id
      order by d.id limit most)
    union all
    (select d.id from "security_events".dead_letter d
      where wanted is null and not is_owned and d.id > after_id and d.id <= last_id
      order by d.id limit most));
end $$;

-- The answer for one page of a purge or replay: how many letters it changed, and the arguments of the next page or
-- null. Does not include letters that are added after the first page.
create function "security_events".dead_letter_answer(args json, page bigint[], handled bigint) returns json
language sql volatile as $$
  select json_build_object('count', handled, 'next',
    case when cardinality(page) = (args->>'limit')::bigint then json_build_object(
      'after', page[cardinality(page)],
      'upTo', coalesce((args->>'upTo')::bigint, (select last_value from "security_events".turn_number))) end)
$$;

create function "security_events".dead_letters(args json)
returns table (id bigint, "applicationId" text, "messageId" text, format smallint, content text,
  "dateAt" integer, "countAt" integer, "sizeBytes" bigint,
  sends integer, reason text, "lastAttempt" json, "acceptedAt" bigint, "diedAt" bigint)
language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  select d.id, a.id, d.message_id, d.format, encode(d.content, 'base64'), d.date_at, d.count_at,
      d.size_bytes, d.sends, d.reason, d.last_attempt::json, d.accepted_at, d.died_at
    from "security_events".dead_letter d join "security_events".application a on a.number = d.application
    where d.id = any ("security_events".dead_letter_page(args)) order by d.id
$$;

-- Discards a page of dead letters.
create function "security_events".purge_dead_letters(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  page bigint[] := "security_events".dead_letter_page(args);
  purged bigint;
begin
  with gone as (
    delete from "security_events".dead_letter d where d.id = any (page) returning d.application
  ), counted as (
    insert into "security_events".counter_delta (application, dead, purged)
      select g.application, -count(*), count(*) from gone g group by g.application
  )
  select count(*) into purged from gone;
  return "security_events".dead_letter_answer(args, page, purged);
end $$;

-- Makes a page of dead letters due again: the oldest of open applications, as many as the bounds allow.
create function "security_events".replay_dead_letters(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_variable
declare
  page bigint[];
  now_ms bigint;
  used record;
  replayed bigint;
begin
  page := "security_events".dead_letter_page(args);
  now_ms := floor("security_events".now_exact());
  used := "security_events".pending_now();
  with fitting as (
    select o.id from (
      select d.id, row_number() over oldest as messages, sum(d.size_bytes) over oldest as bytes
        from "security_events".dead_letter d join "security_events".application a on a.number = d.application
        where d.id = any (page) and a.health <> 'closed'
          and d.size_bytes + used.bytes <= (args->>'maxPendingBytes')::bigint
        window oldest as (order by d.id rows unbounded preceding)) o
      where o.messages + used.messages <= (args->>'maxPendingMessages')::bigint
        and o.bytes + used.bytes <= (args->>'maxPendingBytes')::bigint
  ), gone as (
    -- An array, so that rows are locked in the order of their ids.
    delete from "security_events".dead_letter d where d.id = any (array(select id from fitting order by id))
      returning d.*
  ), stored as (
    insert into "security_events".message (application, due, sequence, accepted_at, size_bytes, sends,
        date_at, count_at, format, message_id, content)
      select application, now_ms, nextval('"security_events".turn_number'), now_ms, size_bytes, sends,
          date_at, count_at, format, message_id, content
        from (select * from gone order by id) g
  ), counted as (
    insert into "security_events".counter_delta (application, pending, pending_bytes, dead, first_due, at)
      select g.application, count(*), sum(g.size_bytes), -count(*), now_ms, now_ms
        from gone g group by g.application order by min(g.id)
  )
  select count(*) into replayed from gone;
  return "security_events".dead_letter_answer(args, page, replayed);
end $$;

-- The reported incidents. Keys and names are digests from the caller, since an index does not take long texts.
create table "security_events".incident (
  number bigint generated always as identity primary key,
  key text not null unique,
  started_at double precision not null,
  seen_at bigint not null,
  on_log boolean not null default false,
  on_webhook boolean not null default false
);

create index incident_seen_at on "security_events".incident (seen_at);

create table "security_events".incident_name (
  incident bigint not null references "security_events".incident on delete cascade,
  channel text not null,
  name text not null,
  primary key (incident, channel, name)
);

-- Records a report, and returns its new names. Forgets incidents without a report for `retentionMs`.
create function "security_events".report_incident(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_variable
declare
  incident_key text := args->>'key';
  channel text := args->>'channel';
  found_number bigint;
  now_ms bigint := floor("security_events".now_exact());
  expired_before bigint := "security_events".time_before(now_ms, (args->>'retentionMs')::double precision);
  began_at double precision;
  is_first boolean;
  added json;
begin
  -- Deletes only some old incidents at a time, with at most 1000 names.
  with expired as (
    select i.number from "security_events".incident i where i.seen_at < expired_before
      order by i.seen_at limit 10 for update skip locked
  ), names as (
    delete from "security_events".incident_name n where (n.incident, n.channel, n.name) in (
      select m.incident, m.channel, m.name
        from expired e join "security_events".incident_name m on m.incident = e.number limit 1000)
  )
  delete from "security_events".incident i where i.number in (select e.number from expired e)
    and not exists (select from "security_events".incident_name n where n.incident = i.number);
  -- A new incident with this key begins. The old row gets a key that no report has.
  update "security_events".incident i set key = i.key || ' ' || i.number
    where i.key = incident_key and i.seen_at < expired_before;
  -- One of two simultaneous first reports waits here for the other.
  insert into "security_events".incident as i (key, started_at, seen_at)
    values (incident_key, (args->>'at')::double precision, now_ms)
    on conflict (key) do update set seen_at = now_ms
    returning i.number, i.started_at,
      case when channel = 'log' then not i.on_log else not i.on_webhook end
    into found_number, began_at, is_first;
  if is_first then
    update "security_events".incident i set on_log = i.on_log or channel = 'log',
        on_webhook = i.on_webhook or channel <> 'log'
      where i.number = found_number;
  end if;
  with fresh as (
    insert into "security_events".incident_name (incident, channel, name)
      select found_number, channel, n.name from unnest("security_events".texts(args->'names')) n(name)
      on conflict do nothing returning name
  )
  select coalesce(json_agg(name), '[]') into added from fresh;
  return json_build_object('isFirst', is_first, 'startedAt', began_at, 'names', added);
end $$;

-- Undoes a report: its new names are new again. An incident that began again has another start.
create function "security_events".retract_incident(args json) returns void language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_variable
declare
  incident_number bigint;
  channel text := args->>'channel';
begin
  select i.number into incident_number from "security_events".incident i
    where i.key = args->>'key' and i.started_at = (args->>'startedAt')::double precision for update;
  if (args->>'isFirst')::boolean then
    update "security_events".incident i set on_log = i.on_log and channel <> 'log',
        on_webhook = i.on_webhook and channel = 'log'
      where i.number = incident_number;
  end if;
  delete from "security_events".incident_name o
    where o.incident = incident_number and o.channel = channel
      and o.name = any ("security_events".texts(args->'names'));
end $$;

-- Identifies this queue in exports.
create table "security_events".queue_id (id uuid not null default gen_random_uuid());

insert into "security_events".queue_id default values;

-- The last imported item of each source and kind. A second import begins after it.
create table "security_events".imported (name text primary key, last_id bigint not null);

-- Returns items of a kind after an id, as JSON; one row with null if messages are claimed.
create function "security_events".export_items(args json) returns setof json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  queue uuid := (select q.id from "security_events".queue_id q);
  wanted text := args->>'kind';
  after bigint := args->>'after';
begin
  perform "security_events".lock_application(a.number) from (
    select number from "security_events".application where lease_end <= "security_events".now_exact() order by number) a;
  if exists (select from "security_events".application where claim is not null) then
    return query select null::json;
  elsif wanted = 'application' then
    return query select row_to_json(i) from (
      select queue as source, wanted as kind, a.number as id, a.id as application, a.health,
          a.max_messages, a.max_bytes, a.circuit_breaker,
          greatest(0, "security_events".server_time(a.not_before)) as not_before
        from "security_events".application a where a.number > after order by a.number limit 100) i;
  elsif wanted = 'message' then
    return query select row_to_json(i) from (
      select queue as source, wanted as kind, m.sequence as id, a.id as application, m.message_id,
          m.format, m.date_at, m.count_at, m.size_bytes, encode(m.content, 'base64') as body,
          m.sends, "security_events".server_time(m.accepted_at) as accepted, "security_events".server_time(m.due) as due,
          m.max_messages, m.retry_state
        from "security_events".message m join "security_events".application a on a.number = m.application
        where m.sequence > after order by m.sequence limit 100) i;
  else
    return query select row_to_json(i) from (
      select queue as source, wanted as kind, d.id, a.id as application, d.message_id, d.format,
          d.date_at, d.count_at, d.size_bytes, encode(d.content, 'base64') as body, d.sends,
          d.accepted_at as accepted, d.died_at as died, d.reason, d.last_attempt
        from "security_events".dead_letter d join "security_events".application a on a.number = d.application
        where d.id > after order by d.id limit 100) i;
  end if;
end $$;

create type "security_events".item as (source text, kind text, id bigint, application text, health text,
  max_messages bigint, max_bytes bigint, circuit_breaker text, not_before bigint, message_id text,
  format smallint, date_at integer, count_at integer, size_bytes bigint, body text, sends integer,
  accepted bigint, due bigint, retry_state text, died bigint, reason text, last_attempt text);

-- Stores the new items, all or none. Returns their number, or the bound that they would have passed; null for items of
-- this queue.
create function "security_events".import_items(args json) returns json language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  given "security_events".item[] := array(select i from json_populate_recordset(null::"security_events".item, args->'items') i);
  mark text := concat_ws(' ', (given[1]).source, (given[1]).kind);
  items "security_events".item[];
  more record;
  answer json;
begin
  if exists (select from "security_events".queue_id q where q.id::text = (given[1]).source) then
    return null;
  end if;
  insert into "security_events".imported values (mark, 0) on conflict do nothing;
  items := array(
    select i from unnest(given) i
      where i.id > (select last_id from "security_events".imported where name = mark for update) order by i.id);
  select count(*) as messages, coalesce(sum(i.size_bytes), 0)::bigint as bytes into more
    from unnest(items) i where i.kind = 'message';
  answer := "security_events".overflow((args->>'maxPendingMessages')::bigint,
    (args->>'maxPendingBytes')::bigint, more.messages, more.bytes);
  if answer is not null then
    return answer;
  end if;
  insert into "security_events".application (id, health, max_messages, max_bytes, circuit_breaker)
    select i.application, s.* from (select distinct application from unnest(items) order by 1) i,
      "security_events".state_of(args->'initialState') s
    on conflict do nothing;
  update "security_events".application a set
      health = case when a.health = 'closed' then a.health else i.health end,
      max_messages = i.max_messages, max_bytes = i.max_bytes,
      circuit_breaker = i.circuit_breaker, not_before = "security_events".queue_time(i.not_before)
    from unnest(items) i where a.id = i.application and i.kind = 'application';
  with stored as (
    insert into "security_events".message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, max_messages, retry_state, content)
      select a.number, "security_events".queue_time(i.due), nextval('"security_events".turn_number'), "security_events".queue_time(i.accepted),
          i.size_bytes, i.sends, i.date_at, i.count_at, i.format, i.message_id, i.max_messages, i.retry_state, decode(i.body, 'base64')
        from unnest(items) with ordinality i join "security_events".application a on a.id = i.application
        where i.kind = 'message' order by i.ordinality
      returning application, due, sequence, size_bytes, sends
  )
  insert into "security_events".counter_delta (application, accepted, pending, pending_bytes, first_due, at,
      delayed_until)
    select application, count(*), count(*), sum(size_bytes), min(due), floor("security_events".now_exact()),
        max(due) filter (where sends = 0)
      from stored group by application order by min(sequence);
  with stored as (
    insert into "security_events".dead_letter (application, accepted_at, died_at, size_bytes, sends, date_at,
        count_at, format, message_id, reason, last_attempt, content)
      select a.number, i.accepted, i.died, i.size_bytes, i.sends, i.date_at, i.count_at, i.format,
          i.message_id, i.reason, i.last_attempt, decode(i.body, 'base64')
        from unnest(items) with ordinality i join "security_events".application a on a.id = i.application
        where i.kind = 'dead_letter' order by i.ordinality
      returning application
  )
  insert into "security_events".counter_delta (application, accepted, dead)
    select application, count(*), count(*) from stored group by application;
  update "security_events".imported set last_id = items[cardinality(items)].id
    where name = mark and cardinality(items) > 0;
  return to_json(cardinality(items));
end $$;

create table "security_events".schema_version (version integer primary key);

insert into "security_events".schema_version values (1);

commit;
