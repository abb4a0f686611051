-- What security-event-delivery/queue/postgres needs in a database, version 1: run it once, for instance by
-- psql -v ON_ERROR_STOP=1 -f <this file>. Written by `npm run docs`; createPostgresSchema does the same.
begin;

create schema "security_events";

-- Numbers what is accepted, turns, claims and dead letters: later is higher.
create sequence "security_events".turn_number cache 1;

-- One row an application: what may be claimed of it, its live claim, its share of the ledger.
-- Times are the server's, in milliseconds since the epoch. Texts are as within quotes in JSON.
create table "security_events".application (
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

create index application_ready on "security_events".application (tier, ready_at, turn)
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
  progress text,
  content bytea not null,
  primary key (application, due, sequence)
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);

create index message_accepted_at on "security_events".message (accepted_at);

create unique index message_sequence on "security_events".message (sequence);

create table "security_events".dead_letter (
  id bigint primary key default nextval('"security_events".turn_number'),
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

create index dead_letter_application on "security_events".dead_letter (application, id);

-- What has changed in the ledger and was not added up in the application's row yet. Whoever accepts
-- messages only inserts, so that many of them do not wait for one row.
create table "security_events".posting (
  sequence bigint primary key default nextval('"security_events".turn_number'),
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

create index posting_application on "security_events".posting (application);

-- What waits in all applications, beside the postings: the sum of these rows. A connection changes
-- the one of its process number.
create table "security_events".room (
  shard integer primary key,
  messages bigint not null default 0,
  bytes bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

insert into "security_events".room (shard) select generate_series(0, 63);

-- Locked, never filled: by what accepts messages together, by what closes an application alone.
create table "security_events".intake ();

-- Locked, never filled: postings are added up by one at a time.
create table "security_events".folding ();

create function "security_events".now_exact() returns double precision language sql volatile as $$
  select extract(epoch from clock_timestamp())::double precision * 1000
$$;

create function "security_events".after(now_exact double precision, ms double precision) returns bigint
language sql immutable as $$
  select (case when ms > 0 then ceil(least(now_exact + ms, 1e18)) else floor(now_exact) end)::bigint
$$;

-- As whole numbers: an index on them is of no use to what has fractions.
create function "security_events".before(now_ms bigint, ms double precision) returns bigint
language sql immutable as $$
  select ceil(greatest(now_ms - ms, -1e18))::bigint
$$;

create function "security_events".waiting(out messages bigint, out bytes bigint) language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  select sum(u.messages), sum(u.bytes) into waiting.messages, waiting.bytes from (
    select r.messages, r.bytes from "security_events".room r
    union all select p.pending, p.pending_bytes from "security_events".posting p) u;
end $$;

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
      delayed_until = 0, first_due = case when found then least(a.first_due, at_ms) else a.first_due end
    where a.number = app.number returning * into changed;
  return changed;
end $$;

create function "security_events".hold(which bigint) returns "security_events".application language plpgsql as $$
declare
  app "security_events".application;
  ended bigint;
begin
  select * into app from "security_events".application where number = which for no key update;
  if app.lease_end <= "security_events".now_exact() then
    ended := app.lease_end;
    update "security_events".message m set sends = m.sends + 1
      from unnest(app.claim_dues, app.claim_sequences) c(due, sequence)
      where m.application = which and m.due = c.due and m.sequence = c.sequence;
    update "security_events".application a set
        claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
        first_due = least(a.first_due, app.claim_dues[1])
      where a.number = which returning * into app;
    app := "security_events".end_delays(app, ended);
  end if;
  return app;
end $$;

create function "security_events".take_postings(
  which bigint, out accepted bigint, out pending bigint, out pending_bytes bigint, out dead bigint,
  out purged bigint, out first_due bigint, out at bigint, out delayed_until bigint
) language plpgsql as $$
#variable_conflict use_column
begin
  with taken as (
    delete from "security_events".posting p where p.sequence in (
      select sequence from "security_events".posting where application = which for update skip locked)
    returning p.*
  )
  select coalesce(sum(t.accepted), 0), coalesce(sum(t.pending), 0),
      coalesce(sum(t.pending_bytes), 0), coalesce(sum(t.dead), 0), coalesce(sum(t.purged), 0),
      min(t.first_due), max(t.at), max(t.delayed_until)
    into accepted, pending, pending_bytes, dead, purged, first_due, at, delayed_until
    from taken t;
end $$;

create function "security_events".take_room(more_messages bigint, more_bytes bigint) returns void
language plpgsql as $$
begin
  if more_messages <> 0 or more_bytes <> 0 then
    update "security_events".room set messages = messages + more_messages, bytes = bytes + more_bytes
      where shard = pg_backend_pid() % 64;
  end if;
end $$;

create function "security_events".enqueue(
  ids text[], new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text, delay_ms double precision, bound_messages bigint, bound_bytes bigint,
  contents bytea, owners text[], message_ids text[], formats smallint[], starts integer[],
  lengths integer[], date_ats integer[], count_ats integer[], sizes bigint[],
  out sequences bigint[], out closed text[], out passed text, out messages bigint, out bytes bigint
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_exact double precision;
  now_ms bigint;
  later_ms bigint;
  undelayed text[] := '{}';
  used_messages bigint;
  used_bytes bigint;
begin
  -- Closing an application waits for us, and we for it: what is open now stays so until we are done.
  lock table "security_events".intake in row share mode;
  now_exact := "security_events".now_exact();
  now_ms := floor(now_exact);
  later_ms := "security_events".after(now_exact, delay_ms);
  select array_agg(a.id) into closed
    from unnest(ids) i(id) join "security_events".application a on a.id = i.id
    where a.tier = 'closed';
  select count(*), coalesce(sum(e.size_bytes), 0) into messages, bytes
    from unnest(owners, sizes) e(owner, size_bytes)
    where closed is null or e.owner <> all (closed);
  if messages > 0 then
    select w.messages, w.bytes into used_messages, used_bytes from "security_events".waiting() w;
    if used_messages + messages > bound_messages then
      passed := 'maxPendingMessages';
      return;
    elsif used_bytes + bytes > bound_bytes then
      passed := 'maxPendingBytes';
      return;
    end if;
  end if;
  -- In one order everywhere: of two that bring in the same applications one waits for the other.
  insert into "security_events".application (id, tier, max_messages, max_bytes, circuit_breaker)
    select i.id, new_tier, new_max_messages, new_max_bytes, new_circuit_breaker
      from unnest(ids) i(id)
      where not exists (select from "security_events".application a where a.id = i.id)
      order by i.id
    on conflict do nothing;
  if later_ms > now_ms then
    -- Those of which this call alone has a full claim.
    select coalesce(array_agg(a.id), '{}') into undelayed
      from (select o.owner, count(*) as messages from unnest(owners) o(owner) group by o.owner) c
        join "security_events".application a on a.id = c.owner
      where c.messages >= a.max_messages;
  end if;
  with entry as (
    select a.number as application, e.*, substring(contents from e.start + 1 for e.length) as content,
        case when e.owner = any (undelayed) then now_ms else later_ms end as due
      from unnest(owners, message_ids, formats, starts, lengths, date_ats, count_ats, sizes)
        with ordinality e(owner, message_id, format, start, length, date_at, count_at, size_bytes,
          place)
      join "security_events".application a on a.id = e.owner
      where a.tier <> 'closed'
  ), stored as (
    insert into "security_events".message (application, due, sequence, accepted_at, size_bytes, sends, date_at,
        count_at, format, message_id, content)
      select application, due, nextval('"security_events".turn_number'), now_ms, size_bytes, 0, date_at,
          count_at, format, message_id, content
        from (select * from entry order by place) e
      returning application, due, sequence, size_bytes
  ), posted as (
    insert into "security_events".posting (application, accepted, pending, pending_bytes, first_due, at,
        delayed_until)
      select application, count(*), count(*), sum(size_bytes), min(due), now_ms, max(due)
        from stored group by application order by min(sequence)
  )
  select array_agg(s.sequence order by s.sequence) into sequences from stored s;
end $$;

create function "security_events".fold(channel text, caller text) returns boolean language plpgsql
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  held bigint[];
  delayed_numbers bigint[];
  delayed_ats bigint[];
  more_messages bigint;
  more_bytes bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  lock table "security_events".folding in share update exclusive mode;
  select array_agg(number) into held from (
    select a.number from "security_events".application a
      where a.number = any (array(
        select p.application from "security_events".posting p order by p.sequence limit 10000))
      order by a.number for no key update skip locked) a;
  if held is not null then
    with taken as (
      delete from "security_events".posting p where p.application = any (held) returning p.*
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
    perform "security_events".take_room(more_messages, more_bytes);
  end if;
  if channel is not null then
    perform pg_notify(channel, caller);
  end if;
  return exists (select from "security_events".posting);
end $$;

create function "security_events".next_application(tiers text[], now_ms bigint) returns bigint
language plpgsql as $$
declare
  found_number bigint;
  next_tier text;
begin
  for next_tier in
    select t.tier from unnest(tiers) t(tier)
      cross join lateral (
        select a.ready_at, a.turn from "security_events".application a
          where a.tier = t.tier and a.ready_at <= now_ms
          order by a.ready_at, a.turn limit 1) h
      order by h.ready_at, h.turn
  loop
    select a.number into found_number from "security_events".application a
      where a.tier = next_tier and a.ready_at <= now_ms
      order by a.ready_at, a.turn limit 1 for no key update skip locked;
    exit when found_number is not null;
  end loop;
  return found_number;
end $$;

create function "security_events".next_messages(
  app "security_events".application, most_messages bigint, most_bytes bigint, now_ms bigint,
  out dues bigint[], out sequences bigint[], out messages text, out content bytea
) language plpgsql as $$
#variable_conflict use_column
begin
  select array_agg(m.due order by m.due, m.sequence),
      array_agg(m.sequence order by m.due, m.sequence),
      json_agg(json_build_array(m.sequence, m.message_id, m.format, octet_length(m.content),
        m.date_at, m.count_at, m.sends, now_ms - m.accepted_at, m.progress::json)
        order by m.due, m.sequence)::text,
      string_agg(m.content, ''::bytea order by m.due, m.sequence)
    into dues, sequences, messages, content
    from (
      select d.*, row_number() over due_order as place, sum(d.size_bytes) over due_order as bytes,
          min(d.max_messages) over due_order as own_limit,
          min(d.format) over due_order = max(d.format) over due_order as is_one_format
        from (
          select * from "security_events".message
            where application = app.number and due >= app.first_due and due <= now_ms
            order by due, sequence limit greatest(1, most_messages)) d
        window due_order as (order by d.due, d.sequence rows unbounded preceding)) m
    where m.place = 1 or (m.place <= least(most_messages, m.own_limit) and m.bytes <= most_bytes
      and m.is_one_format);
end $$;

create function "security_events".claim(
  tiers text[], most_messages bigint, most_bytes bigint, lease_ms double precision,
  out claim text, out application text, out tier text, out max_messages bigint,
  out max_bytes bigint, out circuit_breaker text, out now_ms bigint, out messages text, out content bytea,
  out due_in bigint, out unfolded boolean
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  now_exact double precision;
  candidate bigint;
  app "security_events".application;
  taken record;
  next_due bigint;
  claim_number bigint;
  has_waited boolean := false;
begin
  unfolded := exists (select from "security_events".posting);
  loop
    now_exact := "security_events".now_exact();
    now_ms := floor(now_exact);
    candidate := "security_events".next_application(tiers, now_ms);
    if candidate is null then
      due_in := null;
      select h.number, h.ready_at - now_ms into candidate, due_in from unnest(tiers) t(tier)
        cross join lateral (
          select a.number, a.ready_at from "security_events".application a
            where a.tier = t.tier and a.ready_at is not null
            order by a.ready_at, a.turn limit 1) h
        order by h.ready_at limit 1;
      if has_waited or due_in is null or due_in > 0 then
        return;
      end if;
      -- All that is ready is held by others, who may be about to let go of it.
      has_waited := true;
    end if;
    app := "security_events".hold(candidate);
    continue when app.claim is not null or app.ready_at is null or app.ready_at > now_ms
      or app.tier <> all (tiers);
    taken := "security_events".next_messages(app, least(most_messages, app.max_messages),
      least(most_bytes, app.max_bytes), now_ms);
    if taken.dues is null then
      -- What it was said to have is gone: closed, expired, or claimed before it was added up.
      update "security_events".application a set first_due = (
          select m.due from "security_events".message m where m.application = candidate
            order by m.due, m.sequence limit 1)
        where a.number = candidate;
      continue;
    end if;
    exit;
  end loop;
  select m.due into next_due from "security_events".message m
    where m.application = candidate and (m.due, m.sequence) >
      (taken.dues[cardinality(taken.dues)], taken.sequences[cardinality(taken.dues)])
    order by m.due, m.sequence limit 1;
  claim_number := nextval('"security_events".turn_number');
  update "security_events".application a set
      claim = claim_number, lease_end = "security_events".after(now_exact, lease_ms), first_due = next_due,
      claim_dues = taken.dues, claim_sequences = taken.sequences
    where a.number = candidate;
  claim := candidate || '-' || claim_number;
  application := app.id;
  tier := app.tier;
  max_messages := app.max_messages;
  max_bytes := app.max_bytes;
  circuit_breaker := app.circuit_breaker;
  messages := taken.messages;
  content := taken.content;
end $$;

create function "security_events".settle(
  which bigint, claim_number bigint, kinds text, afters double precision[], limits bigint[],
  progresses text[], reasons text[], last_attempts text[], new_tier text, new_max_messages bigint,
  new_max_bytes bigint, new_circuit_breaker text, pause_ms double precision,
  out claimed bigint
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_exact double precision;
  app "security_events".application;
  over record;
  news record;
begin
  app := "security_events".hold(which);
  if app.claim is distinct from claim_number or app.claim is null then
    return;
  end if;
  claimed := cardinality(app.claim_sequences);
  if claimed <> length(kinds) then
    return;
  end if;
  now_exact := "security_events".now_exact();
  with result as (
    select * from unnest(app.claim_dues, app.claim_sequences, string_to_array(kinds, null), afters,
      limits, progresses, reasons, last_attempts)
      v(due, sequence, kind, after_ms, max_messages, progress, reason, last_attempt)
  ), gone as (
    delete from "security_events".message m using result v
      where m.application = which and m.due = v.due and m.sequence = v.sequence and v.kind <> 'r'
      returning m.*, v.kind, v.reason, v.last_attempt
  ), buried as (
    insert into "security_events".dead_letter (application, accepted_at, died_at, size_bytes, sends,
        date_at, count_at, format, message_id, reason, last_attempt, content)
      select which, accepted_at, floor(now_exact), size_bytes, sends + 1,
          date_at, count_at, format, message_id, reason, last_attempt, content
        from (select * from gone where kind = 'd' order by due, sequence) g
  ), retried as (
    update "security_events".message m set
        due = case when v.after_ms > 0 then "security_events".after(now_exact, v.after_ms) else m.due end,
        sends = m.sends + 1, max_messages = v.max_messages, progress = v.progress
      from result v
      where m.application = which and m.due = v.due and m.sequence = v.sequence and v.kind = 'r'
  )
  select count(*) as messages, coalesce(sum(size_bytes), 0)::bigint as bytes,
      count(*) filter (where kind = 'v') as delivered, count(*) filter (where kind = 'd') as dead
    into over from gone;
  news := "security_events".take_postings(which);
  update "security_events".application a set
      claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
      tier = case when a.tier = 'closed' then a.tier else new_tier end,
      max_messages = new_max_messages, max_bytes = new_max_bytes, 
      circuit_breaker = new_circuit_breaker,
      not_before = "security_events".after(now_exact, pause_ms),
      served_at = floor(now_exact), turn = nextval('"security_events".turn_number'),
      accepted = a.accepted + news.accepted,
      pending = a.pending + news.pending - over.messages,
      pending_bytes = a.pending_bytes + news.pending_bytes - over.bytes,
      delivered = a.delivered + over.delivered,
      dead = a.dead + news.dead + over.dead,
      purged = a.purged + news.purged,
      delayed_until = greatest(a.delayed_until, news.delayed_until),
      first_due = (
        select m.due from "security_events".message m
          where m.application = which
            and m.due >= least(app.first_due, app.claim_dues[1], news.first_due)
          order by m.due, m.sequence limit 1)
    where a.number = which;
  perform "security_events".end_delays(a, coalesce(news.at, floor(now_exact)::bigint))
    from "security_events".application a where a.number = which;
  perform "security_events".take_room(news.pending - over.messages, news.pending_bytes - over.bytes);
end $$;

create function "security_events".release(
  which bigint, claim_number bigint, new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text, pause_ms double precision
) returns boolean language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_exact double precision;
  app "security_events".application;
begin
  app := "security_events".hold(which);
  if app.claim is distinct from claim_number or app.claim is null then
    return false;
  end if;
  now_exact := "security_events".now_exact();
  update "security_events".application a set
      claim = null, lease_end = null, claim_dues = null, claim_sequences = null,
      first_due = least(a.first_due, app.claim_dues[1]),
      served_at = floor(now_exact), turn = nextval('"security_events".turn_number')
    where a.number = which;
  if new_tier is not null then
    update "security_events".application a set
        tier = case when a.tier = 'closed' then a.tier else new_tier end,
        max_messages = new_max_messages, max_bytes = new_max_bytes, 
        circuit_breaker = new_circuit_breaker,
        not_before = "security_events".after(now_exact, pause_ms)
      where a.number = which;
  end if;
  perform "security_events".end_delays(a, floor(now_exact)::bigint)
    from "security_events".application a where a.number = which;
  return true;
end $$;

create function "security_events".extend(which bigint, claim_number bigint, lease_ms double precision)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  app "security_events".application;
begin
  app := "security_events".hold(which);
  if app.claim is distinct from claim_number or app.claim is null then
    return false;
  end if;
  update "security_events".application set lease_end = "security_events".after("security_events".now_exact(), lease_ms) where number = which;
  return true;
end $$;

create function "security_events".bury(
  app "security_events".application, dues bigint[], sequences bigint[], why text, now_ms bigint
) returns table (application text, message_id text, sequence bigint) language plpgsql as $$
#variable_conflict use_column
declare
  over record;
begin
  return query
    with gone as (
      delete from "security_events".message m using unnest(dues, sequences) k(due, sequence)
        where m.application = app.number and m.due = k.due and m.sequence = k.sequence
          and (app.claim is null or m.sequence <> all (app.claim_sequences))
        returning m.*
    ), buried as (
      insert into "security_events".dead_letter (application, accepted_at, died_at, size_bytes, sends,
          date_at, count_at, format, message_id, reason, last_attempt, content)
        select g.application, g.accepted_at, now_ms, g.size_bytes, g.sends,
            g.date_at, g.count_at, g.format, g.message_id, why, 'null', g.content
          from (select * from gone order by due, sequence) g
    ), total as (
      select count(*) as messages, coalesce(sum(size_bytes), 0)::bigint as bytes from gone
    ), counted as (
      update "security_events".application a set
          pending = a.pending - t.messages, pending_bytes = a.pending_bytes - t.bytes,
          dead = a.dead + t.messages
        from total t where a.number = app.number
    ), room as (
      update "security_events".room r set messages = r.messages - t.messages, bytes = r.bytes - t.bytes
        from total t where r.shard = pg_backend_pid() % 64
    )
    select app.id, g.message_id, g.sequence from gone g;
  -- Nothing of it is due before that which was the first one.
  update "security_events".application a set first_due = (
      select m.due from "security_events".message m
        where m.application = app.number
          and m.due >= least(app.first_due, dues[1])
          and (app.claim is null or m.sequence <> all (app.claim_sequences))
        order by m.due, m.sequence limit 1)
    where a.number = app.number;
end $$;

create function "security_events".expire(older_than_ms double precision, most bigint)
returns table (application text, message_id text, sequence bigint) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  now_ms bigint := floor("security_events".now_exact());
  too_old bigint := "security_events".before(now_ms, older_than_ms);
  owners bigint[];
  dues bigint[];
  sequences bigint[];
  page record;
begin
  select array_agg(o.application), array_agg(o.due), array_agg(o.sequence)
    into owners, dues, sequences
    from (
      select m.application, m.due, m.sequence from "security_events".message m
        join "security_events".application a on a.number = m.application
        where m.accepted_at < too_old
          and (a.claim is null or a.lease_end <= now_ms or m.sequence <> all (a.claim_sequences))
        order by m.accepted_at limit most) o;
  -- In one order everywhere, and all before the room is changed, which is locked last.
  perform "security_events".hold(o.number) from (
    select distinct u.number from unnest(owners) u(number) order by u.number) o;
  for page in
    select k.application, array_agg(k.due order by k.due) as dues,
        array_agg(k.sequence order by k.due) as sequences
      from unnest(owners, dues, sequences) k(application, due, sequence) group by k.application
  loop
    return query select b.* from "security_events".bury(
      "security_events".hold(page.application), page.dues, page.sequences, 'horizon-passed', now_ms) b;
  end loop;
end $$;

create function "security_events".shut(
  which text, new_max_messages bigint, new_max_bytes bigint, new_circuit_breaker text
) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  found_number bigint;
begin
  lock table "security_events".intake in exclusive mode;
  insert into "security_events".application (id, tier, max_messages, max_bytes, circuit_breaker)
    values (which, 'closed', new_max_messages, new_max_bytes, new_circuit_breaker)
    on conflict (id) do update set tier = 'closed'
    returning number into found_number;
  return found_number;
end $$;

create function "security_events".close_page(which bigint, most bigint)
returns table (application text, message_id text, sequence bigint) language plpgsql
set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  app "security_events".application;
  page record;
begin
  app := "security_events".hold(which);
  select array_agg(m.due order by m.due, m.sequence) as dues,
      array_agg(m.sequence order by m.due, m.sequence) as sequences into page
    from (
      select due, sequence from "security_events".message
        where application = which
          and (app.claim is null or sequence <> all (app.claim_sequences))
        order by due, sequence limit most) m;
  if page.dues is not null then
    return query select b.* from "security_events".bury(
      app, page.dues, page.sequences, 'destination-closed', floor("security_events".now_exact())::bigint) b;
  end if;
end $$;

create function "security_events".reopen(
  which text, new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app "security_events".application;
begin
  update "security_events".application set tier = new_tier, max_messages = new_max_messages,
      max_bytes = new_max_bytes, circuit_breaker = new_circuit_breaker, not_before = 0
    where id = which returning * into app;
  if found then
    perform "security_events".end_delays(app, floor("security_events".now_exact())::bigint);
  end if;
end $$;

create function "security_events".application_state(which text)
returns table (tier text, max_messages bigint, max_bytes bigint, circuit_breaker text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select a.tier, a.max_messages, a.max_bytes, a.circuit_breaker
    from "security_events".application a where a.id = which
$$;

create function "security_events".letters(of_id text, named bigint[], behind bigint, most bigint) returns bigint[]
language plpgsql stable as $$
declare
  owner_number bigint;
begin
  if of_id is not null then
    select a.number into owner_number from "security_events".application a where a.id = of_id;
    if owner_number is null then
      return '{}';
    end if;
  end if;
  if named is not null then
    return array(
      select d.id from "security_events".dead_letter d
        where d.id = any (named) and d.id > behind and (of_id is null or d.application = owner_number)
        order by d.id limit most);
  elsif of_id is not null then
    return array(
      select d.id from "security_events".dead_letter d where d.application = owner_number and d.id > behind
        order by d.id limit most);
  end if;
  return array(
    select d.id from "security_events".dead_letter d where d.id > behind order by d.id limit most);
end $$;

create function "security_events".purge(
  of_id text, named bigint[], behind bigint, most bigint,
  out discarded bigint, out looked_at bigint
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  page bigint[] := "security_events".letters(of_id, named, behind, most);
begin
  with gone as (
    delete from "security_events".dead_letter d where d.id = any (page) returning d.application
  ), posted as (
    insert into "security_events".posting (application, dead, purged)
      select g.application, -count(*), count(*) from gone g group by g.application
  )
  select count(*) into discarded from gone;
  if cardinality(page) = most then
    looked_at := page[cardinality(page)];
  end if;
end $$;

create function "security_events".replay(
  of_id text, named bigint[], bound_messages bigint, bound_bytes bigint, behind bigint, most bigint,
  out replayed bigint, out looked_at bigint
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  page bigint[];
  now_ms bigint;
  free_messages bigint;
  free_bytes bigint;
begin
  lock table "security_events".intake in row share mode;
  page := "security_events".letters(of_id, named, behind, most);
  now_ms := floor("security_events".now_exact());
  select bound_messages - w.messages, bound_bytes - w.bytes into free_messages, free_bytes
    from "security_events".waiting() w;
  with fitting as (
    select o.id from (
      select d.id, row_number() over oldest as messages, sum(d.size_bytes) over oldest as bytes
        from "security_events".dead_letter d join "security_events".application a on a.number = d.application
        where d.id = any (page) and a.tier <> 'closed'
        window oldest as (order by d.id rows unbounded preceding)) o
      where o.messages <= free_messages and o.bytes <= free_bytes
  ), gone as (
    delete from "security_events".dead_letter d where d.id in (select id from fitting) returning d.*
  ), stored as (
    insert into "security_events".message (application, due, sequence, accepted_at, size_bytes, sends,
        date_at, count_at, format, message_id, content)
      select application, now_ms, nextval('"security_events".turn_number'), now_ms, size_bytes, sends,
          date_at, count_at, format, message_id, content
        from (select * from gone order by id) g
  ), posted as (
    insert into "security_events".posting (application, pending, pending_bytes, dead, first_due, at)
      select g.application, count(*), sum(g.size_bytes), -count(*), now_ms, now_ms
        from gone g group by g.application order by min(g.id)
  )
  select count(*) into replayed from gone;
  if cardinality(page) = most then
    looked_at := page[cardinality(page)];
  end if;
end $$;

create function "security_events".dead_letters(of_id text, named bigint[], behind bigint, most bigint)
returns table (id bigint, application text, message_id text, format smallint, content bytea,
  date_at integer, count_at integer, size_bytes bigint,
  sends integer, reason text, last_attempt text, accepted_at bigint, died_at bigint)
language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  select d.id, a.id, d.message_id, d.format, d.content, d.date_at, d.count_at, d.size_bytes,
      d.sends, d.reason, d.last_attempt, d.accepted_at, d.died_at
    from "security_events".dead_letter d join "security_events".application a on a.number = d.application
    where d.id = any ("security_events".letters(of_id, named, behind, most)) order by d.id
$$;

create function "security_events".stats()
returns table (id text, tier text, accepted bigint, delivered bigint, pending bigint,
  pending_bytes bigint, dead bigint, purged bigint, waiting_ms bigint)
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with posted as (
    select application, sum(accepted) as accepted, sum(pending) as pending,
        sum(pending_bytes) as pending_bytes, sum(dead) as dead, sum(purged) as purged,
        min(first_due) as first_due
      from "security_events".posting group by application
  ), at as (
    select floor("security_events".now_exact())::bigint as now_ms
  )
  select a.id, a.tier, (a.accepted + coalesce(p.accepted, 0))::bigint, a.delivered,
      (a.pending + coalesce(p.pending, 0))::bigint,
      (a.pending_bytes + coalesce(p.pending_bytes, 0))::bigint,
      (a.dead + coalesce(p.dead, 0))::bigint, (a.purged + coalesce(p.purged, 0))::bigint,
      case
        when a.tier <> 'closed' and (a.claim is null or a.lease_end <= at.now_ms)
          and coalesce(a.first_due, p.first_due, a.claim_dues[1]) is not null
        then at.now_ms - greatest(a.not_before,
          least(a.first_due, p.first_due, a.claim_dues[1]))
      end
    from "security_events".application a left join posted p on p.application = a.number cross join at
$$;

create function "security_events".count_pending(froms bigint[], tos bigint[]) returns bigint
language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  select coalesce(sum(c.messages), 0)::bigint from unnest(froms, tos) r(first, last)
    cross join lateral (
      select count(*) as messages from "security_events".message m where m.sequence between r.first and r.last) c
$$;

create function "security_events".backlog(out due_messages bigint, out last_sequence bigint)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_ms bigint := floor("security_events".now_exact());
begin
  select (select w.messages from "security_events".waiting() w) - coalesce(sum(l.messages), 0) into due_messages
    from "security_events".application a cross join lateral (
      select count(*) as messages from "security_events".message m
        where m.application = a.number and m.due > now_ms) l;
  select coalesce(max(m.sequence), 0) into last_sequence from "security_events".message m;
end $$;
create table "security_events".imported (key text primary key);

create function "security_events".claimed() returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform "security_events".hold(a.number) from (
    select number from "security_events".application where lease_end <= "security_events".now_exact() order by number) a;
  return (select count(*) from "security_events".application where claim is not null);
end $$;

create function "security_events".export_applications(behind bigint, most bigint)
returns table (id bigint, application text, tier text, max_messages bigint, max_bytes bigint,
  circuit_breaker text, not_before bigint) language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  select a.number, a.id, a.tier, a.max_messages, a.max_bytes, a.circuit_breaker, a.not_before
    from "security_events".application a where a.number > behind order by a.number limit most
$$;

create function "security_events".export_messages(behind bigint, most bigint)
returns table (id bigint, application text, message_id text, format smallint, content bytea,
  date_at integer, count_at integer, size_bytes bigint, sends integer, max_messages bigint,
  progress text, accepted_at bigint, due bigint) language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
  select m.sequence, a.id, m.message_id, m.format, m.content, m.date_at, m.count_at, m.size_bytes,
      m.sends, m.max_messages, m.progress, m.accepted_at, m.due
    from "security_events".message m join "security_events".application a on a.number = m.application
    where m.sequence > behind order by m.sequence limit most
$$;

create function "security_events".import_items(
  items text, contents bytea, new_tier text, new_max_messages bigint, new_max_bytes bigint,
  new_circuit_breaker text, bound_messages bigint, bound_bytes bigint,
  out imported bigint, out passed text, out messages bigint, out bytes bigint
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  now_ms bigint;
  added jsonb;
  used record;
begin
  lock table "security_events".intake in row share mode;
  now_ms := floor("security_events".now_exact());
  select coalesce(jsonb_agg(e.item order by e.place), '[]'),
      count(*) filter (where e.item ->> 'kind' = 'message'),
      coalesce(sum((e.item ->> 'size_bytes')::bigint)
        filter (where e.item ->> 'kind' = 'message'), 0)
    into added, messages, bytes
    from jsonb_array_elements(items::jsonb) with ordinality e(item, place)
    where not exists (select from "security_events".imported i where i.key = e.item ->> 'key');
  imported := jsonb_array_length(added);
  if messages > 0 then
    select * into used from "security_events".waiting();
    if used.messages + messages > bound_messages then
      passed := 'maxPendingMessages';
      return;
    elsif used.bytes + bytes > bound_bytes then
      passed := 'maxPendingBytes';
      return;
    end if;
  end if;
  insert into "security_events".imported select e.item ->> 'key' from jsonb_array_elements(added) e(item);
  insert into "security_events".application (id, tier, max_messages, max_bytes, circuit_breaker, not_before)
    select distinct on (r.application) r.application, r.tier, r.max_messages, r.max_bytes,
        r.circuit_breaker, r.not_before
      from rows from (jsonb_to_recordset(added) as (
        kind text, application text, tier text, max_messages bigint, max_bytes bigint,
        circuit_breaker text, not_before bigint, message_id text, format smallint, start integer,
        length integer, date_at integer, count_at integer, size_bytes bigint, sends integer,
        progress text, reason text, last_attempt text, accepted_at bigint, due bigint,
        died_at bigint)) with ordinality r where r.kind = 'application' order by r.application, r.ordinality desc
    on conflict (id) do update set tier = excluded.tier, max_messages = excluded.max_messages,
      max_bytes = excluded.max_bytes, circuit_breaker = excluded.circuit_breaker,
      not_before = excluded.not_before;
  insert into "security_events".application (id, tier, max_messages, max_bytes, circuit_breaker)
    select distinct r.application, new_tier, new_max_messages, new_max_bytes, new_circuit_breaker
      from rows from (jsonb_to_recordset(added) as (
        kind text, application text, tier text, max_messages bigint, max_bytes bigint,
        circuit_breaker text, not_before bigint, message_id text, format smallint, start integer,
        length integer, date_at integer, count_at integer, size_bytes bigint, sends integer,
        progress text, reason text, last_attempt text, accepted_at bigint, due bigint,
        died_at bigint)) with ordinality r
      where not exists (select from "security_events".application a where a.id = r.application)
      order by r.application
    on conflict do nothing;
  with item as (
    select a.number as owner, r.*, substring(contents from r.start + 1 for r.length) as content
      from rows from (jsonb_to_recordset(added) as (
        kind text, application text, tier text, max_messages bigint, max_bytes bigint,
        circuit_breaker text, not_before bigint, message_id text, format smallint, start integer,
        length integer, date_at integer, count_at integer, size_bytes bigint, sends integer,
        progress text, reason text, last_attempt text, accepted_at bigint, due bigint,
        died_at bigint)) with ordinality r join "security_events".application a on a.id = r.application where r.kind = 'message'
  ), stored as (
    insert into "security_events".message (application, due, sequence, max_messages, progress, content, accepted_at, size_bytes, sends, date_at, count_at, format, message_id)
      select owner, due, nextval('"security_events".turn_number'), max_messages, progress, content, accepted_at, size_bytes, sends, date_at, count_at, format, message_id
        from (select * from item order by ordinality) i
      returning application, due, sequence, size_bytes
  )
  insert into "security_events".posting (application, accepted, pending, pending_bytes, first_due, at)
    select application, count(*), count(*), sum(size_bytes), min(due), now_ms
      from stored group by application order by min(sequence);
  with item as (
    select a.number as owner, r.*, substring(contents from r.start + 1 for r.length) as content
      from rows from (jsonb_to_recordset(added) as (
        kind text, application text, tier text, max_messages bigint, max_bytes bigint,
        circuit_breaker text, not_before bigint, message_id text, format smallint, start integer,
        length integer, date_at integer, count_at integer, size_bytes bigint, sends integer,
        progress text, reason text, last_attempt text, accepted_at bigint, due bigint,
        died_at bigint)) with ordinality r join "security_events".application a on a.id = r.application where r.kind = 'dead-letter'
  ), stored as (
    insert into "security_events".dead_letter (application, died_at, reason, last_attempt, content, accepted_at, size_bytes, sends, date_at, count_at, format, message_id)
      select owner, died_at, reason, last_attempt, content, accepted_at, size_bytes, sends, date_at, count_at, format, message_id
        from (select * from item order by ordinality) i
      returning application
  )
  insert into "security_events".posting (application, accepted, dead)
    select application, count(*), count(*) from stored group by application;
end $$;

-- What was told of which incident. Keys and names are digests: they may be longer than an index takes.
create table "security_events".incident (
  number bigint generated always as identity primary key,
  key bytea not null unique,
  started_at double precision not null,
  seen_at bigint not null,
  on_log boolean not null default false,
  on_webhook boolean not null default false
);

create index incident_seen_at on "security_events".incident (seen_at);

create table "security_events".incident_name (
  incident bigint not null references "security_events".incident on delete cascade,
  channel text not null,
  name bytea not null,
  primary key (incident, channel, name)
);

create function "security_events".digest(one text, other text) returns bytea language sql immutable as $$
  select sha256(convert_to(one || E'\n' || other, 'UTF8'))
$$;

create function "security_events".new_names(which bigint, through text, kind text, names text[]) returns text[]
language plpgsql as $$
declare
  added bytea[];
begin
  with fresh as (
    insert into "security_events".incident_name (incident, channel, name)
      select which, through, "security_events".digest(kind, n.name) from unnest(names) n(name)
      on conflict do nothing returning name
  )
  select array_agg(name) into added from fresh;
  return array(
    select n.name from unnest(names) with ordinality n(name, place)
      where "security_events".digest(kind, n.name) = any (added)
      group by n.name order by min(n.place));
end $$;

create function "security_events".tell(
  application text, incident text, channel text, at double precision, addresses text[],
  accounts text[], kept_ms double precision,
  out is_first boolean, out began_at double precision, out new_addresses text[],
  out new_accounts text[]
) language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_variable
declare
  which bytea := "security_events".digest(application, incident);
  found_number bigint;
  now_ms bigint := floor("security_events".now_exact());
  over_before bigint := "security_events".before(now_ms, kept_ms);
begin
  -- A part of what is over at a time, however many names that has.
  with over as (
    select i.number from "security_events".incident i where i.seen_at < over_before
      order by i.seen_at limit 10 for update skip locked
  ), names as (
    delete from "security_events".incident_name n where (n.incident, n.channel, n.name) in (
      select m.incident, m.channel, m.name
        from over o join "security_events".incident_name m on m.incident = o.number limit 1000)
  )
  delete from "security_events".incident i where i.number in (select o.number from over o)
    and not exists (select from "security_events".incident_name n where n.incident = i.number);
  -- One that is over and still there is another incident: nobody finds it by this key.
  update "security_events".incident i set key = sha256(i.key || int8send(i.number))
    where i.key = which and i.seen_at < over_before;
  -- Of two at the same time one waits here for the other.
  insert into "security_events".incident as i (key, started_at, seen_at) values (which, at, now_ms)
    on conflict (key) do update set seen_at = now_ms
    returning i.number, i.started_at,
      case when channel = 'log' then not i.on_log else not i.on_webhook end
    into found_number, began_at, is_first;
  if is_first then
    update "security_events".incident i set on_log = i.on_log or channel = 'log',
        on_webhook = i.on_webhook or channel <> 'log'
      where i.number = found_number;
  end if;
  new_addresses := "security_events".new_names(found_number, channel, 'ip', addresses);
  new_accounts := "security_events".new_names(found_number, channel, 'account', accounts);
end $$;

create function "security_events".retract(
  application text, incident text, through text, was_first boolean, addresses text[],
  accounts text[]
) returns void language plpgsql set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  which bigint;
begin
  select i.number into which from "security_events".incident i
    where i.key = "security_events".digest(application, retract.incident) for update;
  if was_first then
    update "security_events".incident i set on_log = i.on_log and through <> 'log',
        on_webhook = i.on_webhook and through = 'log'
      where i.number = which;
  end if;
  delete from "security_events".incident_name o
    where o.incident = which and o.channel = through and o.name in (
      select "security_events".digest('ip', n.name) from unnest(addresses) n(name)
      union all select "security_events".digest('account', n.name) from unnest(accounts) n(name));
end $$;

create table "security_events".schema_version (version integer primary key);

insert into "security_events".schema_version values (1);

commit;
